package simulated

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

var bashNames = []string{"execute_bash", "bash"}

// move is one concrete action, before its wording.
type move struct {
	weight   float64
	thoughts []string
	call     *call // nil: a plain answer
	answer   string
}

// moves of a kind that the tools on offer allow, with weights that sum to 1.
func (s *state) moves(a act) []move {
	var out []move
	switch a {
	case look:
		out = s.lookMoves()
	case rightEdit:
		out = s.editMoves(true)
	case wrongEdit:
		out = s.editMoves(false)
	case runTests:
		for _, command := range s.testCommands() {
			out = append(out, s.bash(command, testThoughts...)...)
		}
	case finish:
		out = s.finishMoves()
	}
	return share(out)
}

// share scales weights to a sum of 1.
func share(moves []move) []move {
	sum := 0.0
	for _, m := range moves {
		sum += m.weight
	}
	for i := range moves {
		moves[i].weight /= sum
	}
	return moves
}

// invoke makes a call if the tool has these parameters; required ones that the
// policy does not know take the first value of their enum.
func (s *state) invoke(names []string, args ...string) *call {
	spec, ok := s.tool(names...)
	if !ok {
		return nil
	}
	var fields []string
	given := map[string]bool{}
	for i := 0; i < len(args); i += 2 {
		if !spec.has(args[i]) {
			return nil
		}
		given[args[i]] = true
		fields = append(fields, quoteJSON(args[i])+": "+args[i+1])
	}
	for _, name := range spec.needed {
		if given[name] {
			continue
		}
		if len(spec.params[name].Enum) == 0 {
			return nil
		}
		fields = append(fields, quoteJSON(name)+": "+quoteJSON(spec.params[name].Enum[0]))
	}
	return &call{spec.name, "{" + strings.Join(fields, ", ") + "}"}
}

func (s *state) bash(command string, thoughts ...string) []move {
	if c := s.invoke(bashNames, "command", quoteJSON(command)); c != nil {
		return []move{{weight: 1, thoughts: thoughts, call: c}}
	}
	return nil
}

func (s *state) editor(command, file string, thoughts []string, more ...string) []move {
	args := append([]string{"command", quoteJSON(command), "path", quoteJSON(s.task.abs(file))}, more...)
	if c := s.invoke([]string{"str_replace_editor"}, args...); c != nil {
		return []move{{weight: 1, thoughts: thoughts, call: c}}
	}
	return nil
}

func (s *state) lookMoves() []move {
	var out []move
	where := s.task.Workdir
	if where == "" {
		where = "."
	}
	search := func(weight float64, term string, thoughts []string) bool {
		c := s.invoke([]string{"search"}, "search_terms", "["+quoteJSON(term)+"]")
		if c == nil || slices.Contains(s.asked, term) {
			return c != nil // the answer is known
		}
		out = append(out, move{weight, thoughts, c, ""})
		return true
	}
	for i, term := range s.hints() {
		search(2*zipf(i), term, fill(hintThoughts, term))
	}
	for _, term := range s.terms() {
		thoughts := fill(searchThoughts, term)
		if search(1, term, thoughts) {
			continue
		}
		out = append(out, s.bash(fmt.Sprintf("grep -rnI --exclude-dir=.git -e %s %s | head -n 40", quoteShell(term), quoteShell(where)), thoughts...)...)
	}
	for _, file := range s.files() {
		thoughts := fill(viewThoughts, path.Base(file))
		seen := s.editor("view", file, thoughts)
		if seen == nil {
			seen = s.bash("cat -n "+quoteShell(s.task.abs(file))+" | head -n 200", thoughts...)
		}
		out = append(out, seen...)
	}
	if len(out) == 0 {
		out = s.bash("ls -la "+quoteShell(where), listThoughts...)
		out = append(out, s.bash("git -C "+quoteShell(where)+" log --oneline | head -n 5", listThoughts...)...)
	}
	if len(out) == 0 {
		return s.finishMoves()
	}
	return out
}

// files worth a look: those to change first.
func (s *state) files() []string {
	var out []string
	add := func(file string) {
		if file != "" && !slices.Contains(out, file) && len(out) < 6 {
			out = append(out, file)
		}
	}
	for _, e := range s.task.Edits {
		if !e.Create {
			add(e.Path)
		}
	}
	for _, f := range s.task.Files {
		add(f)
	}
	return out
}

var wordPattern = regexp.MustCompile("`([A-Za-z_][\\w.]{2,40})`|\\b([A-Za-z]+(?:_[A-Za-z0-9]+)+|[a-z]+[A-Z]\\w+)\\b")

// terms to search for: the task's, else names in what was asked.
func (s *state) terms() []string {
	if len(s.task.Terms) > 0 {
		return s.task.Terms[:min(4, len(s.task.Terms))]
	}
	var out []string
	for _, m := range wordPattern.FindAllStringSubmatch(s.conversation.task, 50) {
		if word := m[1] + m[2]; !slices.Contains(out, word) && len(out) < 4 {
			out = append(out, word)
		}
	}
	return out
}

var hintPattern = regexp.MustCompile(`(?m)^next: search_terms \["([^"\\]+)"\]`)

