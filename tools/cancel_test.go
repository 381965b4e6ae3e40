package tools

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
	"rollbench/sandbox/local"
)

// A call whose context ends is killed with all it started, what it printed
// stays, and the next call works where the shell was.
func TestCancelInASandbox(t *testing.T) {
	inLevels(t, []local.Level{local.Bubblewrap}, func(t *testing.T, sb sandbox.Sandbox) {
		why := errors.New("a person")
		var cancel context.CancelCauseFunc
		r, err := New(Env{Sandbox: sb, OnOutput: func(p []byte) {
			if strings.Contains(string(p), "begun") {
				cancel(why)
			}
		}}, Enabled{Bash: true, Python: true, Commands: []Command{{Name: "own", Description: "x", Parameters: []byte(`{"type":"object"}`),
			Argv: []string{"sh", "-c", "setsid sleep 7575 & echo begun; sleep 7575"}, Timeout: time.Minute}}})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var ctx context.Context
		ctx, cancel = context.WithCancelCause(t.Context())
		defer cancel(nil)
		call(t, r, "execute_bash", `{"command": "mkdir -p /tmp/deep/er && cd /tmp/deep/er && export WORD=kept"}`)
		for _, c := range []struct{ tool, args, text string }{
			{"execute_bash", `{"command": "setsid sleep 7575 & echo begun; sleep 7575"}`, "[The command was cancelled and killed, with every process it had started.]"},
			{"own", `{}`, "[own was cancelled and killed.]"},
			{"python", `{"code": "import subprocess\nsubprocess.Popen(['sleep', '7575'], start_new_session=True)\nprint('begun')\nsubprocess.run(['sleep', '7575'])"}`,
				"[The code was cancelled and killed, with every process it had started. "},
		} {
			ctx, cancel = context.WithCancelCause(t.Context())
			got, err := r.Run(ctx, c.tool, c.args)
			cancel(nil)
			if !errors.Is(err, why) || errors.Is(err, sandbox.ErrLost) || !strings.HasPrefix(got.Text, "begun\n") || !strings.Contains(got.Text, c.text) {
				t.Errorf("%s: %+v, %v", c.tool, got, err)
			}
			after := call(t, r, "execute_bash", `{"command": "pwd; echo $WORD; pgrep -f 'sleep 757[5]' || echo gone"}`)
			if !strings.HasPrefix(after.Text, "/tmp/deep/er\nkept\ngone\n") {
				t.Errorf("after %s: %s", c.tool, after.Text)
			}
		}
		if got := call(t, r, "python", `{"code": "1 + 1"}`); got.Text != "2\n" {
			t.Errorf("%+v", got)
		}
	})
}
