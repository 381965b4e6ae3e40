package ui

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	tea "github.com/charmbracelet/bubbletea"
)

// jobs are the commands that wait for something: Run joins them before it
// returns, so that nobody reads a session that its owner closes.
type jobs struct {
	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex // guards closed, and wg against an Add after Wait
	closed bool
	wg     sync.WaitGroup
}

func newJobs(ctx context.Context) *jobs {
	j := &jobs{}
	j.ctx, j.cancel = context.WithCancel(ctx)
	return j
}

// enter admits a job; after close none is.
func (j *jobs) enter() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return false
	}
	j.wg.Add(1)
	return true
}

// close ends the jobs' context and waits for them.
func (j *jobs) close() {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.cancel()
	j.wg.Wait()
}

// crashMsg is a panic in a job. Update panics with it: there tea gives the terminal
// back before it tells of it, of one in a goroutine it tells on the screen that goes.
type crashMsg struct{ what string }

// job makes a tea.Cmd of f. Its context ends when the workbench closes.
func (w *Workbench) job(f func(context.Context) tea.Msg) tea.Cmd {
	j, epoch := w.jobs, w.epoch
	return func() (m tea.Msg) {
		if !j.enter() {
			return nil
		}
		defer j.wg.Done()
		defer func() {
			if r := recover(); r != nil {
				m = crashMsg{fmt.Sprintf("%v\n\n%s", r, debug.Stack())}
			}
		}()
		return w.aged(epoch, f(j.ctx))
	}
}
