package simulated

import (
	"path"
	"strings"
)

// Task is what the policy may know of the task that a session works on.
type Task struct {
	Workdir     string   // absolute, in the sandbox
	Files       []string // worth a look, absolute or below Workdir
	Edits       []Edit   // the reference solution, in order
	Script      string   // the reference solution as a script, used when there are no edits
	TestCommand string   // runs the visible tests, "" when unknown
	Terms       []string // worth a search
	// Stream names the random stream; "" takes the session id. A name that is
	// the same in every run makes the run repeat.
	Stream string
}

// Edit is one replacement of the reference solution: Old, found once in the
// file, becomes New. Create and Delete are for whole files.
type Edit struct {
	Path   string
	Old    string
	New    string
	Create bool
	Delete bool
}

func (t *Task) solvable() bool { return len(t.Edits) > 0 || strings.TrimSpace(t.Script) != "" }

// abs is the path in the sandbox.
func (t *Task) abs(file string) string {
	if path.IsAbs(file) || t.Workdir == "" {
		return file
	}
	return path.Join(t.Workdir, file)
}

// progress of one edit, as the conversation shows it.
type progress struct {
	Edit
	now    string // what stands where Old stood
	exists bool   // of a file to create
	done   bool
	failed int // attempts whose result was an error, since the last success
}

func (p *progress) touched() bool { return p.done || p.exists || !p.Create && p.now != p.Old }

// wrongTexts are plausible but failing variants of the edit's new text: the
// same change with a slip in it, and a change of nothing but a comment.
func (p *progress) wrongTexts() []string {
	var out []string
	for _, slip := range slips {
		if text, ok := slipped(p.Old, p.New, slip); ok {
			out = append(out, text)
			break
		}
	}
	base := p.Old
	if p.Create {
		base = ""
	}
	out = append(out, withComment(base, p.Path))
	if p.now != "" && (out[0] == p.now || out[len(out)-1] == p.now) {
		return []string{withComment(p.now, p.Path)}
	}
	return out
}

// slips in the order they are tried: the usual small mistakes.
var slips = [][2]string{
	{"<=", "<"}, {">=", ">"}, {" < ", " <= "}, {" > ", " >= "}, {"==", "!="},
	{" + 1", ""}, {" - 1", ""}, {" and ", " or "}, {" && ", " || "},
	{"True", "False"}, {"true", "false"}, {"not ", ""}, {" is None", " == 0"},
	{"return ", "return not "},
}

// slipped makes one slip in the part of new that differs from old.
func slipped(old, new string, slip [2]string) (string, bool) {
	same := 0
	for same < len(old) && same < len(new) && old[same] == new[same] {
		same++
	}
	// Back to the line's start, so that an operator is not cut in two.
	same = strings.LastIndexByte(new[:same], '\n') + 1
	at := strings.Index(new[same:], slip[0])
	if at < 0 {
		return "", false
	}
	at += same
	text := new[:at] + slip[1] + new[at+len(slip[0]):]
	return text, text != old && text != new
}

// withComment adds a comment line to text and changes nothing else.
func withComment(text, file string) string {
	sign := "//"
	switch path.Ext(file) {
	case ".py", ".sh", ".rb", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".txt", ".pl", ".mk", "":
		sign = "#"
	}
	last := text[strings.LastIndexByte(strings.TrimRight(text, "\n"), '\n')+1:]
	indent := last[:len(last)-len(strings.TrimLeft(last, " \t"))]
	note := indent + sign + " checked by the caller"
	if body, ended := strings.CutSuffix(text, "\n"); ended || text == "" {
		if text == "" {
			return note + "\n"
		}
		return body + "\n" + note + "\n"
	}
	return text + "\n" + note
}
