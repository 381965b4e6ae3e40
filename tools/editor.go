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
	if err := noNUL("file_text", text); err != nil {
		return Result{}, err
	}
	switch info, err := t.env.Sandbox.Stat(ctx, file); {
	case err == nil && info.IsDir():
		return Result{}, fmt.Errorf("%s is a directory; give the path of a file", file)
	case err == nil:
		return Result{}, fmt.Errorf("%s exists already, and create does not replace files; change it with str_replace or insert", file)
	case !errors.Is(err, sandbox.ErrNotExist):
		return Result{}, err
	}
	if err := t.write(ctx, file, nil, []byte(text), true); err != nil {
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
	if err := noNUL("new_str", fresh); err != nil {
		return Result{}, err
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
	if err := noNUL("new_str", fresh); err != nil {
		return Result{}, err
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

// noNUL refuses what no text file holds: the file could not be edited any more.
func noNUL(argument, text string) error {
	if strings.ContainsRune(text, 0) {
		return invalidf("ERROR: %s contains a NUL character, which no text file has. To make a binary file use a command such as printf.", argument)
	}
	return nil
}

// change writes the edited document and shows the lines around the edit, which
// begins at line (from 1) and is length lines long.
func (t *editor) change(ctx context.Context, file string, before []byte, doc document, line, length int) (Result, error) {
	after, err := doc.bytes()
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", file, err)
	}
	if err := t.write(ctx, file, before, after, false); err != nil {
		return Result{}, err
	}
	return t.around("Edited", file, doc, line, length), nil
}
