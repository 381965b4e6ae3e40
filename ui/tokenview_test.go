package ui

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"rollbench/sessions"
)

// tokenTurn is a turn of few tokens: a prompt of three, a reply of four.
func tokenTurn() sessions.Turn {
	return sessions.Turn{Key: heldKey, Attempt: 1, Index: 1, Version: 1, Source: sessions.FromModel, Raw: "rm -rf x", PromptIDs: []int32{1, 2, 3},
		OutputIDs: []int32{10, 11, 12, 13}, Logprobs: []float64{-0.05, -0.5, -4.2, -9999}}
}

// openTokens shows the one turn of a trajectory.
func openTokens(t *testing.T, turn sessions.Turn, change func(*sessions.Trajectory)) *bench {
	t.Helper()
	f := fakeWhole()
	f.vocabulary = map[int32]string{10: "rm", 11: " -", 12: "rf", 13: "\xe6\xbc"}
	f.turns[heldKey] = []sessions.Turn{turn}
	for i := range f.trajs {
		if tr := &f.trajs[i]; tr.Key == heldKey {
			tr.Turn = 1
			if change != nil {
				change(tr)
			}
		}
	}
	b := open(t, f, 120, 40, nil)
	b.keys("jj<enter>6")
	return b
}

// infoLines are the two lines on the token with the cursor.
func (b *bench) infoLines() string {
	var rows []string
	for _, l := range b.w.tokens.info(3, 200)[1:] {
		text := ""
		for _, s := range l {
			text += s.text
		}
		rows = append(rows, strings.TrimSpace(text))
	}
	if at := strings.LastIndex(rows[1], "  "); at >= 0 { // which token stands at the right end
		rows[0], rows[1] = rows[1][at+2:]+"  "+rows[0], strings.TrimSpace(rows[1][:at])
	}
	return strings.Join(rows, " | ")
}

// The cursor starts at the reply, goes token by token, and jumps to those under
// the threshold. A missing logprob is absent.
func TestTokenCursor(t *testing.T) {
	b := openTokens(t, tokenTurn(), nil)
	const running = " | trains: sampled by the policy, unless the trajectory ends masked"
	for _, step := range []struct{ keys, want string }{
		{"", `1/4  id 10  "rm"  logprob −0.05 = 95.1 %  rank N/A  72 6d` + running},
		{"J", `3/4  id 12  "rf"  logprob −4.20 = 1.5 %  rank N/A  72 66` + running},
		{"J", `4/4  id 13  "⟨e6⟩⟨bc⟩"  logprob −9999 (the server's floor)  rank N/A  e6 bc` + running},
		{"J", `4/4  id 13  "⟨e6⟩⟨bc⟩"  logprob −9999 (the server's floor)  rank N/A  e6 bc` + running},
		{"KK", `3/4  id 12  "rf"  logprob −4.20 = 1.5 %  rank N/A  72 66` + running},
		{"<left>", `2/4  id 11  "·-"  logprob −0.50 = 60.7 %  rank N/A  20 2d` + running},
		{"g", `1/3  id 1  text not known  not sampled  rank N/A | does not train: the first prompt is not sampled`},
		{"G", `4/4  id 13  "⟨e6⟩⟨bc⟩"  logprob −9999 (the server's floor)  rank N/A  e6 bc` + running},
	} {
		b.keys(step.keys)
		if got := b.infoLines(); got != step.want {
			t.Errorf("after %q: %s\nwant %s", step.keys, got, step.want)
		}
	}
	b.keys("TT") // −3, −4.6: only the floor is under it
	b.keys("gJ")
	if got := b.infoLines(); !strings.HasPrefix(got, "4/4") {
		t.Errorf("under −4.6: %s", got)
	}
}

// Whether a token trains, and why, as exports would have it.
func TestTokenMask(t *testing.T) {
	for _, c := range []struct {
		name string
		turn func(*sessions.Turn)
		traj func(*sessions.Trajectory)
		want string
	}{
		{"no logprobs", func(t *sessions.Turn) { t.Logprobs = nil }, nil, "trains: sampled by the policy, unless the trajectory ends masked; without logprobs exports leave it out"},
		{"superseded", func(t *sessions.Turn) { t.Superseded = true }, nil, "does not train: superseded: another reply took its place"},
		{"a person's", func(t *sessions.Turn) { t.Source, t.Logprobs = sessions.FromOperator, nil }, nil, "does not train: a person wrote it"},
		{"picked", func(t *sessions.Turn) { t.Version = 2 }, nil, "does not train: a person chose this reply"},
		{"no prompt ids", func(t *sessions.Turn) { t.PromptIDs = nil }, nil, "does not train: the ids of its prompt are absent"},
		{"masked", nil, func(t *sessions.Trajectory) {
			t.State, t.Finish = sessions.Done, string(sessions.ContextWindowExceeded)
		}, "does not train: the trajectory is masked: context_window_exceeded"},
		{"done", nil, func(t *sessions.Trajectory) { t.State, t.Finish = sessions.Done, string(sessions.FinishTool) }, "trains: sampled by the policy"},
		{"no reason", nil, func(t *sessions.Trajectory) { t.State = sessions.Failed }, "does not train: the trajectory ended without a finish reason"},
		{"intervened", nil, func(t *sessions.Trajectory) {
			t.State, t.Finish, t.Intervened = sessions.Done, string(sessions.FinishTool), true
		}, "trains: sampled by the policy; intervened: exported only when asked for"},
	} {
		turn := tokenTurn()
		if c.turn != nil {
			c.turn(&turn)
		}
		b := openTokens(t, turn, c.traj)
		_, got, _ := strings.Cut(b.infoLines(), " | ")
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if logs := b.infoLines(); turn.Logprobs == nil && !strings.Contains(logs, "logprob absent") {
			t.Errorf("%s: %s", c.name, logs)
		}
	}
}

