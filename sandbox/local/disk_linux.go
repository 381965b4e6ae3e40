package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"rollbench/sandbox"
)

// The files of a sandbox are on a file system of this machine, and quotas need one
// that most machines lack. So its use is measured, and a sandbox that takes more
// than its limit is stopped.

const (
	// diskTick is how often growth of the file system is looked at: one system call.
	diskTick = 250 * time.Millisecond
	// diskEvery is the longest time between two measurements, which walk all files.
	diskEvery = 10 * time.Second
	// diskShare bounds what measuring takes: a fiftieth of one CPU, unless the file
	// system fills up.
	diskShare = 50
	// diskTries in a row may fail: a tree that changes is hard to walk.
	diskTries = 20
)

// watchDisk stops the sandbox when its files take more than limit bytes. It
// measures when the file system has lost half of the room that the sandbox had
// left, whoever took it, and now and then.
func (b *folder) watchDisk(limit int64) {
	tick := time.NewTicker(diskTick)
	defer tick.Stop()
	free, err := sandbox.Free(b.dir())
	used, last, cost, failed := int64(0), time.Now(), time.Duration(0), 0
	for {
		select {
		case <-b.lost:
			return
		case <-tick.C:
		}
		var left int64
		if left, err = sandbox.Free(b.dir()); err == nil {
			if free-left <= (limit-used)/2 && time.Since(last) < max(diskEvery, diskShare*cost) {
				continue
			}
			last = time.Now()
			used, err = b.diskUse(limit)
			free, cost = left, time.Since(last)
		}
		if failed++; err == nil {
			failed = 0
		}
		switch {
		case used > limit:
			b.stop(fmt.Errorf("%w: disk limit %d MB reached (%d MB used)", sandbox.ErrExhausted, limit>>20, used>>20))
		case errors.Is(err, sandbox.ErrExhausted):
			b.stop(err)
		case failed == diskTries:
			b.stop(fmt.Errorf("%w: what the files take cannot be measured: %w", sandbox.ErrExhausted, err))
		}
	}
}

// stop ends everything in the sandbox; why is part of each later error.
func (b *folder) stop(why error) {
	b.mu.Lock()
	if b.gone == nil {
		b.gone = why
	}
	b.mu.Unlock()
	b.conn.Close() // the init exits at the end of its socket
}

// diskUse is what the files below the sandbox's root take, and those without a name
// that its processes hold open.
func (b *folder) diskUse(limit int64) (int64, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	b.wg.Go(func() {
		select {
		case <-b.lost:
			cancel()
		case <-stop:
		}
	})
	n, err := sandbox.Usage(ctx, filepath.Join(b.dir(), "root"), limit)
	if err != nil || n > limit || b.level == None { // there, processes are this machine's
		return n, err
	}
	limited, cancel := context.WithTimeout(ctx, diskEvery)
	defer cancel()
	r, _, err := b.ask(limited, request{Op: opNameless})
	return n + r.Bytes, err
}
