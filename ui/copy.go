package ui

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
)

// maxOSC52 is what common terminals accept of one clipboard write, in bytes.
const maxOSC52 = 74_000

// copiedMsg says honestly how far a copy got.
type copiedMsg struct {
	said string
	ok   bool
}

// maxTmux bounds what is put into a buffer of tmux, which keeps it, in bytes.
const maxTmux = 4 << 20

// copyText puts text where it can be pasted from, away from the screen.
func (w *Workbench) copyText(what, text string) tea.Cmd {
	out := w.opt.Output
	return w.job(func(ctx context.Context) tea.Msg { return deliver(ctx, out, what, text) })
}

// deliver text: inside tmux into its buffer (which passes it on to the terminal),
// else by OSC 52 to the terminal, else into a file.
func deliver(ctx context.Context, out io.Writer, what, text string) tea.Msg {
	if os.Getenv("TMUX") != "" && len(text) <= maxTmux {
		if said, ok := toTmux(ctx, what, text); ok {
			return copiedMsg{said, true}
		}
	}
	if len(text) <= maxOSC52 {
		return sendOSC52(out, what, text, utf8.RuneCountInString(text))
	}
	return toFile(text, "too long for the terminal's clipboard: "+what)
}

// toTmux says how far it got: tmux passes on to the terminal what that takes, and
// only where it may.
func toTmux(ctx context.Context, what, text string) (said string, ok bool) {
	cmd := exec.CommandContext(ctx, "tmux", "load-buffer", "-w", "-")
	cmd.Stdin = strings.NewReader(text)
	if cmd.Run() != nil {
		return "", false
	}
	said = fmt.Sprintf("copied %s (%s characters) to tmux's buffer", what, thousands(int64(utf8.RuneCountInString(text))))
	passes, err := exec.CommandContext(ctx, "tmux", "show-options", "-gsv", "set-clipboard").Output()
	switch {
	case len(text) > maxOSC52:
		return said + "; it is too long for the terminal's clipboard", true
	case err == nil && strings.TrimSpace(string(passes)) == "off":
		return said + "; tmux's set-clipboard is off, so the terminal's clipboard has it not", true
	}
	return said + " and the terminal's clipboard", true
}

// toFile puts text into a file of its own; why says what for.
func toFile(text, why string) tea.Msg {
	path, err := copyToFile(text)
	if err != nil {
		return copiedMsg{"could not copy: " + err.Error(), false}
	}
	return copiedMsg{why + " is in " + path, true}
}

// sendOSC52 cannot know whether the terminal obeys: there is no answer to it.
func sendOSC52(out io.Writer, what, text string, n int) tea.Msg {
	seq := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\x07"
	if _, err := io.WriteString(out, seq); err != nil {
		return copiedMsg{"could not copy: " + err.Error(), false}
	}
	return copiedMsg{fmt.Sprintf("sent %s (%s characters) to the terminal; if nothing can be pasted, it does not allow OSC 52", what, thousands(int64(n))), true}
}

func copyToFile(text string) (string, error) {
	f, err := os.CreateTemp("", "rollbench-copy-*.txt")
	if err != nil {
		return "", fmt.Errorf("make a file for the copy: %w", err)
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", fmt.Errorf("write %s: %w", f.Name(), err)
	}
	return f.Name(), nil
}
