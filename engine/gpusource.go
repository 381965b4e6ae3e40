package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"rollbench/engine/infer"
)

// How often a source of GPUs is looked at.
const (
	gpuEvery = 2 * time.Second // while it answers at once
	gpuRest  = time.Minute     // at most between two looks, also of one that fails
	gpuLimit = 5 * time.Second // a look is ended after it
	gpuGrace = 2 * time.Second // what does not even end then is left alone
	gpuShare = 10              // a slow source is asked a tenth of the time at most
	gpuPage  = 4 << 20         // bytes of an exporter's page
)

// errNoSource: there is nothing to ask on this machine. It is no failure.
var errNoSource = errors.New("not there")

// gpuSource is one place where GPUs are seen. Only its own goroutine looks; there
// is never more than one look at once, however long that takes.
type gpuSource struct {
	name string
	look func(ctx context.Context) ([]GPU, error)

	under chan gpuAnswer // the look under way, nil: none
	told  bool           // that it fails

	mu   sync.Mutex // guards seen
	seen []GPU
}

type gpuAnswer struct {
	gpus []GPU
	err  error
}

func (s *gpuSource) gpus() []GPU {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// watch until ctx ends. tell is called once, with why the source fails.
func (s *gpuSource) watch(ctx context.Context, tell func(string)) {
	wait := time.Duration(0)
	for {
		began := time.Now()
		gpus, err := s.ask(ctx)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err == nil:
			s.saw(gpus)
		case errors.Is(err, errNoSource):
			s.saw(nil)
		default:
			s.saw(unknown(s.gpus()))
			if !s.told {
				s.told = true
				tell(fmt.Sprintf("%s does not say how GPUs are, they are N/A until it does: %s", s.name, line(err)))
			}
		}
		wait = nextLook(wait, time.Since(began), err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// nextLook is how long to leave a source alone after a look that took so long.
func nextLook(before, took time.Duration, err error) time.Duration {
	switch {
	case errors.Is(err, errNoSource):
		return gpuRest
	case err != nil:
		return min(max(2*before, 2*gpuEvery), gpuRest)
	}
	return min(max(gpuEvery, gpuShare*took), gpuRest)
}

// ask looks, or waits on for the look that has not ended yet. One that ignores its
// limit (a process in the kernel's hands) delays nobody but this source.
func (s *gpuSource) ask(ctx context.Context) ([]GPU, error) {
	if s.under == nil {
		answer := make(chan gpuAnswer, 1)
		s.under = answer
		go func() {
			own, cancel := context.WithTimeout(ctx, gpuLimit)
			defer cancel()
			gpus, err := s.look(own)
			answer <- gpuAnswer{gpus, err}
		}()
	}
	select {
	case a := <-s.under:
		s.under = nil
		return a.gpus, a.err
	case <-time.After(gpuLimit + gpuGrace):
		return nil, fmt.Errorf("no answer within %v", gpuLimit)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *gpuSource) saw(gpus []GPU) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = gpus
}

// unknown are the same GPUs, with no number: what they were is not what they are.
func unknown(gpus []GPU) []GPU {
	out := slices.Clone(gpus)
	for i := range out {
		g := &out[i]
		g.Util, g.UsedMB, g.Watts, g.Celsius = nil, nil, nil, nil
	}
	return out
}

// gpuSources of a run: this machine's, and the DCGM exporters of the configuration.
func gpuSources(c GPUs, client *http.Client) []*gpuSource {
	all := []*gpuSource{{name: "nvidia-smi", look: nvidia}}
	for _, page := range c.DCGM {
		all = append(all, &gpuSource{name: "the DCGM exporter at " + page, look: func(ctx context.Context) ([]GPU, error) { return dcgm(ctx, client, page) }})
	}
	return all
}

// dcgm reads the page of an exporter.
func dcgm(ctx context.Context, client *http.Client, page string) ([]GPU, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		var what *url.Error // it repeats the page, which stands before it
		if errors.As(err, &what) {
			err = what.Err
		}
		return nil, fmt.Errorf("%w; is the exporter up?", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the page answers %s", resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, gpuPage+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the page: %w", err)
	case len(text) > gpuPage:
		return nil, fmt.Errorf("the page has more than %d MiB", gpuPage>>20)
	}
	gpus := infer.ReadGPUs(text)
	if len(gpus) == 0 && !strings.Contains(string(text), "DCGM_FI_") {
		return nil, errors.New("the page holds no metric of a DCGM exporter (DCGM_FI_DEV_…)")
	}
	return withHost(gpus, hostIn(page)), nil
}
