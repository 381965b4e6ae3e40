package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	cerrdefs "github.com/containerd/errdefs"

	"rollbench/sandbox"
)

// HasImage reports whether the engine holds the image.
func (p *Provider) HasImage(ctx context.Context, name string) (bool, error) {
	ctx, cancel := questioning(ctx)
	defer cancel()
	_, err := p.engine.ImageInspect(ctx, name)
	switch {
	case err == nil:
		return true, nil
	case cerrdefs.IsNotFound(err):
		return false, nil
	}
	return false, p.explain(fmt.Errorf("inspect image %s: %w", name, err))
}

// EnsureImage makes the spec's image, and those of its companions, present: each is
// there, or is built, or pulled.
func (p *Provider) EnsureImage(ctx context.Context, spec sandbox.Spec) error {
	if spec.Beside != nil {
		for _, c := range spec.Beside.Companions {
			if err := p.ensure(ctx, sandbox.Spec{Image: c.Image, Build: c.Build, Progress: spec.Progress}); err != nil {
				return fmt.Errorf("companion %s: %w", c.Name, err)
			}
		}
	}
	return p.ensure(ctx, spec)
}

func (p *Provider) ensure(ctx context.Context, spec sandbox.Spec) error {
	if spec.From != "" {
		have, err := p.HasImage(ctx, spec.From)
		if err == nil && !have {
			err = fmt.Errorf("snapshot %s is no longer there", spec.From)
		}
		return err
	}
	if spec.Image == "" {
		return errors.New("the task names no image: set one (docker_image in task.toml, image in a row) or give it an environment/Dockerfile")
	}
	have, err := p.HasImage(ctx, spec.Image)
	if err != nil || have {
		return err
	}
	return p.images.do(ctx, p.ctx, spec.Image, spec.Progress, func(ctx context.Context, progress func(string)) error {
		// Another flight may have landed between the look above and this one.
		if have, err := p.HasImage(ctx, spec.Image); err != nil || have {
			return err
		}
		if spec.Build != nil {
			return p.build(ctx, spec.Image, *spec.Build, progress)
		}
		if err := p.pull(ctx, spec.Image, progress); err != nil {
			return err
		}
		return p.notePulled(ctx, spec.Image)
	})
}

// flights makes concurrent requests for one image share the work.
type flights struct {
	mu      sync.Mutex
	running map[string]*flight
	wg      sync.WaitGroup
}

// flight is one build or pull. It goes on while anyone waits for it.
type flight struct {
	done    chan struct{} // closed once err is set
	err     error
	cancel  context.CancelFunc
	waiting int // guarded by flights.mu
	next    int // guarded by flights.mu

	mu    sync.Mutex           // guards watch, also while its functions run
	watch map[int]func(string) // who wants progress
}

// do runs work once for all who ask for the same key at the same time. Each
// gets its progress and its error; a caller whose ctx ends leaves, and the work
// stops with the last one, or when life ends.
func (f *flights) do(ctx, life context.Context, key string, progress func(string), work func(context.Context, func(string)) error) error {
	f.mu.Lock()
	fl := f.running[key]
	begin := func() {}
	if fl == nil {
		fl, begin = f.prepare(life, key, work)
	}
	fl.waiting++
	id := fl.next
	fl.next++
	f.mu.Unlock()
	fl.listen(id, progress)
	begin() // not before: its first words would be lost
	var err error
	select {
	case <-fl.done:
		err = fl.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	fl.listen(id, nil) // from here on progress is not called
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl.waiting--; fl.waiting == 0 {
		fl.cancel()
		if f.running[key] == fl { // whoever comes now starts anew
			delete(f.running, key)
		}
	}
	return err
}

func (f *flights) prepare(life context.Context, key string, work func(context.Context, func(string)) error) (*flight, func()) {
	ctx, cancel := context.WithCancel(life)
	fl := &flight{done: make(chan struct{}), cancel: cancel, watch: map[int]func(string){}}
	if f.running == nil {
		f.running = map[string]*flight{}
	}
	f.running[key] = fl
	return fl, func() {
		f.wg.Go(func() {
			defer close(fl.done)
			defer cancel()
			fl.err = work(ctx, fl.tell)
		})
	}
}

// listen sets who hears of progress under id; nil takes it out.
func (fl *flight) listen(id int, progress func(string)) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if progress == nil {
		delete(fl.watch, id)
		return
	}
	fl.watch[id] = progress
}

func (fl *flight) tell(line string) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for _, progress := range fl.watch {
		progress(line)
	}
}

func (f *flights) wait() { f.wg.Wait() }
