package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"rollbench/engine/infer"
)

// Endpoints of a run. They serve the same policy.
type Endpoints []Server

// UnmarshalJSON reads what a session recorded: a list, or the one table that
// stood there before there were lists. Keys that it did not know stay as they
// are in the first endpoint.
func (e *Endpoints) UnmarshalJSON(data []byte) error {
	base := Server{Weight: 1}
	if len(*e) > 0 {
		base = (*e)[0]
	}
	var raw []json.RawMessage
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '{' {
		raw = []json.RawMessage{data}
	} else if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	list := make(Endpoints, len(raw))
	for i := range raw {
		list[i] = base
		if err := json.Unmarshal(raw[i], &list[i]); err != nil {
			return err
		}
	}
	*e = list
	return nil
}

// Check says which endpoint is wrong, counted from 0, and what it may be.
func (e Endpoints) Check() (at int, err error) {
	if len(e) == 0 {
		return 0, errors.New("there is no [endpoint]")
	}
	before := map[string]int{}
	for i, s := range e {
		twin, twice := before[plainURL(s.URL)]
		before[plainURL(s.URL)] = i
		switch {
		case !(s.Weight > 0 && s.Weight <= 1e6):
			return i, fmt.Errorf("endpoint.weight is %v: use a number above 0, at most 1000000", s.Weight)
		case s.Retries < 0:
			return i, fmt.Errorf("endpoint.retries is %d: it must not be negative", s.Retries)
		case s.Request == 0 || s.Idle == 0:
			return i, errors.New("endpoint.request_timeout and endpoint.idle_timeout must be above 0: a call without a limit can hang a run")
		case len(e) > 1 && s.URL == "":
			return i, fmt.Errorf("endpoint %d of %d has no endpoint.url: several endpoints need one each", i+1, len(e))
		case twice:
			return i, fmt.Errorf("endpoint.url of endpoint %d is that of endpoint %d: write it once, with a higher endpoint.weight", i+1, twin+1)
		}
	}
	return 0, nil
}

// plainURL is the same for URLs of the same server.
func plainURL(text string) string {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil { // the client will say what is wrong with it
		return text
	}
	path := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1")
	return strings.ToLower(u.Scheme+"://"+u.Host) + strings.TrimRight(path, "/")
}

func (e Endpoints) outage() time.Duration {
	longest := Duration(0)
	for _, s := range e {
		longest = max(longest, s.Outage)
	}
	return time.Duration(longest)
}

// Upstream is an endpoint that was opened and probed.
type Upstream struct {
	Client       *infer.Client
	Capabilities infer.Capabilities
	Weight       float64 // above 0
	Streaming    bool
}

// Agree is what all endpoints of a run can do, or in what they differ: they must
// serve the same model, and give the same for training.
func Agree(all []Upstream) (infer.Capabilities, error) {
	first := all[0]
	common := first.Capabilities
	servers, versions := []string{common.Server}, []string{common.Version}
	for _, u := range all[1:] {
		c := u.Capabilities
		if a, b := first.Client.Model(), u.Client.Model(); a != b {
			return common, fmt.Errorf("endpoint %s serves %s and endpoint %s %s: all endpoints of a run serve one model", first.Client.URL(), a, u.Client.URL(), b)
		}
		if what := differ(first.Capabilities, c); what != "" {
			return common, fmt.Errorf("endpoints %s and %s differ in %s: all endpoints of a run must give the same", first.Client.URL(), u.Client.URL(), what)
		}
		common.Metrics = common.Metrics && c.Metrics
		if common.LogprobsMode == "" {
			common.LogprobsMode = c.LogprobsMode
		}
		if n := c.MaxModelLen; n > 0 && (common.MaxModelLen == 0 || n < common.MaxModelLen) {
			common.MaxModelLen = n
		}
		servers, versions = append(servers, c.Server), append(versions, c.Version)
	}
	common.Server, common.Version = distinct(servers), distinct(versions)
	return common, nil
}

// differ names the first ability that one of two endpoints lacks.
func differ(a, b infer.Capabilities) string {
	for _, k := range []struct {
		what string
		a, b bool
	}{
		{"being simulated", a.Simulated, b.Simulated}, {"chat", a.Chat, b.Chat}, {"token ids", a.TokenIDs, b.TokenIDs}, {"logprobs", a.Logprobs, b.Logprobs},
		{"continuing token ids", a.Complete != "", b.Complete != ""}, {"/tokenize", a.Tokenize, b.Tokenize},
	} {
		if k.a != k.b {
			return k.what
		}
	}
	if a.LogprobsMode != "" && b.LogprobsMode != "" && a.LogprobsMode != b.LogprobsMode {
		return fmt.Sprintf("their logprobs (%s and %s)", a.LogprobsMode, b.LogprobsMode)
	}
	return ""
}

func distinct(names []string) string {
	slices.Sort(names)
	return strings.Join(slices.Compact(names), "+")
}

// Total is what the endpoints report together: sums, of the KV use the fullest
// one's, of the prefix hits the mean. nil where none reports it.
func (s *Status) Total() infer.Gauges {
	sum := func(get func(*infer.Gauges) *float64) *float64 { return over(s.Endpoints, get, add) }
	return infer.Gauges{
		Running:       sum(func(g *infer.Gauges) *float64 { return g.Running }),
		Waiting:       sum(func(g *infer.Gauges) *float64 { return g.Waiting }),
		TokensPerSec:  sum(func(g *infer.Gauges) *float64 { return g.TokensPerSec }),
		Preemptions:   sum(func(g *infer.Gauges) *float64 { return g.Preemptions }),
		KVUse:         over(s.Endpoints, func(g *infer.Gauges) *float64 { return g.KVUse }, func(a, b float64) float64 { return max(a, b) }),
		PrefixHitRate: mean(s.Endpoints, func(g *infer.Gauges) *float64 { return g.PrefixHitRate }),
	}
}

// Up is how many endpoints are healthy.
func (s *Status) Up() int {
	n := 0
	for i := range s.Endpoints {
		if s.Endpoints[i].Healthy {
			n++
		}
	}
	return n
}

func add(a, b float64) float64 { return a + b }

// over joins a gauge of the endpoints that report it, nil when none does.
func over(seen []Endpoint, get func(*infer.Gauges) *float64, join func(a, b float64) float64) *float64 {
	var out *float64
	for i := range seen {
		if seen[i].Gauges == nil {
			continue
		}
		v := get(seen[i].Gauges)
		switch {
		case v == nil:
		case out == nil:
			first := *v
			out = &first
		default:
			*out = join(*out, *v)
		}
	}
	return out
}

func mean(seen []Endpoint, get func(*infer.Gauges) *float64) *float64 {
	sum := over(seen, get, add)
	n := over(seen, func(g *infer.Gauges) *float64 {
		if get(g) == nil {
			return nil
		}
		one := 1.0
		return &one
	}, add)
	if sum != nil {
		*sum /= *n
	}
	return sum
}
