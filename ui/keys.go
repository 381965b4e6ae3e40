package ui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// scope is where a key acts.
type scope string

const (
	anywhere scope = "Anywhere"
	debugger scope = "The chosen trajectory"
	inList   scope = "In the list"
	inView   scope = "In the transcript and the other views"
)

// binding is one row of the key table: the only place that knows a key. Help,
// the bottom line and docs/keys.md are made from it.
type binding struct {
	keys   []string
	name   string // two words at most, for the bottom line; "" keeps it out
	help   string
	scope  scope
	danger bool // asks before it acts
	// can says why the key does not apply now, "" when it does. nil: always.
	can func(*Workbench) string
	// do acts. nil: the pane that has the keys moves.
	do func(*Workbench) tea.Cmd
}

// keyTable in the order of the help.
func keyTable() []binding {
	return append(append(debugKeys(), globalKeys()...), paneKeys()...)
}

// debugKeys in the order of how often a held trajectory needs them: the bottom
// line shows as many as fit.
func debugKeys() []binding {
	return []binding{
		{keys: []string{"c", "f5"}, name: "continue", help: "continue a held trajectory", scope: debugger, can: canHeld, do: doContinue},
		{keys: []string{"n", "f10"}, name: "over", help: "step over: on to the end of this turn", scope: debugger, can: canHeld, do: doStep("over")},
		{keys: []string{"s", "f11"}, name: "into", help: "step into: on to the next gate", scope: debugger, can: canHeld, do: doStep("into")},
		{keys: []string{"e"}, name: "edit", help: "edit the call that waits to run", scope: debugger, can: canEdit, do: doEdit},
		{keys: []string{"x"}, name: "reject", help: "reject the call that waits to run, with a reason the policy reads", scope: debugger, can: canReject, do: doReject},
		{keys: []string{"i"}, name: "inject", help: "inject feedback before the next model call", scope: debugger, can: canInject, do: doInject},
		{keys: []string{"f"}, name: "out", help: "step out: on to the end of the run stage", scope: debugger, can: canHeld, do: doStep("out")},
		{keys: []string{"p"}, name: "pause", help: "pause at the next gate", scope: debugger, can: canPause, do: doPause},
		{keys: []string{"W"}, help: "wrap up: end the run stage now and evaluate what is there", scope: debugger, danger: true, can: canFinish, do: doFinish},
		{keys: []string{"X"}, name: "cancel", help: "cancel the trajectory", scope: debugger, danger: true, can: canCancel, do: doCancel},
	}
}

func globalKeys() []binding {
	return []binding{
		{keys: []string{"P"}, name: "pause all", help: "pause all at their next gates; when all are paused, continue all", scope: anywhere, can: canPauseAll, do: doPauseAll},
		{keys: []string{"E"}, name: "export", help: "export the transitions of the run to a file", scope: anywhere, can: canExport, do: doExport},
		{keys: []string{"tab", "shift+tab"}, name: "pane", help: "go to the other pane", scope: anywhere, do: doTab},
		{keys: []string{"1"}, help: "the list", scope: anywhere, do: doGoto(listFocus, textTab)},
		{keys: []string{"2"}, help: "the transcript", scope: anywhere, do: doGoto(viewFocus, textTab)},
		{keys: []string{"3"}, help: "the patch", scope: anywhere, do: doGoto(viewFocus, patchTab)},
		{keys: []string{"4"}, help: "the verifier's output", scope: anywhere, do: doGoto(viewFocus, verifierTab)},
		{keys: []string{"5"}, help: "the events", scope: anywhere, do: doGoto(viewFocus, eventsTab)},
		{keys: []string{"["}, help: "the view before this one", scope: anywhere, do: doTurnTab(-1)},
		{keys: []string{"]"}, help: "the view after this one", scope: anywhere, do: doTurnTab(1)},
		{keys: []string{"z"}, name: "zoom", help: "give the pane the whole screen, and back", scope: anywhere, do: doZoom},
		{keys: []string{"F"}, name: "follow", help: "stay at the end as it grows, or stop that", scope: anywhere, do: doFollow},
		{keys: []string{"/"}, name: "filter", help: "filter the list: every word must match, !word must not", scope: anywhere, do: doFilter},
		{keys: []string{"y"}, help: "copy: the chosen name in the list, the block under the cursor elsewhere", scope: anywhere, can: canCopy, do: doCopy},
		{keys: []string{"Y"}, help: "copy the run's id and the chosen name", scope: anywhere, do: doCopyID},
		{keys: []string{"m"}, help: "all messages so far", scope: anywhere, do: doMessages},
		{keys: []string{"?"}, name: "help", help: "all keys", scope: anywhere, do: doHelp},
		{keys: []string{"esc"}, help: "back: close, unzoom, clear the filter, to the list; never stops work", scope: anywhere, do: doBack},
		{keys: []string{"ctrl+z"}, help: "suspend to the shell; work stands still until fg", scope: anywhere, do: func(*Workbench) tea.Cmd { return tea.Suspend }},
		{keys: []string{"q", "ctrl+c"}, help: "quit; asks only while work is running", scope: anywhere, do: doQuit},
	}
}

