package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// scope is where a key acts.
type scope string

const (
	anywhere scope = "Anywhere"
	debugger scope = "The chosen trajectory"
	inList   scope = "In the list"
	inView   scope = "In the transcript and the other views"
	inReplay scope = "While a recording is replayed"
	inWhatIf scope = "In the what-if view"
	inOutput scope = "In a full output"
	inSearch scope = "In a search of the repository"
	inBreaks scope = "In the breakpoints"
	inTokens scope = "In the tokens"
	inTime   scope = "In the timeline"
	inFind   scope = "While a text is looked for in a view"
	inAcross scope = "In the list of places found"

	inCompare scope = "In a comparison of trajectories"
	inMatrix  scope = "In the matrix of a group"
	inVersus  scope = "In a comparison of two runs"

	inNarrow scope = "In the help and the messages"
)

// scopes in the order of the help.
var scopes = []scope{debugger, anywhere, inReplay, inList, inView, inTokens, inTime, inFind, inAcross, inOutput, inSearch, inBreaks, inWhatIf, inCompare, inMatrix, inVersus, inNarrow}

// binding is one row of the key table: the only place that knows a key. Help,
// the bottom line and docs/keys.md are made from it.
type binding struct {
	key.Binding        // its help is the key's, for the tables
	name        string // two words at most, for the bottom line; "" keeps it out
	verb        string // its name in the palette; "": name, with a dash between words
	scope       scope
	danger      bool // asks before it acts
	over        bool // acts over sheets, too
	aside       bool // its name stands in the bottom line of sheets only
	// can says why the key does not apply now, "" when it does. nil: always.
	can func(*Workbench) string
	// do acts. nil: the pane that has the keys moves.
	do func(*Workbench) tea.Cmd
}

// on is a binding of keys with what they do.
func on(help string, keys ...string) key.Binding {
	shown := make([]string, len(keys))
	for i, k := range keys {
		shown[i] = showKey(k)
	}
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(strings.Join(shown, " "), help))
}

// keyTable in the order of the help.
func keyTable() []binding {
	return slices.Concat(debugKeys(), changeKeys(), humanKeys(), breakKeys(), forkKeys(), replayKeys(), globalKeys(), comfortKeys(), paneKeys(), compareKeys(), narrowKeys())
}

// debugKeys in the order of how often a held trajectory needs them: the bottom
// line shows as many as fit.
func debugKeys() []binding {
	return []binding{
		{Binding: on("continue a held trajectory", "c", "f5"), name: "continue", scope: debugger, can: canGoOn, do: doContinue},
		{Binding: on("step over: on to the end of this turn", "n", "f10"), name: "over", verb: "step-over", scope: debugger, can: canGoOn, do: doStep("over")},
		{Binding: on("step into: on to the next gate", "s", "f11"), name: "into", verb: "step-into", scope: debugger, can: canGoOn, do: doStep("into")},
		{Binding: on("edit the call that waits to run, or what a tool returned", "e"), name: "edit", scope: debugger, can: canEdit, do: doEdit},
		{Binding: on("reject the call that waits to run, with a reason the policy reads", "x"), name: "reject", scope: debugger, can: canReject, do: doReject},
		{Binding: on("inject feedback before the next model call", "i"), name: "inject", scope: debugger, can: canInject, do: doInject},
		{Binding: on("step out: on to the end of the run stage", "f"), name: "out", verb: "step-out", scope: debugger, can: canGoOn, do: doStep("out")},
		{Binding: on("pause at the next gate", "p"), name: "pause", scope: debugger, can: canPause, do: doPause},
		{Binding: on("cancel the call that runs; the trajectory goes on", "C"), name: "cancel call", scope: debugger, danger: true, can: canCancelCall, do: doCancelCall},
		{Binding: on("wrap up: end the run stage now and evaluate what is there", "W"), verb: "finish", scope: debugger, danger: true, can: canFinish, do: doFinish},
		{Binding: on("cancel the trajectory", "X"), name: "cancel", scope: debugger, danger: true, can: canCancel, do: doCancel},
		{Binding: on("search the repository as the trajectory has it now, as its search tool does", searchKey), name: "search", scope: debugger, can: canSearch, do: doSearch},
	}
}