// A logprob that is no number is absent, too; none is ever shown as 0.
func TestTokenWithoutNumber(t *testing.T) {
	turn := tokenTurn()
	turn.Logprobs[0] = math.NaN()
	b := openTokens(t, turn, nil)
	if got := b.infoLines(); !strings.Contains(got, "logprob absent") || strings.Contains(got, "logprob 0") {
		t.Error(got)
	}
	if view := b.w.View(); !strings.Contains(view, "logprobs absent") {
		t.Error("a mean is made of logprobs with a hole")
	}
}

// Of 50,000 tokens only what is on the screen is laid out, wherever it is.
func TestTokensArePaged(t *testing.T) {
	turn := tokenTurn()
	turn.PromptIDs, turn.OutputIDs, turn.Logprobs = make([]int32, 200_000), make([]int32, 50_000), make([]float64, 50_000)
	for i := range turn.OutputIDs {
		turn.OutputIDs[i] = int32(10 + i%4)
	}
	turn.Logprobs[40_000] = -5
	b := openTokens(t, turn, nil)
	laid := func() (n int) {
		for _, rows := range b.w.tokens.rows {
			for _, r := range rows {
				n += r.to - r.from
			}
		}
		return n
	}
	for _, keys := range []string{"", "J", "G", "<pgup><pgup>kkk", "K", "g", "<pgdown>jj"} {
		clear(b.w.tokens.rows)
		b.keys(keys)
		b.w.View()
		if n := laid(); n == 0 || n > 3000 {
			t.Errorf("after %q %d tokens are laid out", keys, n)
		}
	}
	b.keys("gJ")
	if v := &b.w.tokens; v.at != 240_000 {
		t.Errorf("J goes to %d", v.at)
	}
}

// Rows up and down keep to the column, and end where the tokens do.
func TestTokenRows(t *testing.T) {
	b := open(t, fakeTokenized(), 120, 40, nil)
	b.keys("6{{{{{{{{{{{{{{{{{g")
	v := &b.w.tokens
	if v.turn != 1 || v.at != 0 {
		t.Fatalf("at token %d of turn %d", v.at, v.turn)
	}
	seen := map[tokenPlace]bool{}
	for range 200 {
		before := v.at
		b.keys("j")
		if v.at == before {
			break
		}
		if p := v.place(); seen[p] || v.at <= before {
			t.Fatalf("j goes from %d to %d", before, v.at)
		} else {
			seen[p] = true
		}
	}
	if p := v.place(); p.span != len(v.spans)-1 {
		t.Errorf("the last row is %v", p)
	}
	for range len(seen) {
		b.keys("k")
	}
	if v.at != 0 {
		t.Errorf("back at token %d", v.at)
	}
}

// Going from view to view stays at the turn; the newest stays the newest.
func TestSameTurn(t *testing.T) {
	b := open(t, fakeTokenized(), 120, 40, nil)
	key := sessions.Key{Instance: "flask-4045"}
	b.keys("2g}}}") // turn 4
	at := func() int { n, _ := b.w.turnHere(); return n }
	for _, k := range []string{"", "6", "7", "8", "3", "5", "6", "]", "[", "2"} {
		b.keys(k)
		if at() != 4 {
			t.Fatalf("after %q at turn %d", k, at())
		}
	}
	b.keys("6}}2") // two on, in the tokens
	if s := b.w.scrolls[scrollKey{key, textTab}]; s.cursor != (place{5, 0}) || s.follow {
		t.Errorf("the transcript is at %v, follows %v", s.cursor, s.follow)
	}
	b.keys("G7")
	if s := b.w.scrolls[scrollKey{key, rawTab}]; !s.follow {
		t.Error("raw does not follow")
	}
}

// What the session does not know the endpoint is asked for; where it is away the
// tokens are shown without their texts, and why is said.
func TestSpelling(t *testing.T) {
	for _, c := range []struct {
		name, view string
		err        error
	}{{"answers", "PROMPT", nil}, {"is away", "#1 #2 #3", errors.New("nothing listens there")}} {
		f := fakeWhole()
		f.turns[heldKey] = []sessions.Turn{tokenTurn()}
		f.vocabulary = map[int32]string{10: "known"}
		f.trajs[2].Turn = 1
		var asked []int32
		b := open(t, f, 120, 40, func(o *Options) {
			o.Spell = func(_ context.Context, ids []int32) (map[int32]string, error) {
				asked = append(asked, ids...)
				if c.err != nil {
					return nil, c.err
				}
				return map[int32]string{1: "PROMPT"}, nil
			}
		})
		b.keys("jj<enter>6g")
		if view := ansi.Strip(b.w.View()); !strings.Contains(view, c.view) || !strings.Contains(view, "known") {
			t.Errorf("%s: %s", c.name, view)
		}
		if !slices.Equal(asked, []int32{1, 2, 3, 11, 12, 13}) {
			t.Errorf("%s: asked for %v", c.name, asked)
		}
		if all := b.w.toasts.all; c.err != nil && (len(all) != 1 || all[0].text != "texts of 6 tokens are not known: nothing listens there") {
			t.Errorf("%s: says %v", c.name, all)
		}
	}
}
