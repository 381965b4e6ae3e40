package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"rollbench/sandbox"
)

//go:embed editor.md
var editorText string

var editorParameters = json.RawMessage(`{
  "type": "object",
  "properties": {
    "command": {"type": "string", "enum": ["view", "create", "str_replace", "insert", "undo_edit"], "description": "What to do."},
    "path": {"type": "string", "description": "Absolute path of the file or directory."},
    "file_text": {"type": "string", "description": "For create: the whole text of the new file."},
    "old_str": {"type": "string", "description": "For str_replace: the text to replace, found exactly once in the file."},
    "new_str": {"type": "string", "description": "For str_replace: the text that takes its place. For insert: the lines to put in."},
    "insert_line": {"type": "integer", "description": "For insert: the line number after which new_str goes, 0 for the top."},
    "view_range": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2, "description": "For view of a file: first and last line, such as [11, 40]; [11, -1] goes to the end."}
  },
  "required": ["command", "path"]
}`)

// editor edits files through the sandbox's own file calls, so an image needs
// no interpreter for it.
type editor struct {
	env     Env
	history map[string][]edit // by path, oldest first
}

// edit is one change that undo_edit can take back.
type edit struct {
	before  []byte
	created bool // the file did not exist: undo removes it
	after   []byte
}

// maxHistory bounds the edits of one file that can be undone.
const maxHistory = 50

func (t *editor) Spec() Spec {
	return Spec{Name: "str_replace_editor", Description: strings.TrimSpace(editorText), Parameters: editorParameters}
}

func (t *editor) Close() error { return nil }

func (t *editor) Run(ctx context.Context, args map[string]any) (Result, error) {
	file, err := t.absolute(args)
	if err != nil {
		return Result{}, err
	}
	var result Result
	switch args["command"] {
	case "view":
		result, err = t.view(ctx, file, args)
	case "create":
		result, err = t.create(ctx, file, args)
	case "str_replace":
		result, err = t.replace(ctx, file, args)
	case "insert":
		result, err = t.insert(ctx, file, args)
	case "undo_edit":
		result, err = t.undo(ctx, file)
	}
	return t.settle(ctx, result, err)
}

// settle turns what the model can correct into a Result.
func (t *editor) settle(ctx context.Context, result Result, err error) (Result, error) {
	if err == nil {
		return result, nil
	}
	if _, bad := errors.AsType[invalidError](err); bad || terminal(ctx, err) {
		return result, err
	}
	text, cut := cutMiddle(showControl("ERROR: "+err.Error()), t.env.Limits.File, clipNote)
	return Result{Text: text, Status: Failed, Dropped: int64(cut)}, nil
}

const clipNote = "\n[... %d characters are cut here ...]\n"

func (t *editor) absolute(args map[string]any) (string, error) {
	file, _ := args["path"].(string)
	if file == "" || strings.ContainsRune(file, 0) {
		return "", invalidf("ERROR: path must name a file or directory, such as %s.", path.Join(t.env.Sandbox.Workdir(), "README.md"))
	}
	if !path.IsAbs(file) {
		return "", invalidf("ERROR: path must be absolute, and %q is not. Did you mean %s?", clipWord(file), path.Join(t.env.Sandbox.Workdir(), file))
	}
	return path.Clean(file), nil
}

func (t *editor) create(ctx context.Context, file string, args map[string]any) (Result, error) {
	text, given := args["file_text"].(string)
	if !given {
		return Result{}, invalidf("ERROR: create needs file_text, the whole text of the new file.")
	}
	switch info, err := t.env.Sandbox.Stat(ctx, file); {
	case err == nil && info.IsDir():
		return Result{}, fmt.Errorf("%s is a directory; give the path of a file", file)
	case err == nil:
		return Result{}, fmt.Errorf("%s exists already, and create does not replace files; change it with str_replace or insert", file)
	case !errors.Is(err, sandbox.ErrNotExist):
		return Result{}, err
	}
	if err := t.write(ctx, file, edit{created: true, after: []byte(text)}); err != nil {
		return Result{}, err
	}
	return Result{Status: OK, Text: fmt.Sprintf("Created %s (%s).", file, countLines(len(splitLines(text))))}, nil
}

