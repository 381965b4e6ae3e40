package simulated

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

// job is one request for a reply.
type job struct {
	*settings
	form     form
	prompt   []int32
	logprobs bool
	text     bool   // of a generate request: with the text
	id       string // that the client gave the request, to abort it by
	fault    Fault
}

// form of an answer.
type form int

const (
	chatForm     form = iota
	textForm          // /v1/completions
	generateForm      // /inference/v1/generate
	sglangForm        // /generate
	tinkerForm        // of a future's result
)

// sampled is what the policy gave.
type sampled struct {
	ids      []int32 // with the end of the turn
	logprobs []float64
	shown    []int32 // without the end of the turn or the stop text
	finish   string
	stop     string // the stop text that struck, or that of the stop id
	stopID   bool
	reply    reply // of a chat
	id       string
	created  int64
	cached   int
}

// defaultTokens of a reply, by form; 0 is all there is room for.
var defaultTokens = map[form]int{textForm: 16, sglangForm: 128}

// serve samples, and answers within the time that it takes.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, j job) error {
	session := r.Header.Get("X-Session-ID")
	if session == "" {
		session = j.SessionID
	}
	ctx, done := s.running.begin(r.Context(), j.id)
	defer done()
	return s.reply(ctx, w, session, j)
}

func (s *Server) reply(ctx context.Context, w http.ResponseWriter, session string, j job) error {
	room, err := s.room(j.settings, len(j.prompt), defaultTokens[j.form])
	if err != nil {
		return err
	}
	out, when, leave, err := s.enter(ctx, j, session, room)
	if err != nil {
		return err
	}
	defer leave()
	if j.Stream {
		err = s.stream(ctx, w, j, out, when)
	} else if err = when.over(ctx, len(out.ids)); err == nil {
		s.load.count(func() { s.load.generated += int64(len(out.ids)) })
		out.cached = when.found()
		w.Header().Set("Content-Type", "application/json")
		write(w, s.whole(j, out))
	}
	reason := out.finish
	if ctx.Err() != nil || err != nil {
		reason = "abort"
	} else if s.gpu == nil {
		s.load.remember(session, append(j.prompt[:len(j.prompt):len(j.prompt)], out.ids...))
	}
	s.load.count(func() { s.load.finished[reason]++ })
	return err
}

// timing says when the tokens of a reply come.
type timing interface {
	begun(ctx context.Context) error                      // waits for the first token
	over(ctx context.Context, total int) error            // waits for the last one
	due(now time.Time, total int) (tokens int, err error) // at least 1 once begun
	found() int                                           // prompt tokens in the prefix cache, once begun
}

// enter the engine's queue and, without a modelled GPU, wait for a place. The
// caller calls leave when err is nil.
func (s *Server) enter(ctx context.Context, j job, session string, room int) (out sampled, when timing, leave func(), err error) {
	if s.gpu != nil {
		out = s.sample(j, session, room)
		q := newSequence(session, j.prompt, out.ids)
		if err = sleep(ctx, s.opt.Latency); err == nil {
			err = s.gpu.submit(q)
		}
		return out, turn{q, s.gpu}, func() { s.gpu.abort(q) }, err
	}
	if err = s.load.enter(ctx); err != nil {
		return out, nil, nil, err
	}
	start := time.Now()
	out = s.sample(j, session, room)
	cached := s.load.lookUp(session, j.prompt)
	tokens := len(j.prompt) + len(out.ids)
	s.load.count(func() { s.load.held += tokens })
	leave = func() {
		s.load.count(func() { s.load.held -= tokens })
		s.load.leave()
	}
	return out, pace{start, s.opt.Latency, s.opt.TokensPerSecond, cached}, leave, nil
}

// sample asks the policy.
func (s *Server) sample(j job, session string, room int) sampled {
	task := s.task(session)
	talk := readConversation(j.prompt)
	high, low := s.streamSeed(&talk, task, session, j.Seed)
	prefix := "cmpl"
	if j.form == chatForm {
		prefix = "chatcmpl"
	}
	out := sampled{id: fmt.Sprintf("%s-%016x", prefix, high), created: time.Now().Unix(), finish: "stop"}
	if j.fault.Empty {
		out.ids, out.logprobs = []int32{}, []float64{}
		return out
	}
	rng := rand.New(rand.NewPCG(high, low))
	candidates := s.opt.Behaviour.candidates(readState(talk, &task))
	out.ids, out.logprobs = sample(candidates, j.sampling(), rng, room)
	out.cutAtStop(j.Stop)
	out.cutAtID(j.StopTokenIDs)
	last := out.ids[len(out.ids)-1]
	switch {
	case out.stop != "":
	case last == idEnd:
		out.shown = out.ids[:len(out.ids)-1]
	default:
		out.shown, out.finish = out.ids, "length"
	}
	if j.form == chatForm {
		out.reply = parseReply(out.shown)
		if len(out.reply.calls) > 0 && last == idEnd {
			out.finish = "tool_calls"
		}
	}
	return out
}

