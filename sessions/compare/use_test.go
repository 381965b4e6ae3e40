package compare

import (
	"reflect"
	"testing"
	"time"

	"rollbench/sessions"
)

// tape writes events with their Seq.
type tape struct {
	t   *testing.T
	log Log
	seq int64
}

func (p *tape) add(key sessions.Key, kind sessions.Kind, payload any) {
	p.t.Helper()
	p.seq++
	e := sessions.NewEvent(time.Unix(p.seq, 0), key, kind, payload)
	e.Seq = p.seq
	if err := p.log.See(e); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tape) reply(key sessions.Key, turn int, tools ...string) {
	p.t.Helper()
	p.add(key, sessions.KindReply, sessions.ReplyMade{Turn: turn, Tools: tools})
}

func (p *tape) ran(key sessions.Key, turn int, tool, status string, seconds float64) {
	p.t.Helper()
	p.add(key, sessions.KindToolFinished, sessions.ToolFinished{Turn: turn, Tool: tool, Status: status, Wall: time.Duration(seconds * float64(time.Second))})
}

func (p *tape) done(key sessions.Key, turn int) {
	p.t.Helper()
	p.add(key, sessions.KindTurnDone, sessions.TurnDone{Turn: turn})
}

func TestUse(t *testing.T) {
	p := &tape{t: t}
	p.reply(k0, 1, "bash", "bash", "editor")
	p.ran(k0, 1, "bash", "ok", 1)
	p.ran(k0, 1, "bash", "error", 2)
	p.ran(k0, 1, "editor", "invalid", 0) // arguments that were no use
	p.done(k0, 1)
	p.reply(k0, 2, "search") // malformed: it never ran
	p.done(k0, 2)
	p.reply(k0, 3, "bash")
	p.reply(k0, 3, "editor") // a person's edit takes its place
	p.ran(k0, 3, "editor", "ok", 0.5)
	p.done(k0, 3)
	p.reply(k0, 4, "bash")
	p.ran(k0, 4, "bash", "timeout", 30)
	p.reply(k1, 1, "bash") // under way
	s := time.Second
	want := Use{
		{Name: "bash", Made: 3, Ran: 3, Errors: 1, Timeouts: 1, Wall: 33 * s},
		{Name: "editor", Made: 2, Ran: 1, Invalid: 1, Wall: s / 2},
		{Name: "search", Made: 1},
	}
	if got := p.log.Use(k0); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if all := p.log.Use(k0).All(); all.Made != 6 || all.NotRun() != 2 {
		t.Errorf("in all %+v", all)
	}
	if got := p.log.Use(k1); !reflect.DeepEqual(got, Use{{Name: "bash", Made: 1, Wait: 1}}) {
		t.Errorf("under way: %+v", got)
	}
	if got := p.log.Use(k2); got != nil {
		t.Errorf("of nothing: %+v", got)
	}
}

// What ran in a turn that a crash cut off runs again; another attempt starts anew.
func TestUseAfterResume(t *testing.T) {
	p := &tape{t: t}
	p.reply(k0, 1, "bash", "editor")
	p.add(k0, sessions.KindAttempt, sessions.Attempt{N: 1}) // the one that goes on
	p.ran(k0, 1, "bash", "ok", 1)
	p.reply(k1, 1, "bash")
	p.ran(k1, 1, "bash", "timeout", 9)
	p.add(k1, sessions.KindState, sessions.StateChange{State: sessions.Done}) // ended within its turn
	p.reply(k2, 1, "bash")
	p.ran(k2, 1, "bash", "ok", 1)
	p.done(k2, 1)
	p.add(sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{Resumed: true})
	p.ran(k0, 1, "bash", "ok", 2)
	p.ran(k0, 1, "editor", "ok", 3)
	p.done(k0, 1)
	p.add(k2, sessions.KindAttempt, sessions.Attempt{N: 2})
	p.reply(k2, 1, "editor")
	s := time.Second
	for _, c := range []struct {
		key  sessions.Key
		want Use
	}{
		{k0, Use{{Name: "bash", Made: 1, Ran: 1, Wall: 2 * s}, {Name: "editor", Made: 1, Ran: 1, Wall: 3 * s}}},
		{k1, Use{{Name: "bash", Made: 1, Ran: 1, Timeouts: 1, Wall: 9 * s}}},
		{k2, Use{{Name: "editor", Made: 1, Wait: 1}}},
	} {
		if got := p.log.Use(c.key); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %+v\nwant %+v", c.key, got, c.want)
		}
	}
}