func globalKeys() []binding {
	return []binding{
		{Binding: on("pause all at their next gates; when all are paused, continue all", "P"), name: "pause all", scope: anywhere, can: canPauseAll, do: doPauseAll},
		{Binding: on("export the transitions of the run to a file", "E"), name: "export", scope: anywhere, can: canExport, do: doExport},
		{Binding: on("the queues: what waits for what, times, tools, limits, the run over time", queuesKey), name: "queues", scope: anywhere, over: true, do: doQueues},
		{Binding: on("what if: simulate the run with other limits, policies and orders", whatIfKey), name: "what if", scope: anywhere, over: true, aside: true, can: canWhatIf, do: doWhatIf},
		{Binding: on("change the limits of the dispatcher while the run goes on", "L"), name: "limits", scope: anywhere, over: true, aside: true, can: canLimits, do: doLimits},
		{Binding: on("go to the other pane", "tab", "shift+tab"), name: "pane", scope: anywhere, do: doTab},
		{Binding: on("the list", "1"), verb: "list", scope: anywhere, do: doGoto(listFocus, textTab)},
		{Binding: on("the transcript", "2"), verb: "transcript", scope: anywhere, do: doGoto(viewFocus, textTab)},
		{Binding: on("the patch; before it is taken what has changed by now, and again to look anew", "3"), verb: "patch", scope: anywhere, do: doGoto(viewFocus, patchTab)},
		{Binding: on("the verifier's output", "4"), verb: "verifier", scope: anywhere, do: doGoto(viewFocus, verifierTab)},
		{Binding: on("the events", "5"), verb: "events", scope: anywhere, do: doGoto(viewFocus, eventsTab)},
		{Binding: on("the tokens of the turn, with logprobs and loss mask", "6"), verb: "tokens", scope: anywhere, do: doGoto(viewFocus, tokensTab)},
		{Binding: on("the exact prompt and reply of the turn", "7"), verb: "raw", scope: anywhere, do: doGoto(viewFocus, rawTab)},
		{Binding: on("the messages of the turn as JSON", "8"), verb: "json", scope: anywhere, do: doGoto(viewFocus, messagesTab)},
		{Binding: on("the timeline: where the time of each turn went", "9"), verb: "timeline", scope: anywhere, do: doGoto(viewFocus, timelineTab)},
		{Binding: on("the view before this one", "["), verb: "view-before", scope: anywhere, do: doTurnTab(-1)},
		{Binding: on("the view after this one", "]"), verb: "view-after", scope: anywhere, do: doTurnTab(1)},
		{Binding: on("give the pane the whole screen, and back", "z"), name: "zoom", scope: anywhere, do: doZoom},
		{Binding: on("stay at the end as it grows, or stop that", "F"), name: "follow", scope: anywhere, do: doFollow},
		{Binding: on("filter the list: every word must match, !word must not, tokens>8k turns<5 reward>=1 bound; in a view look for a text", "/"), name: "filter", scope: anywhere, can: canSlash, do: doSlash},
		{Binding: on("look for a text in all turns of all trajectories", acrossKey), name: "find all", scope: anywhere, do: doAcross},
		{Binding: on("copy: the chosen name in the list, the block under the cursor elsewhere", "y"), verb: "copy", scope: anywhere, can: canCopy, do: doCopy},
		{Binding: on("copy the run's id and the chosen name", "Y"), verb: "copy-id", scope: anywhere, do: doCopyID},
		{Binding: on("all messages so far", "m"), verb: "messages", scope: anywhere, over: true, do: doMessages},
		{Binding: on("all keys", "?"), name: "help", scope: anywhere, over: true, do: doHelp},
		{Binding: on("back: close, end a search, unzoom, to the list, clear the marks, then the filter; never stops work", "esc"), verb: "back", scope: anywhere, do: doBack},
		{Binding: on("suspend to the shell; work stands still until fg", "ctrl+z"), verb: "suspend", scope: anywhere, do: func(*Workbench) tea.Cmd { return tea.Suspend }},
		{Binding: on("quit; asks only while work is running", "q", "ctrl+c"), name: "quit", scope: anywhere, do: doQuit},
	}
}

