// Package ui is the workbench: the screen on which a person watches a run,
// steps through its trajectories and exports its transitions.
//
// In: a sessions.Reader (everything shown is read from it), the engine's verbs
// (Commands, nil for a run that another process writes or that has ended) and
// keys. Out: frames on the terminal, and commands whose effect comes back as
// events. Nothing here changes the state of a run by itself.
//
// There is one tea.Model, Workbench. A pane is a plain struct with state, keys
// and a pure Render(w, h). Everything that waits (the database, the engine,
// the clipboard, an editor) is a tea.Cmd that only returns a message.
package ui
