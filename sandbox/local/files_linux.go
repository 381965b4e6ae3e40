package local

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"rollbench/sandbox"
)

// maxFile bounds what ReadFile takes into memory: 256 MiB.
const maxFile = 256 << 20

// maxListing bounds what Walk takes into memory: 64 MiB, half a million files.
const maxListing = 64 << 20

// ReadFile reads a whole regular file.
func (b *folder) ReadFile(ctx context.Context, path string) ([]byte, error) {
	_, f, err := b.ask(ctx, request{Op: opRead, Path: path})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("file is over the limit of %d bytes", maxFile)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, nil
}

// WriteFile replaces a file.
func (b *folder) WriteFile(ctx context.Context, path string, data []byte, mode fs.FileMode) error {
	_, f, err := b.ask(ctx, request{Op: opWrite, Path: path, Mode: mode})
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Stat follows links inside the sandbox.
func (b *folder) Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	r, _, err := b.ask(ctx, request{Op: opStat, Path: path})
	if err != nil {
		return nil, fmt.Errorf("stat %s: %w", path, err)
	}
	return r.Infos[0], nil
}

// ReadDir lists a folder; links are not followed.
func (b *folder) ReadDir(ctx context.Context, path string) ([]fs.FileInfo, error) {
	r, _, err := b.ask(ctx, request{Op: opList, Path: path})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", path, err)
	}
	infos := make([]fs.FileInfo, len(r.Infos))
	for i := range r.Infos {
		infos[i] = r.Infos[i]
	}
	return infos, nil
}

// Walk has the init list the folder.
func (b *folder) Walk(ctx context.Context, dir string, skip []string) ([]sandbox.Entry, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c, err := b.request(request{Op: opWalk, Path: dir, Argv: skip}, false, w)
	closeAll([]*os.File{w})
	if err != nil {
		return nil, fmt.Errorf("walk %s: %w", dir, err)
	}
	stop := context.AfterFunc(ctx, func() { r.Close() })
	listing, err := io.ReadAll(io.LimitReader(r, maxListing+1))
	if !stop() {
		return nil, ctx.Err()
	}
	if len(listing) > maxListing {
		return nil, fmt.Errorf("walk %s: the listing is %w: more than %d MiB", dir, sandbox.ErrTooLarge, maxListing>>20)
	}
	if _, aerr := b.await(ctx, c); aerr != nil {
		err = aerr
	}
	var entries []sandbox.Entry
	if err == nil {
		entries, err = sandbox.ParseWalk(listing, "\x00")
	}
	if err != nil {
		return nil, fmt.Errorf("walk %s: %w", dir, err)
	}
	return entries, nil
}

// CopyIn has the init unpack the stream.
func (b *folder) CopyIn(ctx context.Context, dst string, tar io.Reader) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	var copyErr error
	c, err := b.request(request{Op: opUnpack, Path: dst}, false, r)
	closeAll([]*os.File{r})
	if err != nil {
		closeAll([]*os.File{w})
		return fmt.Errorf("copy into %s: %w", dst, err)
	}
	wg.Go(func() {
		// The init's own error, when it stops reading, says more than EPIPE.
		_, copyErr = io.Copy(w, tar)
		w.Close()
	})
	_, err = b.await(ctx, c)
	closeAll([]*os.File{w})
	wg.Wait()
	if err == nil {
		err = copyErr
	}
	if err != nil {
		return fmt.Errorf("copy into %s: %w", dst, err)
	}
	return nil
}

// CopyOut has the init pack the path; an error in the middle ends the stream.
func (b *folder) CopyOut(ctx context.Context, path string) (io.ReadCloser, error) {
	if _, err := b.Stat(ctx, path); err != nil {
		return nil, fmt.Errorf("copy out: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c, err := b.request(request{Op: opPack, Path: path}, false, w)
	closeAll([]*os.File{w})
	if err != nil {
		closeAll([]*os.File{r})
		return nil, fmt.Errorf("copy out %s: %w", path, err)
	}
	stop := context.AfterFunc(ctx, func() { r.Close() })
	return &packed{b: b, ctx: ctx, c: c, r: r, path: path, stop: stop}, nil
}

// packed is a tar stream that comes from the init.
type packed struct {
	b    *folder
	ctx  context.Context
	c    *call
	r    *os.File
	path string
	stop func() bool
	n    int64 // bytes so far
	err  error // after the end of the stream
}

func (p *packed) Read(buf []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.r.Read(buf)
	if p.n += int64(n); p.n > sandbox.MaxCopyOut {
		p.err = fmt.Errorf("copy out %s: %w: more than %d MiB", p.path, sandbox.ErrTooLarge, sandbox.MaxCopyOut>>20)
		return 0, p.err
	}
	if err != nil {
		p.err = io.EOF
		if err != io.EOF {
			p.err = err
		}
		if p.ctx.Err() != nil {
			p.err = p.ctx.Err()
		} else if _, aerr := p.b.await(p.ctx, p.c); aerr != nil {
			p.err = fmt.Errorf("copy out %s: %w", p.path, aerr)
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, p.err
}

func (p *packed) Close() error {
	if !p.stop() {
		return nil // ctx has closed it
	}
	return p.r.Close()
}
