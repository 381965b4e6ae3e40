package dispatch

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

type afterStages struct {
	over   atomic.Bool
	late   atomic.Int32
	blockc chan struct{}
}

func (s *afterStages) Init(ctx context.Context, it Item) bool {
	if s.over.Load() {
		s.late.Add(1)
	}
	<-ctx.Done()
	if s.blockc != nil {
		<-s.blockc
	}
	return false
}
func (s *afterStages) Run(ctx context.Context, it Item) bool { return false }
func (s *afterStages) Eval(ctx context.Context, it Item)     {}
func (s *afterStages) Panicked(Item, Stage, error)           {}

// Cancel of a queued item after (or while) the run stops starts a stage that nobody joins.
func TestCancelAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &afterStages{blockc: make(chan struct{})}
		d := NewLive(NewCore(AsyncPipeline, Limits{Init: 1, Run: 1, Eval: 1, Live: 1}, 3, nil), s)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- d.Run(ctx) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(s.blockc)
		<-done
		s.over.Store(true)
		d.Cancel(2)
		synctest.Wait()
		if n := s.late.Load(); n > 0 {
			t.Errorf("%d stages started after Run had returned", n)
		}
	})
}