// paneKeys without an action are moves: list and scroller know them.
func paneKeys() []binding {
	return []binding{
		{Binding: on("one up", "up", "k"), verb: "up", scope: inList},
		{Binding: on("one down", "down", "j"), verb: "down", scope: inList},
		{Binding: on("a page up", "pgup"), verb: "page-up", scope: inList},
		{Binding: on("a page down", "pgdown"), verb: "page-down", scope: inList},
		{Binding: on("first", "g", "home"), verb: "first", scope: inList},
		{Binding: on("last", "G", "end"), verb: "last", scope: inList},
		{Binding: on("open the trajectory; fold or unfold a group", "enter"), verb: "open", scope: inList, do: doEnterList},
		{Binding: on("to the group's heading; fold it", "left"), verb: "fold", scope: inList, can: canFoldGroup},
		{Binding: on("unfold the group", "right"), verb: "unfold", scope: inList, can: canUnfoldGroup},
		{Binding: on("fold all groups", "-"), verb: "fold-all", scope: inList},
		{Binding: on("unfold all groups", "+", "="), verb: "unfold-all", scope: inList},
		{Binding: on("sort by the next column", ">"), name: "sort", scope: inList, do: doSort(1)},
		{Binding: on("sort by the column before", "<"), verb: "sort-before", scope: inList, do: doSort(-1)},
		{Binding: on("sort the other way round", "~"), verb: "sort-turn", scope: inList, can: canTurn, do: doTurnSort},

		{Binding: on("one row up", "up", "k"), verb: "up", scope: inView},
		{Binding: on("one row down", "down", "j"), verb: "down", scope: inView},
		{Binding: on("a page up", "pgup"), verb: "page-up", scope: inView},
		{Binding: on("a page down", "pgdown"), verb: "page-down", scope: inView},
		{Binding: on("to the start", "g", "home"), verb: "first", scope: inView},
		{Binding: on("to the end, and follow", "G", "end"), verb: "last", scope: inView},
		{Binding: on("to the turn before", "{"), verb: "turn-before", scope: inView, can: canTurnBefore},
		{Binding: on("to the turn after", "}"), verb: "turn-after", scope: inView, can: canTurnAfter},
		{Binding: on("unfold or fold the block under the cursor", "enter", " "), name: "unfold", scope: inView, can: canFold, do: doFold(nil)},
		{Binding: on("unfold it", "right"), verb: "open-block", scope: inView, can: canOpenBlock, do: doFold(yes())},
		{Binding: on("fold it", "left"), verb: "close-block", scope: inView, can: canCloseBlock, do: doFold(new(bool))},
		{Binding: on("open all that the call under the cursor printed, also what the model did not see", outputKey), name: "output", scope: inView, can: canOutput, do: doOutput},

		{Binding: on("to the token before", "left"), verb: "token-before", scope: inTokens},
		{Binding: on("to the token after", "right"), verb: "token-after", scope: inTokens},
		{Binding: on("to the next token whose logprob is under the threshold", "J"), name: "next low", scope: inTokens},
		{Binding: on("to the one before", "K"), name: "low before", scope: inTokens},
		{Binding: on("another threshold: −2, −3, −4.6, −1", "T"), name: "threshold", scope: inTokens},

		{Binding: on("go to the turn in the transcript", "enter"), name: "go there", scope: inTime, can: canGoTimed, do: doGoTimed},

		{Binding: on("to the next place; without a capital letter both cases count", "n"), name: "next", scope: inFind, do: doFindNext(1)},
		{Binding: on("to the one before", "N"), name: "before", scope: inFind, do: doFindNext(-1)},

		{Binding: on("go to the place in its transcript", "enter"), name: "go there", scope: inAcross, can: canGoThere, do: doGoThere},
		{Binding: on("look for another text", "/"), name: "find", scope: inAcross, do: doAcrossType},

		{Binding: on("look for a text; without a capital letter both cases", "/"), name: "find", scope: inOutput, do: doFind},
		{Binding: on("to the next place that matches", "n"), name: "next", scope: inOutput, can: canFindAgain, do: doFindAgain(1)},
		{Binding: on("to the one before", "N"), name: "before", scope: inOutput, can: canFindAgain, do: doFindAgain(-1)},

		{Binding: on("ask for what the cursor is on: something found, or a next query", "enter"), name: "ask that", scope: inSearch, can: canAskNext, do: doAskNext},
		{Binding: on("ask something else", "/"), name: "ask", scope: inSearch, do: doAskAnew},
		{Binding: on("back to the question before", "backspace"), name: "before", scope: inSearch, can: canAskBefore, do: doAskBefore},

		{Binding: on("open the limits dialog with those of the row", "enter"), name: "use", scope: inWhatIf, can: canUseOutlook, do: doUseOutlook},
		{Binding: on("simulate anew", "r"), name: "again", scope: inWhatIf, do: func(w *Workbench) tea.Cmd { return w.simulate() }},
	}
}

