package tools

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
	"rollbench/sandbox/local"
)

// A sandbox rebuilt from recorded calls answers as the first one did: state of
// the interpreter and of programs in the sandbox comes back, ends included.
func TestReplayedCallsAnswerAlike(t *testing.T) {
	calls := [][2]string{
		{"python", `{"code": "x = [1]\nprint(x)"}`},
		{"keep", `{"word": "one"}`},
		{"python", `{"code": "x.append(len(open('kept').read()))\nx"}`},
		{"execute_bash", `{"command": "echo two >> kept; cat kept"}`},
		{"python", `{"code": "import os; os._exit(5)"}`},
		{"python", `{"code": "x"}`},
		{"python", `{"code": "x = 2"}`},
		{"execute_bash", `{"command": "pkill -9 python3; while pgrep python3 >/dev/null; do :; done"}`},
		{"python", `{"code": "'x' in dir()"}`},
		{"keep", `{"word": "three"}`},
	}
	keep := Command{Name: "keep", Description: "Keep a word.", Parameters: json.RawMessage(wordParameters), Argv: []string{"sh", "-c", "cat >> kept; wc -c < kept"}}
	var first []Result
	for range 2 {
		inLevels(t, []local.Level{local.Namespaces}, func(t *testing.T, sb sandbox.Sandbox) {
			r, err := New(Env{Sandbox: sb}, Enabled{Bash: true, Python: true, Commands: []Command{keep}})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for i, c := range calls {
				got := call(t, r, c[0], c[1])
				if len(first) == i {
					first = append(first, got)
				}
				if got.Text != first[i].Text || got.Status != first[i].Status {
					t.Errorf("%s %s\n%s\nfirst\n%s", c[0], c[1], got.Text, first[i].Text)
				}
			}
		})
	}
	if len(first) != len(calls) || first[2].Text != "[1, 15]\n" || first[9].Text != "36\n" {
		t.Errorf("%d answers: %+v", len(first), first)
	}
}

var elapsed = regexp.MustCompile(`for \d+ seconds until now`)

// Commands that were left running are typed to and interrupted again.
func TestReplayedInputAnswersAlike(t *testing.T) {
	calls := [][2]string{
		{"execute_bash", `{"command": "read -p 'name? ' x; echo \"hello $x\" | tee greeting"}`},
		{"execute_bash", `{"command": "you", "is_input": "true"}`},
		{"execute_bash", `{"command": "cat > n"}`},
		{"execute_bash", `{"command": "C-d"}`},
		{"execute_bash", `{"command": "sleep 600"}`},
		{"execute_bash", `{"command": "C-c"}`},
		{"execute_bash", `{"command": "cat greeting n"}`},
	}
	var first []Result
	for range 2 {
		inLevels(t, []local.Level{local.Namespaces}, func(t *testing.T, sb sandbox.Sandbox) {
			r, err := New(Env{Sandbox: sb, Limits: Limits{Idle: 500 * time.Millisecond}}, Enabled{Bash: true})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for i, c := range calls {
				got := call(t, r, c[0], c[1])
				got.Text = elapsed.ReplaceAllString(got.Text, "")
				if len(first) == i {
					first = append(first, got)
				}
				if got.Text != first[i].Text || got.Status != first[i].Status {
					t.Errorf("%s\n%s\nfirst\n%s", c[1], got.Text, first[i].Text)
				}
			}
		})
	}
	if len(first) != len(calls) || !strings.HasPrefix(first[1].Text, previousOutput+"hello you\n[The command completed") || !strings.HasPrefix(first[6].Text, "hello you\n[The command completed") {
		t.Errorf("%d answers: %+v", len(first), first)
	}
}
