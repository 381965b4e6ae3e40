package ui

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// goldenOf names the golden screens of what a verb opens.
var goldenOf = map[string]string{
	"edit": "edit", "reject": "reject", "inject": "inject", "cancel-call": "cancelcall", "finish": "finish", "cancel": "cancel",
	"search": "search", "resample": "debug-resample", "command": "debug-hand", "raise": "debug-raise", "mark": "debug-mark", "write": "write",
	"shell": "shell", "fork": "fork-form", "break": "debug-break", "breakpoints": "debug-breaks", "export": "export", "queues": "queues",
	"what-if": "whatif", "limits": "limits", "find-all": "across", "messages": "messages", "help": "help", "quit": "quit", "palette": "palette",
	"compare": "compare-group", "matrix": "matrix", "other-run": "runs", "output": "output", "stop-now": "stop-all",
}

// Every key that opens a dialog or a sheet has its golden screens at three sizes and
// without colour, and so has each view of a trajectory.
func TestEveryPlaceHasGoldens(t *testing.T) {
	met := map[string]bool{}
	every := func(o *Options) {
		measured(o)
		o.Tools, o.Runs = fakeTools, fakeOthers()
	}
	for _, at := range []string{"jj", "jjj", "k"} {
		look := open(t, fakeMeasured(), 120, 40, every)
		look.keys(at)
		for i := range look.w.table {
			row := &look.w.table[i]
			verb := row.slug()
			if met[verb] || row.do == nil || verb == "suspend" || row.why(look.w) != "" || !slices.Contains([]scope{debugger, anywhere}, row.scope) {
				continue
			}
			b := open(t, fakeMeasured(), 120, 40, every)
			b.keys(at)
			b.do(b.w.table[i].do(b.w))
			if b.w.dialog == nil && b.w.sheet == nil {
				continue
			}
			met[verb] = true
			if goldenOf[verb] == "" {
				t.Errorf("%q opens something that has no golden screens: name them in goldenOf", verb)
			}
		}
	}
	if len(met) < 25 {
		t.Errorf("only %d verbs open something: the test shows nothing", len(met))
	}
	names := []string{"text", "patch", "verifier", "events", "tokens", "raw", "json", "timeline-ended", "list", "group", "filter", "find", "replay-paused", "versus"}
	for _, name := range goldenOf {
		names = append(names, name)
	}
	for _, name := range names {
		for _, size := range []string{"80x24", "120x40", "200x60", "mono-*"} {
			files, err := filepath.Glob(filepath.Join("testdata", name+"-"+size+".golden"))
			if first, rest, cut := strings.Cut(name, "-"); err == nil && len(files) == 0 && cut && size == "mono-*" { // some have it in the middle
				files, err = filepath.Glob(filepath.Join("testdata", first+"-mono-"+strings.TrimSuffix(rest, "ended")+"*.golden"))
			}
			if err != nil || len(files) == 0 {
				t.Errorf("no testdata/%s-%s.golden", name, strings.TrimSuffix(size, "-*"))
			}
		}
	}
}
