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

// copyText puts text where it can be pasted from: inside tmux into its buffer
// (which passes it on to the terminal), else by OSC 52 to the terminal, else
// into a file.
func (w *Workbench) copyText(what, text string) tea.Cmd {
	out := w.opt.Output
	return w.job(func(ctx context.Context) tea.Msg {
		n := utf8.RuneCountInString(text)
		if os.Getenv("TMUX") != "" {
			cmd := exec.CommandContext(ctx, "tmux", "load-buffer", "-w", "-")
			cmd.Stdin = strings.NewReader(text)
			if err := cmd.Run(); err == nil {
				return copiedMsg{fmt.Sprintf("copied %s (%s characters) to tmux's buffer and the terminal's clipboard", what, thousands(int64(n))), true}
			}
		}
		if len(text) <= maxOSC52 {
			return sendOSC52(out, what, text, n)
		}
		path, err := copyToFile(text)
		if err != nil {
			return copiedMsg{"could not copy: " + err.Error(), false}
		}
		return copiedMsg{fmt.Sprintf("too long for the terminal's clipboard: %s is in %s", what, path), true}
	})
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
