package engine

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"rollbench/engine/infer"
)

// GPU as nvidia-smi, a DCGM exporter or an endpoint reports it. nil is N/A.
type GPU = infer.GPU

// GPUs is where the run looks for GPUs besides this machine and its endpoints.
type GPUs struct {
	DCGM []string `toml:"dcgm_urls" json:"dcgm_urls,omitempty"`
}

func (g GPUs) check() error {
	for _, text := range g.DCGM {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			return fmt.Errorf("gpu.dcgm_urls holds %q: write the page of a DCGM exporter, for example \"http://node3:9400/metrics\"", text)
		case u.User != nil:
			return errors.New("gpu.dcgm_urls holds a name or password, which would be stored with the run: use a page that asks for none")
		}
	}
	return nil
}

// seeGPUs are those of all sources: each GPU once, with what any of them says.
func (e *Engine) seeGPUs() []GPU {
	lists := make([][]GPU, 0, len(e.gpus)+1)
	for _, s := range e.gpus {
		lists = append(lists, s.gpus())
	}
	return mergeGPUs(append(lists, e.fleet.gpus())...)
}

// mergeGPUs puts GPUs with the same UUID together: what an earlier list does not
// say is taken from a later one. Those whose index nobody says are counted on
// within their host.
func mergeGPUs(lists ...[]GPU) []GPU {
	out, at := []GPU{}, map[string]int{}
	for _, list := range lists {
		for _, g := range list {
			id := g.UUID + "\x00" + g.Part
			i, known := at[id]
			if g.UUID == "" || !known {
				if g.UUID != "" {
					at[id] = len(out)
				}
				out = append(out, g)
				continue
			}
			out[i] = fillGPU(out[i], g)
		}
	}
	next := map[string]int{}
	for _, g := range out {
		next[g.Host] = max(next[g.Host], g.Index+1)
	}
	for i := range out {
		if g := &out[i]; g.Index < 0 {
			g.Index = next[g.Host]
			next[g.Host]++
		}
	}
	return out
}

// fillGPU takes from b what a does not say.
func fillGPU(a, b GPU) GPU {
	a.Host, a.Name = cmp.Or(a.Host, b.Host), cmp.Or(a.Name, b.Name)
	if a.Index < 0 {
		a.Index = b.Index
	}
	a.Util, a.UsedMB, a.TotalMB = cmp.Or(a.Util, b.Util), cmp.Or(a.UsedMB, b.UsedMB), cmp.Or(a.TotalMB, b.TotalMB)
	a.Watts, a.Celsius = cmp.Or(a.Watts, b.Watts), cmp.Or(a.Celsius, b.Celsius)
	return a
}

// withHost names the host of GPUs whose source does not say it.
func withHost(gpus []GPU, host string) []GPU {
	for i := range gpus {
		gpus[i].Host = cmp.Or(gpus[i].Host, host)
	}
	return gpus
}

// hostIn a URL, without its port.
func hostIn(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}
