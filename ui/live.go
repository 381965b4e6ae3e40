package ui

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"rollbench/engine"
	"rollbench/sessions"
)

// Looker tells what a trajectory has changed in its sandbox by now: the beginning of
// its patch, and how many bytes that has.
type Looker func(ctx context.Context, key sessions.Key) (patch []byte, size int, err error)

// lookEvery is how often calls make the view of a patch look again: looks share the
// sandbox with the policy.
const lookEvery = 2 * time.Second

// lookAt is when the patch was last looked at.
type lookAt struct {
	at    time.Time
	asked bool // by a key: at once
}

// looker at the sandbox of a trajectory that has no patch yet; nil where there is
// nothing to look at.
func (w *Workbench) looker(t sessions.Trajectory) func(ctx context.Context) (*page, error) {
	if w.tab != patchTab || w.opt.Look == nil || t.HasPatch || t.State != sessions.Running && t.State != sessions.Held {
		return nil
	}
	look, now := w.opt.Look, w.now
	return func(ctx context.Context) (*page, error) {
		patch, size, err := look(ctx, t.Key)
		if err != nil {
			return nil, err
		}
		return lookPage(patch, size, now), nil
	}
}

// mayLook notes a look, or says that it is too early for one.
func (w *Workbench) mayLook() bool {
	if !w.look.asked && w.now.Sub(w.look.at) < lookEvery {
		return false
	}
	w.look = lookAt{at: w.now}
	return true
}

// lookAgain because a person asks for it.
func (w *Workbench) lookAgain() { w.pageStale, w.look.asked = true, true }

// changesPage reports whether an event changes what a page of its trajectory shows.
func changesPage(k sessions.Kind) bool {
	switch k {
	case sessions.KindPatch, sessions.KindReward, sessions.KindToolFinished, sessions.KindHandRun, sessions.KindState:
		return true
	}
	return false
}

// onlyWatched: another process drives the run, so that what is not recorded yet is
// not seen here.
func (w *Workbench) onlyWatched(t sessions.Trajectory) bool {
	live := t.State == sessions.Running || t.State == sessions.Held || t.State == sessions.Evaluating
	return live && w.opt.Commands == nil && w.opt.Replay == nil
}

// noPatch says why there is none yet.
func (w *Workbench) noPatch(t sessions.Trajectory) string {
	text := "No patch yet: it is taken when the run stage ends."
	if w.onlyWatched(t) {
		text += " What has changed by now is shown only by the process that drives the run."
	}
	return text
}

// readPatch tells an absent patch from an empty one. look, if any, shows what will be
// in it; none is said where there is neither.
func readPatch(ctx context.Context, r sessions.Reader, t sessions.Trajectory, look func(ctx context.Context) (*page, error), none string) (*page, error) {
	data, err := r.Patch(ctx, t.Key)
	switch {
	case err != nil:
		return nil, err
	case data == nil && look != nil:
		p, err := look(ctx)
		if err != nil { // no failure of the session's: the sandbox is gone, say
			return textPage("No patch yet, and no look at the changes: "+err.Error(), prose, warn), nil
		}
		return p, nil
	case data == nil:
		return textPage(none, prose, dim), nil
	case len(data) == 0:
		return textPage("The patch is empty: nothing in the repository was changed.", prose, dim), nil
	}
	return textPage(string(data), diff, plain), nil
}

// lookPage shows what has changed by now, at most the beginning of it.
func lookPage(patch []byte, size int, at time.Time) *page {
	s := &section{labels: 1}
	files := bytes.Count(append([]byte("\n"), patch...), []byte("\ndiff --git "))
	title := line{{live, "▶ changes as of " + wallClock(at)}, {plain, " · " + plural(files, "file", "files")}}
	if size > len(patch) {
		title = append(title, seg{warn, " or more"})
		patch = patch[:bytes.LastIndexByte(patch, '\n')+1]
	}
	s.add(block{id: "look", kind: heading, title: title, right: line{{dim, "3 looks again"}}})
	switch {
	case size == 0:
		s.add(block{id: "text", body: dim, text: "Nothing is changed yet."})
	default:
		s.add(block{id: "text", body: plain, kind: diff, text: trim(string(patch))})
	}
	if size > len(patch) {
		s.add(block{id: "more", body: warn, text: fmt.Sprintf("The first %s of %s bytes.", thousands(int64(len(patch))), thousands(int64(size)))})
	}
	return onePage(s)
}

// readVerifier says whether there is nothing yet or nothing at all.
func readVerifier(ctx context.Context, r sessions.Reader, t sessions.Trajectory) (*page, error) {
	data, err := r.EvalLog(ctx, t.Key)
	switch {
	case err != nil:
		return nil, err
	case len(data) == 0 && t.State.Ended():
		return verifierPage(t, "The verifier left no output.", dim), nil
	case len(data) == 0 && t.State == sessions.Evaluating:
		return textPage("The verifier runs; what it prints is here once it has ended.", prose, dim), nil
	case len(data) == 0:
		return textPage("The verifier has not run yet.", prose, dim), nil
	}
	return verifierPage(t, string(data), plain), nil
}

// livePage is what the verifier of the chosen trajectory has printed by now, made
// when that has changed.
type livePage struct {
	key  sessions.Key
	text string
	page *page
}

// settleVerifier has the page of the running verifier ready, if that is shown.
func (w *Workbench) settleVerifier() {
	s := w.stream()
	if w.tab != verifierTab || s == nil || s.What != engine.VerifierName {
		w.verifier = livePage{}
		return
	}
	if l := &w.verifier; l.page == nil || l.key != s.Key || l.text != s.Text {
		sec := &section{labels: 1}
		sec.add(block{id: "live", kind: heading, title: line{{live, "◕ the verifier runs"}}, right: line{{dim, "since " + wallClock(s.Since)}}})
		if text := trim(s.Text); text != "" {
			sec.add(block{id: "text", body: plain, text: text})
		}
		*l = livePage{s.Key, s.Text, onePage(sec)}
	}
}
