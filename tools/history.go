package tools

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"rollbench/sandbox"
)

// edit is one change that undo_edit can take back. Only what it changed is kept,
// which the model itself has written or replaced, so all edits are.
type edit struct {
	created bool // the file did not exist: undo removes it
	at      int  // bytes before the change
	was     []byte
	is      int               // bytes that stand where was did
	after   [sha256.Size]byte // of the file with the change
}

func newEdit(before, after []byte, created bool) edit {
	e := edit{created: created, after: sha256.Sum256(after)}
	shorter := min(len(before), len(after))
	for e.at < shorter && before[e.at] == after[e.at] {
		e.at++
	}
	same := 0 // at the end
	for same < shorter-e.at && before[len(before)-1-same] == after[len(after)-1-same] {
		same++
	}
	e.was = append([]byte(nil), before[e.at:len(before)-same]...)
	e.is = len(after) - same - e.at
	return e
}

// back is the content before the edit, where now is the one after it.
func (e edit) back(now []byte) (before []byte, ok bool) {
	if sha256.Sum256(now) != e.after {
		return nil, false
	}
	before = append(before, now[:e.at]...)
	before = append(before, e.was...)
	return append(before, now[e.at+e.is:]...), true
}

// write stores the new content first and remembers the edit only then, so a
// failed write leaves nothing to undo.
func (t *editor) write(ctx context.Context, file string, before, after []byte, created bool) error {
	if err := t.env.Sandbox.WriteFile(ctx, file, after, 0); err != nil {
		return err
	}
	t.history[file] = append(t.history[file], newEdit(before, after, created))
	return nil
}

func (t *editor) undo(ctx context.Context, file string) (Result, error) {
	past := t.history[file]
	if len(past) == 0 {
		return Result{}, fmt.Errorf("no edit of %s is left to undo", file)
	}
	last := past[len(past)-1]
	now, err := t.read(ctx, file)
	if err != nil {
		return Result{}, err
	}
	before, ok := last.back(now)
	if !ok {
		return Result{}, fmt.Errorf("%s was changed by something else since your last edit, and undo would lose that change; edit it with str_replace instead", file)
	}
	if last.created {
		err = t.remove(ctx, file)
	} else {
		err = t.env.Sandbox.WriteFile(ctx, file, before, 0)
	}
	if err != nil {
		return Result{}, err
	}
	t.history[file] = past[:len(past)-1]
	if last.created {
		return Result{Status: OK, Text: fmt.Sprintf("Undid the creation of %s: the file is removed.", file)}, nil
	}
	doc, err := parseDocument(before)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", file, err)
	}
	return t.around("Undid the last edit of", file, doc, firstDifference(before, now), 1), nil
}

// removal removes a file; of a symbolic link that it was made through, what the
// link points to.
const removal = `p=$1
if [ -L "$p" ]; then p=$(readlink -f -- "$p" && echo x) || exit; p=${p%??}; fi
rm -f -- "$p"`

func (t *editor) remove(ctx context.Context, file string) error {
	run, err := t.env.Sandbox.Exec(ctx, sandbox.Command{Argv: []string{"sh", "-c", removal, "sh", file}, Timeout: t.env.Limits.Command})
	if err == nil && (run.End != sandbox.Exited || run.ExitCode != 0) {
		err = fmt.Errorf("remove %s: %s", file, strings.TrimSpace(string(run.Output)))
	}
	return err
}
