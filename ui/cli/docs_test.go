package cli

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "rewrite the generated documentation")

// docs/config.md and docs/cli.md come from the code; run with -update after a change.
func TestGeneratedDocs(t *testing.T) {
	defaults, err := os.ReadFile("../../config.toml")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"../../docs/config.md": "# Configuration\n\nGenerated from config.toml: every key with its default.\n\n```toml\n" + string(defaults) + "```\n",
		"../../docs/cli.md":    commandReference(),
	} {
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is stale: go test ./ui/cli -run TestGeneratedDocs -update", path)
		}
	}
}

func commandReference() string {
	a := &app{in: os.Stdin, out: io.Discard, err: io.Discard}
	var b strings.Builder
	b.WriteString("# Commands\n\nGenerated from the commands' own help. `rollbench completion bash|zsh|fish` prints shell completion.\n")
	root := a.root()
	root.InitDefaultHelpCmd()
	commands := []*cobra.Command{root}
	for _, c := range root.Commands() {
		commands = append(commands, c)
		if c.Name() != "completion" {
			commands = append(commands, c.Commands()...)
		}
	}
	for _, c := range commands {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		var help bytes.Buffer
		c.SetOut(&help)
		c.InitDefaultHelpFlag()
		c.InitDefaultVersionFlag()
		if err := c.Help(); err != nil {
			fmt.Fprintln(&help, err)
		}
		fmt.Fprintf(&b, "\n## %s\n\n```\n%s```\n", c.CommandPath(), strings.TrimRight(help.String(), "\n")+"\n")
	}
	return b.String()
}

// Every key of the configuration is in config.toml, or named in its comments.
func TestEveryKeyIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../config.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range knownKeys() {
		if !strings.Contains(string(text), last(key)) {
			t.Errorf("config.toml does not mention %s", key)
		}
	}
}
