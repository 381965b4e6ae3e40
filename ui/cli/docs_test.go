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
		if c.Hidden || c.Name() == "help" {
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

// --help of every command shows how it is called.
func TestEveryCommandHasAnExample(t *testing.T) {
	a := &app{in: os.Stdin, out: io.Discard, err: io.Discard}
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		if c.Name() != "help" && !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s has no example of itself: %q", c.CommandPath(), c.Example)
		}
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(a.root())
}

// A terminal that cannot move its cursor gets progress lines.
func TestDumbTerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer terminal.Close()
	a := &app{in: terminal, out: terminal}
	for kind, want := range map[string]bool{"xterm-256color": true, "linux": true, "": true, "dumb": false} {
		t.Setenv("TERM", kind)
		if !a.onTerminal() {
			t.Skip("the terminal's own side is none here")
		}
		if got := a.canDraw(); got != want {
			t.Errorf("TERM=%s: draws %v, want %v", kind, got, want)
		}
	}
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
