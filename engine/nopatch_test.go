package engine

import (
	"context"
	"strings"
	"testing"

	"rollbench/sandbox"
	"rollbench/sessions"
)

// before is a sandbox in which something is done right before the patch is taken.
type before struct {
	sandbox.Sandbox
	script string
}

func (b *before) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if strings.Contains(c.Script, "rollbench-left-out") {
		if r, err := b.Sandbox.Exec(ctx, sandbox.Command{Script: b.script}); err != nil || r.ExitCode != 0 {
			return r, err
		}
	}
	return b.Sandbox.Exec(ctx, c)
}

// A policy that removes the repository has no patch and earns 0, instead of no reward;
// files that are left out of the patch are told.
func TestPatchThatIsNotWhole(t *testing.T) {
	for script, want := range map[string]struct{ finish, note, warning string }{
		"rm -rf .git":                {"no_patch", "the repository is gone: .git was removed", ""},
		"cp /bin/true 'a b'":         {"finish_tool", "", "left out of the patch: a b (compiled)"},
		"truncate -s 17M .gitignore": {"no_patch", "the repository is gone: ./.gitignore is larger than 16 MB", ""},
		"rm -rf .git; git init .":    {"no_patch", "the repository is gone: its base commit was removed", ""},
	} {
		r := setup(t, 1, nil)
		opened := 0
		r.local.onOpen = func(_ sandbox.Spec, sb sandbox.Sandbox) (sandbox.Sandbox, error) {
			if opened++; opened > 1 {
				return sb, nil
			}
			return &before{sb, script}, nil
		}
		if err := r.engine().Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		row := r.row(0)
		if row.Finish != want.finish || row.Reward == nil || row.Mask() != "" || want.note != "" && *row.Reward != 0 {
			t.Errorf("%s: finish %s, reward %v, mask %q", script, row.Finish, row.Reward, row.Mask())
		}
		if notes, warnings := strings.Join(r.said(sessions.KindReward), ""), strings.Join(r.said(sessions.KindWarning), ""); !strings.Contains(notes, want.note) || !strings.Contains(warnings, want.warning) {
			t.Errorf("%s: rewarded %s, warned %s", script, notes, warnings)
		}
	}
}
