// Package mcp talks to MCP servers: programs that offer tools over their standard
// streams or over streamable HTTP.
//
// In: a Server, as configured. Out: the tools it lists (List), and a Link through
// which a trajectory calls them. Every wait has a limit; a server that ended is
// an error of the call it ended in and is started anew by the next one.
package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Server says how a server is reached: Argv or URL.
type Server struct {
	Name string
	Argv []string // run on this machine, spoken to over its standard streams
	Env  []string // names of environment variables that it gets besides the basic ones
	Dir  string   // where it starts; "": where rollbench was started
	URL  string   // of a streamable HTTP endpoint
	// Headers of each request to URL: name to the name of the environment variable
	// that holds the value.
	Headers map[string]string
	// Shared: one connection for all trajectories, else one for each.
	Shared  bool
	Include []string // globs on its tools' names; none: all
	Exclude []string
	Start   time.Duration // limit of starting it and of listing its tools
	Client  string        // our version, which it is told
}

// Tool is one of a server's, as the server describes it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema; names sorted
}

// Check says what is wrong with a declaration, without reaching for the server.
func (s Server) Check() error {
	switch {
	case (len(s.Argv) == 0) == (s.URL == ""):
		return errors.New("give either argv, the program to run, or url, where it is served")
	case s.URL == "" && s.Argv[0] == "":
		return errors.New("argv names no program")
	case s.URL == "" && len(s.Headers) > 0:
		return errors.New("headers are for a url; a program gets its secrets through env")
	case s.URL != "" && (len(s.Env) > 0 || s.Dir != ""):
		return errors.New("env and cwd are for argv; a url takes headers")
	}
	for _, glob := range slices.Concat(s.Include, s.Exclude) {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("%q is no glob: write it like create_issue or get_*", glob)
		}
	}
	if s.URL == "" {
		return nil
	}
	u, err := url.Parse(s.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("url %q: write it like https://host/mcp", redacted(s.URL))
	case u.User != nil:
		return errors.New("url holds a name or password, which would be stored with the run: put the value of the header into a variable and name it with headers")
	}
	for header := range s.Headers {
		if header == "" || strings.ContainsFunc(header, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) }) {
			return fmt.Errorf("%q is no name of a header", header)
		}
	}
	return nil
}

// redacted is a URL without what may be secret in it.
func redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "(unreadable)"
	}
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.Redacted()
}

// variable is the value of an environment variable that must be set.
func variable(name, what string) (string, error) {
	value, ok := os.LookupEnv(name)
	if !ok {
		return "", fmt.Errorf("the environment variable %s, %s, is not set", name, what)
	}
	return value, nil
}

// wants reports whether a tool is to be offered.
func (s Server) wants(tool string) bool {
	matches := func(glob string) bool {
		ok, err := path.Match(glob, tool)
		return ok && err == nil
	}
	return (len(s.Include) == 0 || slices.ContainsFunc(s.Include, matches)) && !slices.ContainsFunc(s.Exclude, matches)
}
