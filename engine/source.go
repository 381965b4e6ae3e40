package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"rollbench/sandbox"
	"rollbench/search"
	"rollbench/sessions"
	"rollbench/tools"
)

// SearchSource asks the repository in the trajectory's open run sandbox, as it is
// now, what the trajectory's own search tool would be asked. Nothing is recorded and
// nothing changes: a person only looks.
func (e *Engine) SearchSource(ctx context.Context, key sessions.Key, q search.Query) (search.Answer, []search.Hit, error) {
	t, err := e.find(key)
	if err != nil {
		return search.Answer{}, nil, err
	}
	if !e.opt.Config.Tools.Search {
		return search.Answer{}, nil, errors.New("nothing is indexed: tools.enable_search is false in this run")
	}
	var answer search.Answer
	var hits []search.Hit
	err = e.lookInto(ctx, t, func(ctx context.Context, s *source) (err error) {
		answer, hits, err = s.Ask(ctx, q)
		return err
	})
	return answer, hits, err
}

// Task is what the policy is told of the trajectory's instance; "" where there is none.
func (e *Engine) Task(key sessions.Key) string {
	t, err := e.find(key)
	if err != nil {
		return ""
	}
	return t.in.Instruction
}

// lookBytes is how much of a patch is shown before it is taken, in bytes.
const lookBytes = 1 << 20

// LookPatch is what the trajectory has changed in its open run sandbox by now: the
// beginning of the patch as it would be taken, and how many bytes it has in all.
// Nothing is recorded and nothing changes; the policy may be at work meanwhile.
func (e *Engine) LookPatch(ctx context.Context, key sessions.Key) (patch []byte, size int, err error) {
	t, err := e.find(key)
	if err != nil {
		return nil, 0, err
	}
	if !t.in.NeedsPatch() {
		return nil, 0, fmt.Errorf("%s is judged by its answer: it has no patch", t.key)
	}
	err = e.lookInto(ctx, t, func(ctx context.Context, s *source) (err error) {
		patch, size, err = t.in.LookPatch(ctx, s.sb, lookBytes)
		return err
	})
	return patch, size, err
}

// lookInto the trajectory's open run sandbox, which stays open meanwhile unless it is
// to be closed: that ends the look.
func (e *Engine) lookInto(ctx context.Context, t *trajectory, look func(ctx context.Context, s *source) error) error {
	s := e.sources.enter(t.key)
	switch {
	case s == nil && (t.done.Load() || t.gate.Over()):
		return fmt.Errorf("the run stage of %s is over and its sandbox closed", t.key)
	case s == nil:
		return fmt.Errorf("the sandbox of %s is not open: it is still to be prepared", t.key)
	}
	defer s.looks.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	err := look(ctx, s)
	if err != nil && s.ctx.Err() != nil {
		return fmt.Errorf("the sandbox of %s was closed meanwhile", t.key)
	}
	return err
}

// sources are the repositories of open run sandboxes. The loop's registry is the
// loop's alone; what stands here may be asked beside it.
type sources struct {
	mu  sync.Mutex // guards all, and the looks of each against an Add after Wait
	all map[sessions.Key]*source
}

type source struct {
	*tools.Source // nil without a search tool
	sb            sandbox.Sandbox
	ctx           context.Context // ends before the sandbox is closed
	end           context.CancelFunc
	looks         sync.WaitGroup
}

// open lets people ask; from is nil without a search tool.
func (s *sources) open(key sessions.Key, sb sandbox.Sandbox, from *tools.Source) {
	one := &source{Source: from, sb: sb}
	one.ctx, one.end = context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[sessions.Key]*source{}
	}
	s.all[key] = one
}

// close ends the looks under way and waits for them: nobody reads in a sandbox whose
// patch is taken, or that is closed.
func (s *sources) close(key sessions.Key) {
	s.mu.Lock()
	one := s.all[key]
	delete(s.all, key)
	s.mu.Unlock()
	if one == nil {
		return
	}
	one.end()
	one.looks.Wait()
}

// enter admits a look, which calls looks.Done; nil while nothing is open.
func (s *sources) enter(key sessions.Key) *source {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[key]
	if one != nil {
		one.looks.Add(1)
	}
	return one
}
