package tools

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"rollbench/sandbox"
	"rollbench/tools/mcp"
)

// Server is an MCP server whose tools the policy may call.
type Server struct {
	*mcp.Listed
	Timeout time.Duration // of a call; 0: Limits.Command
	Max     int           // characters of an observation; 0: Limits.Observation
}

// remote is one tool of an MCP server.
type remote struct {
	env    Env
	server Server
	link   *mcp.Link
	tool   string // its name there
	spec   Spec
}

// remotes are a server's tools, on one link.
func remotes(env Env, s Server) ([]Tool, error) {
	link := s.Link()
	var list []Tool
	from := map[string]string{}
	for _, t := range s.Tools {
		name, err := remoteName(s.Name, t.Name)
		if err != nil {
			return nil, err
		}
		if other, taken := from[name]; taken {
			return nil, fmt.Errorf("the tools %q and %q of MCP server %s would both be called %s: leave one out with exclude", other, t.Name, s.Name, name)
		}
		from[name] = t.Name
		parameters, err := objectSchema(t.Parameters)
		if err == nil {
			_, err = compile(parameters)
		}
		if err != nil {
			return nil, fmt.Errorf("parameters of tool %q of MCP server %s: %w; leave it out with exclude = [%q]", t.Name, s.Name, err, t.Name)
		}
		text := cmp.Or(strings.TrimSpace(Clean([]byte(t.Description))), fmt.Sprintf("The tool %s of the MCP server %s.", Clean([]byte(t.Name)), s.Name))
		list = append(list, &remote{env: env.of(name), server: s, link: link, tool: t.Name,
			spec: Spec{Name: name, Description: text, Parameters: parameters, Outside: true}})
	}
	return list, nil
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// maxName is how long endpoints let a tool's name be.
const maxName = 64

// CheckServerName says whether a server can be called so: its name begins those of
// its tools.
func CheckServerName(name string) error {
	if !toolName.MatchString(name) || len(name) > maxName/2 {
		return fmt.Errorf("name %q: use letters, digits, _ and -, %d at most", name, maxName/2)
	}
	return nil
}

// remoteName is what the model calls a server's tool: SERVER__TOOL. What may not
// be in a name becomes _, and the end of one that is too long a hash of the whole.
func remoteName(server, tool string) (string, error) {
	if tool == "" {
		return "", fmt.Errorf("MCP server %s lists a tool without a name", server)
	}
	name := server + "__" + notInName.ReplaceAllString(tool, "_")
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(tool))
		name = name[:maxName-9] + "_" + hex.EncodeToString(sum[:4])
	}
	return name, nil
}

// objectSchema is a schema with its type said: that of parameters can only be an
// object.
func objectSchema(schema json.RawMessage) (json.RawMessage, error) {
	var table map[string]any
	if err := json.Unmarshal(schema, &table); err != nil {
		return nil, errors.New("the schema is no JSON object")
	}
	if table == nil {
		table = map[string]any{}
	}
	if _, said := table["type"]; said {
		return schema, nil
	}
	table["type"] = "object"
	return json.Marshal(table)
}

func (t *remote) Spec() Spec { return t.spec }

func (t *remote) Close() error { return t.link.Close() }

// remoteAnew begins the first observation from a server that lost its state.
const remoteAnew = "[The server %s was started anew since the last call: what it kept from earlier calls is gone.]\n"

func (t *remote) Run(ctx context.Context, args map[string]any) (Result, error) {
	limit, key := t.server.Timeout, fmt.Sprintf("tools.mcp (%s) timeout", t.server.Name)
	if limit == 0 {
		limit, key = t.env.Limits.Command, "tools.command_timeout"
	}
	answer, err := t.link.Call(ctx, t.tool, json.RawMessage(asJSON(args)), limit)
	w := texts{none: "[" + t.spec.Name + " returned nothing.]", cut: clipNote}
	if answer.Anew {
		w.first = fmt.Sprintf(remoteAnew, t.server.Name)
	}
	result := Result{Status: OK}
	said := []byte(answer.Text)
	switch {
	case err != nil && ctx.Err() != nil:
		return Result{Status: Failed, Text: fmt.Sprintf("[%s was cancelled. What it had done until then stands.]", t.spec.Name)}, context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		result = Result{Status: TimedOut, Limit: key, Bound: limit}
		w.none = fmt.Sprintf("[%s timed out after %s and was given up. It may still be at work.]", t.spec.Name, seconds(limit))
	case errors.Is(err, mcp.ErrStart):
		result.Status = Failed
		said = []byte(fmt.Sprintf("ERROR: the server %s %v. The next call tries again.", t.server.Name, err))
	case err != nil:
		result.Status = Failed
		said = []byte(fmt.Sprintf("ERROR: %s failed, and it is not known what it did: %v.", t.spec.Name, err))
	case answer.Failed:
		result.Status = Failed
		w.last = fmt.Sprintf("[%s says that it failed.]", t.spec.Name)
	}
	said = []byte(t.server.Hide(string(said)))
	if t.env.OnOutput != nil && len(said) > 0 {
		t.env.OnOutput(said)
	}
	kept := sandbox.NewCollector(maxFull, nil)
	kept.Write(said)
	var run sandbox.Result
	kept.Fill(&run)
	limits := t.env.Limits
	if _, own := limits.PerTool[t.spec.Name]; !own && t.server.Max > 0 {
		limits.Observation = t.server.Max
	}
	result.show(run, w, limits)
	return result, nil
}