// paneKeys without an action are moves: list and scroller know them.
func paneKeys() []binding {
	return []binding{
		{keys: []string{"up", "k"}, help: "one up", scope: inList},
		{keys: []string{"down", "j"}, help: "one down", scope: inList},
		{keys: []string{"pgup"}, help: "a page up", scope: inList},
		{keys: []string{"pgdown"}, help: "a page down", scope: inList},
		{keys: []string{"g", "home"}, help: "first", scope: inList},
		{keys: []string{"G", "end"}, help: "last", scope: inList},
		{keys: []string{"enter"}, help: "open the trajectory; fold or unfold a group", scope: inList, do: doEnterList},
		{keys: []string{"left"}, help: "to the group's heading; fold it", scope: inList},
		{keys: []string{"right"}, help: "unfold the group", scope: inList},
		{keys: []string{"-"}, help: "fold all groups", scope: inList},
		{keys: []string{"+", "="}, help: "unfold all groups", scope: inList},

		{keys: []string{"up", "k"}, help: "one row up", scope: inView},
		{keys: []string{"down", "j"}, help: "one row down", scope: inView},
		{keys: []string{"pgup"}, help: "a page up", scope: inView},
		{keys: []string{"pgdown"}, help: "a page down", scope: inView},
		{keys: []string{"g", "home"}, help: "to the start", scope: inView},
		{keys: []string{"G", "end"}, help: "to the end, and follow", scope: inView},
		{keys: []string{"{"}, help: "to the turn before", scope: inView},
		{keys: []string{"}"}, help: "to the turn after", scope: inView},
		{keys: []string{"enter", " "}, name: "unfold", help: "unfold or fold the block under the cursor", scope: inView, can: canFold, do: doFold(nil)},
		{keys: []string{"right"}, help: "unfold it", scope: inView, do: doFold(yes())},
		{keys: []string{"left"}, help: "fold it", scope: inView, do: doFold(new(bool))},
	}
}

func yes() *bool { v := true; return &v }

// keymap finds the binding of a key.
type keymap map[scope]map[string]*binding

func newKeymap(table []binding) keymap {
	m := keymap{}
	for i := range table {
		b := &table[i]
		if m[b.scope] == nil {
			m[b.scope] = map[string]*binding{}
		}
		for _, k := range b.keys {
			m[b.scope][k] = b
		}
	}
	return m
}

// find looks in the pane with the keys first.
func (m keymap) find(k string, focus pane) *binding {
	here := inList
	if focus == viewFocus {
		here = inView
	}
	for _, s := range []scope{here, debugger, anywhere} {
		if b := m[s][k]; b != nil {
			return b
		}
	}
	return nil
}

// showKey is how a key is written.
func showKey(k string) string {
	switch k {
	case " ":
		return "space"
	case "up":
		return "↑"
	case "down":
		return "↓"
	case "left":
		return "←"
	case "right":
		return "→"
	}
	if len(k) > 1 && k[0] == 'f' && k[1] <= '9' {
		return strings.ToUpper(k)
	}
	return k
}

func (b binding) show() string {
	out := make([]string, len(b.keys))
	for i, k := range b.keys {
		out[i] = showKey(k)
	}
	return strings.Join(out, " ")
}

// why the binding does not apply now, "" when it does.
func (b *binding) why(w *Workbench) string {
	if b.can == nil {
		return ""
	}
	return b.can(w)
}

// dialogKeys are not in the table: they act in dialogs only.
var dialogKeys = [][2]string{
	{"tab, shift+tab", "next field or button"},
	{"enter", "take the button with the focus; a new line in a longer field"},
	{"ctrl+s", "send the form"},
	{"ctrl+e", "open the field in $EDITOR"},
	{"ctrl+t", "edit a call's arguments as one JSON text, and back"},
	{"esc", "close without doing anything"},
}

// KeysMarkdown is docs/keys.md.
func KeysMarkdown() string {
	var b strings.Builder
	b.WriteString("# Keys of the workbench\n\nMade from the key table in `ui/keys.go` by `go test ./ui -run TestKeysDoc -update`; do not edit by hand.\n")
	b.WriteString("A key that does not apply right now says why. A key marked ▲ asks before it acts.\n")
	table := keyTable()
	for _, s := range []scope{debugger, anywhere, inList, inView} {
		fmt.Fprintf(&b, "\n## %s\n\n| key | what it does |\n|---|---|\n", s)
		for _, k := range table {
			if k.scope != s {
				continue
			}
			mark := ""
			if k.danger {
				mark = " ▲"
			}
			fmt.Fprintf(&b, "| %s | %s%s |\n", codeKeys(k.keys), k.help, mark)
		}
	}
	b.WriteString("\n## In dialogs\n\n| key | what it does |\n|---|---|\n")
	for _, k := range dialogKeys {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(k[0], ", ", "` `"), k[1])
	}
	return b.String()
}

func codeKeys(keys []string) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = "`" + showKey(k) + "`"
	}
	return strings.Join(out, " ")
}
