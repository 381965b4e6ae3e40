package sandbox

import (
	"bytes"
	"testing"
)

// keep is the naive model: everything, then cut.
func keep(all []byte, max int) (out []byte, head int, dropped int64) {
	if len(all) <= max {
		return all, 0, 0
	}
	head = max - max/2
	out = append(append([]byte(nil), all[:head]...), all[len(all)-max/2:]...)
	return out, head, int64(len(all) - max)
}

func FuzzCollector(f *testing.F) {
	f.Add([]byte("hello world"), 4, uint64(3))
	f.Add([]byte("abcdefghij"), 1, uint64(1))
	f.Add([]byte(""), 7, uint64(9))
	f.Add(bytes.Repeat([]byte("0123456789"), 50), 33, uint64(77))
	f.Fuzz(func(t *testing.T, all []byte, max int, cuts uint64) {
		if max <= 0 || max > 1<<16 {
			t.Skip()
		}
		var seen []byte
		c := NewCollector(max, func(p []byte) { seen = append(seen, p...) })
		for rest := all; len(rest) > 0; {
			cuts = cuts*6364136223846793005 + 1442695040888963407
			n := 1 + int(cuts>>33)%len(rest)
			if n > 1 && cuts&1 == 0 {
				n = 1 + n%5
				n = min(n, len(rest))
			}
			c.Write(rest[:n])
			rest = rest[n:]
		}
		var r Result
		c.Fill(&r)
		out, head, dropped := keep(all, max)
		if !bytes.Equal(r.Output, out) || r.Head != head || r.Dropped != dropped {
			t.Fatalf("max %d of %d: got %q head %d dropped %d, want %q %d %d", max, len(all), r.Output, r.Head, r.Dropped, out, head, dropped)
		}
		if !bytes.Equal(seen, all) {
			t.Fatalf("onOutput saw %q of %q", seen, all)
		}
	})
}

func FuzzTap(f *testing.F) {
	f.Add([]byte("out"), []byte("later"), uint64(5))
	f.Add([]byte("abab"), []byte(""), uint64(0))
	f.Add([]byte("abcabcab"), []byte("abcabcabd"), uint64(2))
	f.Fuzz(func(t *testing.T, out, after []byte, cuts uint64) {
		const nonce = "abcabcabd"
		if bytes.Contains(append(append([]byte(nil), out...), nonce[:len(nonce)-1]...), []byte(nonce)) {
			t.Skip()
		}
		to := newSink()
		tap := &tap{to: to}
		tap.Write([]byte("before|"))
		c := NewCollector(1<<20, nil)
		to.attach(c)
		seen := tap.arm(nonce, false)
		stream := append(append(append([]byte(nil), out...), nonce...), after...)
		for len(stream) > 0 {
			cuts = cuts*6364136223846793005 + 1442695040888963407
			n := 1 + int(cuts>>33)%len(stream)
			tap.Write(stream[:n])
			stream = stream[n:]
		}
		select {
		case <-seen:
		default:
			t.Fatal("marker missed")
		}
		tap.disarm()
		to.detach()
		tap.Write([]byte("next"))
		var r, next Result
		c.Fill(&r)
		to.between.Fill(&next)
		if want := "before|" + string(out) + string(after); string(r.Output) != want || string(next.Output) != "next" {
			t.Fatalf("got %q then %q, want %q", r.Output, next.Output, want)
		}
	})
}