func (t *editor) replace(ctx context.Context, file string, args map[string]any) (Result, error) {
	old, given := args["old_str"].(string)
	if !given || old == "" {
		return Result{}, invalidf("ERROR: str_replace needs old_str, the text to replace, and it must not be empty.")
	}
	fresh, _ := args["new_str"].(string)
	if old == fresh {
		return Result{}, invalidf("ERROR: old_str and new_str are the same, so nothing would change.")
	}
	data, doc, err := t.load(ctx, file)
	if err != nil {
		return Result{}, err
	}
	changed, line, err := doc.replace(file, old, fresh)
	if err != nil {
		return Result{}, err
	}
	return t.change(ctx, file, data, changed, line, len(splitLines(fresh)))
}

func (t *editor) insert(ctx context.Context, file string, args map[string]any) (Result, error) {
	fresh, given := args["new_str"].(string)
	at, numbered := args["insert_line"].(int)
	if !given || !numbered {
		return Result{}, invalidf("ERROR: insert needs insert_line, the line number after which the text goes (0: at the top), and new_str, the text.")
	}
	data, doc, err := t.load(ctx, file)
	if err != nil {
		return Result{}, err
	}
	changed, err := doc.insert(file, at, fresh)
	if err != nil {
		return Result{}, err
	}
	return t.change(ctx, file, data, changed, at+1, max(1, len(splitLines(fresh))))
}

// change writes the edited document and shows the lines around the edit, which
// begins at line (from 1) and is length lines long.
func (t *editor) change(ctx context.Context, file string, before []byte, doc document, line, length int) (Result, error) {
	after, err := doc.bytes()
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", file, err)
	}
	if err := t.write(ctx, file, edit{before: before, after: after}); err != nil {
		return Result{}, err
	}
	return t.around("Edited", file, doc, line, length), nil
}

func (t *editor) undo(ctx context.Context, file string) (Result, error) {
	past := t.history[file]
	if len(past) == 0 {
		return Result{}, fmt.Errorf("no edit of %s is left to undo", file)
	}
	last := past[len(past)-1]
	now, err := t.env.Sandbox.ReadFile(ctx, file)
	if err != nil {
		return Result{}, t.missing(ctx, file, err)
	}
	if string(now) != string(last.after) {
		return Result{}, fmt.Errorf("%s was changed by something else since your last edit, and undo would lose that change; edit it with str_replace instead", file)
	}
	if last.created {
		err = t.remove(ctx, file)
	} else {
		err = t.env.Sandbox.WriteFile(ctx, file, last.before, 0)
	}
	if err != nil {
		return Result{}, err
	}
	t.history[file] = past[:len(past)-1]
	if last.created {
		return Result{Status: OK, Text: fmt.Sprintf("Undid the creation of %s: the file is removed.", file)}, nil
	}
	doc, err := parseDocument(last.before)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", file, err)
	}
	return t.around("Undid the last edit of", file, doc, firstDifference(last.before, last.after), 1), nil
}

func (t *editor) remove(ctx context.Context, file string) error {
	run, err := t.env.Sandbox.Exec(ctx, sandbox.Command{Argv: []string{"rm", "-f", "--", file}, Timeout: t.env.Limits.Command})
	if err == nil && (run.End != sandbox.Exited || run.ExitCode != 0) {
		err = fmt.Errorf("remove %s: %s", file, strings.TrimSpace(string(run.Output)))
	}
	return err
}

// write stores the new content first and remembers the edit only then, so a
// failed write leaves nothing to undo.
func (t *editor) write(ctx context.Context, file string, e edit) error {
	if err := t.env.Sandbox.WriteFile(ctx, file, e.after, 0); err != nil {
		return err
	}
	past := append(t.history[file], e)
	t.history[file] = past[max(0, len(past)-maxHistory):]
	return nil
}