// streamSeed names the random stream of a reply: the server's seed, the
// request's, the session (or the name its task gave), the number of the turn
// and what a person or harness said since the first reply. What tools returned
// does not count: times and temporary paths in it would change every run. A
// call with neither session nor seed gets a stream of its own.
func (s *Server) streamSeed(c *conversation, t Task, session string, seed *int64) (high, low uint64) {
	h := fnv.New128a()
	number := func(n int64) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		h.Write(b[:]) // a hash never fails
	}
	text := func(t string) {
		number(int64(len(t)))
		io.WriteString(h, t)
	}
	number(s.opt.Seed)
	name := t.Stream
	if name == "" {
		name = session
	}
	text(name)
	if seed != nil {
		text("seed")
		number(*seed)
	} else if name == "" {
		text("call")
		number(s.calls.Add(1))
	}
	number(int64(len(c.turns)))
	for _, e := range c.turns {
		for _, u := range e.users {
			text(u)
		}
	}
	sum := h.Sum(nil)
	return binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:])
}

// cutAtStop ends the reply where the first stop text is complete.
func (o *sampled) cutAtStop(stops []string) {
	if len(stops) == 0 {
		return
	}
	var text strings.Builder
	for i, id := range o.ids {
		text.WriteString(tokenText(id))
		for _, stop := range stops {
			if stop == "" || !strings.HasSuffix(text.String(), stop) {
				continue
			}
			o.ids, o.logprobs, o.stop = o.ids[:i+1], o.logprobs[:i+1], stop
			shown := i + 1
			for hidden := 0; hidden < len(stop); {
				shown--
				hidden += len(tokenText(o.ids[shown]))
			}
			o.shown = o.ids[:shown]
			return
		}
	}
}

// cutAtID ends the reply with the first of some ids.
func (o *sampled) cutAtID(stops []int32) {
	i := slices.IndexFunc(o.ids, func(id int32) bool { return id != idEnd && slices.Contains(stops, id) })
	if i >= 0 {
		o.ids, o.logprobs, o.shown = o.ids[:i+1], o.logprobs[:i+1], o.ids[:i]
		o.stop, o.stopID = tokenText(o.ids[i]), true
	}
}

// stream sends pieces as they become due.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, j job, out sampled, when timing) error {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	control := http.NewResponseController(w)
	send := func(chunk []byte) error {
		if len(chunk) == 0 {
			return nil // this form has none
		}
		if _, err := w.Write(chunk); err != nil {
			return fmt.Errorf("client has gone: %w", err)
		}
		return control.Flush()
	}
	if err := when.begun(ctx); err != nil {
		return err
	}
	out.cached = when.found()
	if err := send(s.firstChunk(j, out)); err != nil {
		return err
	}
	total := len(out.ids)
	for sent := 0; sent < total || total == 0; {
		due, err := when.due(time.Now(), total)
		if err != nil {
			return err
		}
		if due <= sent && total > 0 {
			if err := sleep(ctx, tick); err != nil {
				return err
			}
			continue
		}
		if err := send(s.chunk(j, out, sent, due)); err != nil {
			return err
		}
		s.load.count(func() { s.load.generated += int64(due - sent) })
		if j.fault.Stall {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		for j.fault.Endless {
			if err := sleep(ctx, tick); err != nil {
				return err
			}
			if err := send(s.chunk(j, out, 0, min(due, total-1))); err != nil {
				return err
			}
		}
		sent = due
		if total == 0 {
			break
		}
	}
	if j.StreamOptions != nil && j.StreamOptions.IncludeUsage {
		if err := send(s.usageChunk(j, out)); err != nil {
			return err
		}
	}
	return send([]byte("data: [DONE]\n\n"))
}
