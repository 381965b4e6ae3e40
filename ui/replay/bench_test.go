package replay

import (
	"context"
	"testing"
	"time"

	"rollbench/sessions"
)

// BenchmarkLong opens a recording of 150,000 events, goes to its end, and back from
// there by a tenth.
func BenchmarkLong(b *testing.B) {
	home := b.TempDir()
	var keys []sessions.Key
	for i := range 512 {
		keys = append(keys, sessions.Key{Instance: "demo", ID: i})
	}
	s, err := sessions.Create(b.Context(), home, sessions.Run{ID: "r-1", Created: t0, N: 512, Members: keys})
	if err != nil {
		b.Fatal(err)
	}
	const all = 150_000
	for n := 0; n < all; {
		var w sessions.Write
		for range 1000 {
			k, turn, at := keys[n/3%512], n/3/512+1, t0.Add(time.Duration(n)*10*time.Millisecond)
			switch n % 3 {
			case 0:
				w.Events = append(w.Events, sessions.NewEvent(at, k, sessions.KindReply, sessions.ReplyMade{Turn: turn, Version: 1, Source: sessions.FromModel}))
			case 1:
				w.Events = append(w.Events, sessions.NewEvent(at, k, sessions.KindToolFinished, sessions.ToolFinished{Turn: turn, Tool: "execute_bash", Status: "ok", Wall: time.Second}))
			case 2:
				w.Events = append(w.Events, sessions.NewEvent(at, k, sessions.KindTurnDone, sessions.TurnDone{Turn: turn}))
			}
			n++
		}
		if err := s.Commit(b.Context(), w); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	open := func(b *testing.B) *Player {
		src, err := sessions.OpenReader(context.Background(), home, "r-1")
		if err != nil {
			b.Fatal(err)
		}
		p, err := Open(context.Background(), src, 0, 1)
		if err != nil {
			b.Fatal(err)
		}
		p.Pause()
		return p
	}
	show := func(b *testing.B, p *Player, by time.Duration) {
		p.Skip(by)
		if _, _, err := p.Trajectories(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			p := open(b)
			show(b, p, 0)
			if err := p.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	p := open(b)
	defer func() { _ = p.Close() }()
	length := p.Position().Length
	b.Run("to the end", func(b *testing.B) {
		for b.Loop() {
			show(b, p, -length)
			show(b, p, length)
		}
	})
	b.Run("back by a tenth", func(b *testing.B) {
		for b.Loop() {
			show(b, p, -length/10)
			b.StopTimer()
			show(b, p, length)
			b.StartTimer()
		}
	})
}