func yes() *bool { v := true; return &v }

// findKey looks in the pane with the keys first.
func (w *Workbench) findKey(m tea.KeyMsg) *binding {
	table := w.table
	for _, s := range append(w.here(), inReplay, debugger, anywhere) {
		for i := range table {
			if table[i].scope == s && key.Matches(m, table[i].Binding) {
				return &table[i]
			}
		}
	}
	return nil
}

// here is where the keys of the pane act, those that come first before others.
func (w *Workbench) here() (list []scope) {
	if w.focus == listFocus {
		return []scope{inList}
	}
	if w.finding() {
		list = append(list, inFind)
	}
	if w.atTokens() {
		list = append(list, inTokens)
	}
	if w.atTimeline() {
		list = append(list, inTime)
	}
	return append(list, inView)
}

// inSheet reports whether the key acts while the sheet is open.
func (b *binding) inSheet(s *sheet) bool { return b.over || b.scope == s.scope }

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

// why the binding does not apply now, "" when it does.
func (b *binding) why(w *Workbench) string {
	if b.can == nil {
		return ""
	}
	return b.can(w)
}

// Keys of the dialogs are not in the table: they act there only.
var (
	nextKey   = on("next field or button", "tab")
	beforeKey = on("the field or button before", "shift+tab")
	takeKey   = on("take the button with the focus; a new line in a longer field", "enter")
	sendKey   = on("send the form", "ctrl+s")
	editorKey = on("open the field in $EDITOR", "ctrl+e")
	swapKey   = on("edit a call's arguments as one JSON text, and back", "ctrl+t")
	closeKey  = on("close without doing anything", "esc", "ctrl+c")

	optionKey     = on("at the end of a field with choices: take the one that is offered", "right")
	nextOptionKey = on("the next of a field's choices", "ctrl+n")
	moreKey       = on("one more call, in a turn that you write", "ctrl+o")
	lessKey       = on("take this call out of it again", "ctrl+x")

	dialogKeys = []key.Binding{nextKey, beforeKey, takeKey, sendKey, editorKey, swapKey, optionKey, nextOptionKey, moreKey, lessKey, closeKey}
)

// KeysMarkdown is docs/keys.md.
func KeysMarkdown() string {
	var b strings.Builder
	b.WriteString("# Keys of the workbench\n\nMade from the key table in `ui/keys.go` by `go test ./ui -run TestKeysDoc -update`; do not edit by hand.\n")
	b.WriteString("A key that does not apply right now says why. A key marked ▲ asks before it acts. The palette (`:`) runs a row by its verb.\n")
	table := keyTable()
	for _, s := range scopes {
		fmt.Fprintf(&b, "\n## %s\n\n| key | verb | what it does |\n|---|---|---|\n", s)
		for _, k := range table {
			if k.scope != s {
				continue
			}
			mark := ""
			if k.danger {
				mark = " ▲"
			}
			fmt.Fprintf(&b, "| %s | %s | %s%s |\n", codeKeys(k.Keys()), k.slug(), k.Help().Desc, mark)
		}
	}
	b.WriteString(typedMarkdown())
	b.WriteString("\n## In dialogs\n\n| key | what it does |\n|---|---|\n")
	for _, k := range dialogKeys {
		fmt.Fprintf(&b, "| %s | %s |\n", codeKeys(k.Keys()), k.Help().Desc)
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
