package local

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"rollbench/sandbox"
)

// watchDisk looks at what the sandbox's files occupy, and ends it above the limit.
// Between two looks it rests nineteen times as long as the first took.
func (b *folder) watchDisk() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.wg.Go(func() {
		select {
		case <-b.lost:
			cancel()
		case <-ctx.Done():
		}
	})
	for pause := b.p.opt.DiskEvery; ; {
		select {
		case <-time.After(pause):
		case <-b.lost:
			return
		}
		began := time.Now()
		limit := int64(b.diskMB) << 20
		used, err := sandbox.Usage(ctx, filepath.Join(b.dir(), "root"), limit)
		if err == nil && used > limit {
			b.mu.Lock()
			b.gone = fmt.Errorf("%w: disk limit %d MB reached (%d MB used)", sandbox.ErrExhausted, b.diskMB, used>>20)
			b.mu.Unlock()
			b.conn.Close() // at the end of its socket the init exits, and all with it
			return
		}
		pause = max(b.p.opt.DiskEvery, 19*time.Since(began))
	}
}