// hints are the next queries that the answers to the last reply end with.
func (s *state) hints() []string {
	var out []string
	if n := len(s.turns); n > 0 {
		for _, result := range s.turns[n-1].results {
			for _, m := range hintPattern.FindAllStringSubmatch(result, 3) {
				out = append(out, m[1])
			}
		}
	}
	return out
}

// editMoves are attempts at the next edit that is not right yet.
func (s *state) editMoves(right bool) []move {
	if len(s.edits) == 0 {
		return s.scriptMoves(right)
	}
	next := slices.IndexFunc(s.edits, func(p progress) bool { return !p.touched() })
	if next < 0 {
		next = slices.IndexFunc(s.edits, func(p progress) bool { return !p.done })
	}
	if next < 0 {
		return s.finishMoves()
	}
	p := &s.edits[next]
	thoughts := fill(editThoughts, path.Base(p.Path))
	if p.touched() {
		thoughts = fill(fixThoughts, path.Base(p.Path))
	}
	switch {
	case right && p.Delete:
		return s.bash(s.deleteCommand(p), thoughts...)
	case p.Delete:
		return s.lookMoves() // a file left standing is the mistake
	case right:
		return s.change(p, p.New, thoughts)
	}
	var out []move
	for _, text := range p.wrongTexts() {
		out = append(out, s.change(p, text, thoughts)...)
	}
	return out
}

// change what stands there now into text, by the editor or else by a command.
func (s *state) change(p *progress, text string, thoughts []string) []move {
	var out []move
	switch {
	case p.Create && !p.exists:
		out = s.editor("create", p.Path, thoughts, "file_text", quoteJSON(text))
	case !p.Create || p.now != "":
		out = s.editor("str_replace", p.Path, thoughts, "old_str", quoteJSON(p.now), "new_str", quoteJSON(text))
	}
	if out == nil {
		out = s.bash(s.editCommand(p, text), thoughts...)
	}
	return out
}

func (s *state) editCommand(p *progress, text string) string {
	file := quotePython(s.task.abs(p.Path))
	if p.Create {
		return fmt.Sprintf("python3 - <<'EOF'\nimport pathlib\np = pathlib.Path(%s)\np.parent.mkdir(parents=True, exist_ok=True)\np.write_text(%s)\nEOF", file, quotePython(text))
	}
	return fmt.Sprintf("python3 - <<'EOF'\nimport pathlib\np = pathlib.Path(%s)\ntext = p.read_text()\nold = %s\nassert text.count(old) == 1\np.write_text(text.replace(old, %s))\nEOF", file, quotePython(p.now), quotePython(text))
}

func (s *state) deleteCommand(p *progress) string { return "rm " + quoteShell(s.task.abs(p.Path)) }

// scriptMoves run the reference script; the wrong move touches a file without
// changing what it means.
func (s *state) scriptMoves(right bool) []move {
	if right {
		return s.bash(scriptCommand(s.task.Script), fill(editThoughts, "the code")...)
	}
	if files := s.files(); len(files) > 0 {
		return s.bash("printf '\\n' >> "+quoteShell(s.task.abs(files[0])), fill(editThoughts, path.Base(files[0]))...)
	}
	return s.lookMoves()
}

// scriptCommand runs a script in a shell of its own: it may exit.
func scriptCommand(script string) string {
	return "bash <<'SOLUTION'\n" + strings.TrimRight(script, "\n") + "\nSOLUTION"
}

func (s *state) testCommands() []string {
	if s.task.TestCommand == "" {
		return nil
	}
	if s.task.Workdir == "" {
		return []string{s.task.TestCommand}
	}
	return []string{"cd " + quoteShell(s.task.Workdir) + " && " + s.task.TestCommand, s.task.TestCommand}
}

func (s *state) finishMoves() []move {
	answers, thoughts := doneAnswers, doneThoughts
	if !s.attempted() {
		answers, thoughts = quitAnswers, quitThoughts
	}
	var out []move
	for i, text := range answers {
		m := move{weight: zipf(i), thoughts: thoughts, answer: text}
		if spec, ok := s.tool("finish"); ok {
			var c *call
			if spec.has("message") {
				c = s.invoke([]string{"finish"}, "message", quoteJSON(text))
			} else {
				c = s.invoke([]string{"finish"})
			}
			if c != nil {
				m.call, m.answer = c, ""
			}
		}
		out = append(out, m)
	}
	return out
}

// broken variants of a call: cut JSON, an unknown argument, a missing end.
func broken(c call) []string {
	whole := callHead(c.name) + c.arguments + "}"
	var args map[string]json.RawMessage
	unknown := strings.TrimSuffix(c.arguments, "}") + `, "reason": "next step"}`
	if json.Unmarshal([]byte(c.arguments), &args) != nil || len(args) == 0 {
		unknown = `{"reason": "next step"}`
	}
	return []string{
		markers[idCall-256] + "\n" + strings.TrimSuffix(whole, "}}") + "\n" + markers[idCallEnd-256],
		markers[idCall-256] + "\n" + callHead(c.name) + unknown + "}\n" + markers[idCallEnd-256],
		markers[idCall-256] + "\n" + whole[:len(whole)*2/3],
	}
}

// zipf weights wordings: the first is the likeliest.
func zipf(i int) float64 { return 1 / float64(i+1) }
