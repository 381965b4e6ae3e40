package ui

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// external opens text in the person's editor and brings it back as editedMsg.
// The editor has the terminal meanwhile; the engine goes on.
func (w *Workbench) external(text, ext string) tea.Cmd {
	setting, screen := w.opt.Editor, w.opt.terminal
	return func() tea.Msg {
		path, err := writeTemp(text, ext)
		if err != nil {
			return editedMsg{err: err}
		}
		editor := editorCommand(setting, path)
		if screen != nil {
			editor.Stdout = screen // the terminal itself: editors refuse a pipe
		}
		return tea.ExecProcess(editor, func(err error) tea.Msg {
			return readTemp(path, text, err)
		})()
	}
}

// readTemp takes the edited text and removes the file.
func readTemp(path, before string, failed error) tea.Msg {
	data, err := os.ReadFile(path)
	err = errors.Join(err, os.Remove(path))
	switch {
	case failed != nil:
		return editedMsg{err: fmt.Errorf("editor: %w (set $EDITOR to one that works)", failed)}
	case err != nil:
		return editedMsg{err: fmt.Errorf("read back what was edited: %w", err)}
	}
	return editedMsg{text: backFromEditor(before, string(data))}
}

// writeTemp makes the file with mode 0600: a call may hold secrets of a task.
func writeTemp(text, ext string) (string, error) {
	f, err := os.CreateTemp("", "rollbench-*"+ext)
	if err != nil {
		return "", fmt.Errorf("make a file for the editor: %w", err)
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

// editorCommand runs the setting through the shell, as git does: it may carry
// arguments.
func editorCommand(setting, path string) *exec.Cmd {
	for _, s := range []string{os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi"} {
		if strings.TrimSpace(setting) == "" {
			setting = s
		}
	}
	return exec.Command("sh", "-c", setting+` "$1"`, "sh", path)
}

// backFromEditor takes the newline away that editors add to the last line.
func backFromEditor(before, after string) string {
	if !strings.HasSuffix(before, "\n") {
		return strings.TrimSuffix(after, "\n")
	}
	return after
}
