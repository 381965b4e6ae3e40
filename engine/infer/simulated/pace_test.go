package simulated_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"rollbench/engine/infer"
	"rollbench/engine/infer/simulated"
)

// pipes is a listener in memory: within a bubble time moves while both ends wait.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// 100 ms to the first token, then 1000 tokens a second, on the clock of a
// bubble. A stream sends every 25 ms, so its end may come that much later.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{make(chan net.Conn), make(chan struct{})}
		s, err := simulated.Start(simulated.Options{Listener: p, Latency: 100 * time.Millisecond, TokensPerSecond: 1000})
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{DialContext: p.dial}
		c, err := infer.New(infer.Options{BaseURL: s.URL(), HTTP: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		s.Register("s", fix)
		r := question("s")
		whole, err := c.Chat(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		n := len(whole.OutputIDs)
		want := 100*time.Millisecond + time.Duration(n-1)*time.Millisecond
		if whole.Wall != want {
			t.Errorf("%d tokens took %v, want %v", n, whole.Wall, want)
		}
		last, pieces := time.Now(), 0
		r.Stream = func(string) {
			if gap := time.Since(last); gap > 125*time.Millisecond {
				t.Errorf("silent for %v", gap)
			}
			last = time.Now()
			pieces++
		}
		streamed, err := c.Chat(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if streamed.Wall < want || streamed.Wall > want+25*time.Millisecond || streamed.FirstToken != 100*time.Millisecond {
			t.Errorf("streamed: first token after %v, all after %v", streamed.FirstToken, streamed.Wall)
		}
		if pieces < n/26 {
			t.Errorf("%d pieces for %d tokens", pieces, n)
		}
		transport.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
