package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rollbench/search"
	"rollbench/tools/follow"
)

//go:embed search.md
var searchText string

// The first three are SkyRL-Agent's.
var searchParameters = json.RawMessage(`{
  "type": "object",
  "properties": {
    "search_terms": {"type": "array", "items": {"type": "string"}, "description": "Names, paths, relations or free text, each answered by itself."},
    "line_nums": {"type": "array", "items": {"type": "integer"}, "description": "Lines of the file that file_path_or_pattern names."},
    "file_path_or_pattern": {"type": "string", "description": "Only look in this file, folder or glob. Default: everywhere."},
    "kind": {"type": "string", "enum": ["class", "function", "method", "variable", "file", "directory", "test", "text"], "description": "Only find this kind."},
    "pattern": {"type": "string", "description": "Code with holes: $X is one expression or name, $$$ anything."}
  }
}`)

// hintRoom is what hints may need at the end of an observation, in characters.
const hintRoom = 600

// finder is the tool search.
type finder struct {
	env    Env
	source *Source // nil before start
}

// Source answers queries as the tool search does, from the same files. Unlike the
// registry it may be asked by anybody, also while a tool runs.
type Source struct {
	follower *follow.Follower
	limit    int // characters of an observation
}

// Ask gives the answer, and the hits that its text is made of.
func (s *Source) Ask(ctx context.Context, q search.Query) (search.Answer, []search.Hit, error) {
	view, err := s.follower.View(ctx)
	if err != nil {
		return search.Answer{}, nil, err
	}
	hits, err := view.Hits(q)
	return view.Query(s.bounded(q)), hits, err
}

// bounded is the query with as long an answer as an observation has room for.
func (s *Source) bounded(q search.Query) search.Query {
	q.MaxChars = min(max(s.limit-hintRoom, s.limit/2), search.DefaultMaxChars)
	return q
}

func (t *finder) Spec() Spec {
	return Spec{Name: "search", Description: strings.TrimSpace(searchText), Parameters: searchParameters}
}

// start indexes the repository as it was laid.
func (t *finder) start(ctx context.Context) error {
	f, err := follow.Start(ctx, t.env.Sandbox, t.env.Bases, t.env.Repository)
	if err != nil {
		return fmt.Errorf("index the repository: %w", err)
	}
	t.source = &Source{f, t.env.Limits.Observation}
	return nil
}

func (t *finder) Run(ctx context.Context, args map[string]any) (Result, error) {
	q, err := question(args)
	if err != nil {
		return Result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, t.env.Limits.Command)
	defer cancel()
	view, err := t.source.follower.View(limited)
	switch {
	case err == nil:
	case terminal(ctx, err):
		return Result{}, err
	case limited.Err() != nil:
		text := fmt.Sprintf("[The repository could not be read within %s, so nothing was searched. Use the shell (grep -rn, find) instead.]", seconds(t.env.Limits.Command))
		return Result{Text: text, Status: TimedOut, Limit: "tools.command_timeout", Bound: t.env.Limits.Command}, nil
	default:
		text := fmt.Sprintf("ERROR: the repository could not be read: %s. Use the shell (grep -rn, find) instead.", Clean([]byte(err.Error())))
		return Result{Text: text, Status: Failed}, nil
	}
	answer := view.Query(t.source.bounded(q))
	if files, bytes := t.source.follower.Unread(); files > 0 {
		answer.Text += fmt.Sprintf("\n[%d changed files of %d MiB together are too large to be indexed: only their names are found. Use grep for what is in them.]", files, bytes>>20)
	}
	return answered(answer, t.env.Limits.Observation), nil
}

func (t *finder) Close() error { return nil }

// The most that one call may ask: a search heeds no limit of time.
const (
	mostTerms   = 20
	mostLines   = 200
	longestTerm = 32 << 10 // bytes: a term may be the text of an issue
	longestPath = 1 << 10  // bytes, also of a pattern
)

// question reads the arguments.
func question(args map[string]any) (search.Query, error) {
	var q search.Query
	for _, term := range list(args["search_terms"]) {
		if s, _ := term.(string); strings.TrimSpace(s) != "" {
			q.Terms = append(q.Terms, s)
		}
	}
	for _, n := range list(args["line_nums"]) {
		line, ok := n.(int)
		if !ok || line < 1 {
			return q, invalidf("ERROR: line_nums has %v: lines are counted from 1.", n)
		}
		q.Lines = append(q.Lines, line)
	}
	q.Path, _ = args["file_path_or_pattern"].(string)
	q.Kind, _ = args["kind"].(string)
	q.Pattern, _ = args["pattern"].(string)
	if err := tooMuch(q); err != nil {
		return q, err
	}
	switch {
	case len(q.Terms) == 0 && len(q.Lines) == 0 && strings.TrimSpace(q.Pattern) == "":
		return q, invalidf(`ERROR: nothing to search for. Give search_terms (a list of names or words), or line_nums with file_path_or_pattern, or pattern. For example: {"search_terms": ["parse_url"]}.`)
	case len(q.Lines) > 0 && q.Path == "":
		return q, invalidf(`ERROR: line_nums needs the file they are of in file_path_or_pattern. For example: {"line_nums": [120], "file_path_or_pattern": "src/app.py"}.`)
	}
	return q, nil
}

// tooMuch says what of a question is more than a call may ask.
func tooMuch(q search.Query) error {
	for _, term := range q.Terms {
		if len(term) > longestTerm {
			return invalidf("ERROR: a search term has %d bytes, %d are the most: ask for a name or the words that matter.", len(term), longestTerm)
		}
	}
	switch {
	case len(q.Terms) > mostTerms:
		return invalidf("ERROR: search_terms has %d terms, %d are the most: ask for the rest by another call.", len(q.Terms), mostTerms)
	case len(q.Lines) > mostLines:
		return invalidf("ERROR: line_nums has %d lines, %d are the most: view the file instead.", len(q.Lines), mostLines)
	case len(q.Path) > longestPath:
		return invalidf("ERROR: file_path_or_pattern has %d bytes, %d are the most.", len(q.Path), longestPath)
	case len(q.Pattern) > longestPath:
		return invalidf("ERROR: pattern has %d bytes, %d are the most: leave out what need not match.", len(q.Pattern), longestPath)
	}
	return nil
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// answered makes the observation: the hints stand at its end, whatever of the text had
// to go.
func answered(a search.Answer, limit int) Result {
	var hints []string
	for _, h := range a.Hints {
		hints = append(hints, h.Text)
	}
	last := strings.Join(slices.DeleteFunc(hints, func(h string) bool { return h == "" }), "\n")
	whole := Clean([]byte(a.Text))
	text, cut := cutMiddle(whole, max(0, limit-len([]rune(last))-2), "\n[... %d characters are cut here; ask with a narrower file_path_or_pattern or kind ...]\n")
	r := Result{Status: OK, Dropped: int64(cut)}
	if cut > 0 {
		r.Full = []byte(whole + "\n" + last)
	}
	if last != "" {
		text = strings.TrimRight(text, "\n") + "\n" + last
	}
	r.Text = text
	return r
}
