package infer

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"strings"
	"time"
)

// sample is one metric over all engines of an endpoint.
type sample struct {
	sum   float64
	count int
}

// counters of a scrape that the next one is compared with. NaN: not reported.
type counters struct {
	at                       time.Time
	generated, queries, hits float64
}

// Scrape reads the endpoint's /metrics. Rates come from the difference to the
// scrape before, so they are absent the first time and after a restart.
func (c *Client) Scrape(ctx context.Context) (Gauges, error) {
	data, err := c.get(ctx, "/metrics")
	if err != nil {
		return Gauges{}, err
	}
	found, known := readMetrics(data)
	if !known {
		return Gauges{}, c.fault(BadRequest, "/metrics holds no metric of vLLM or SGLang", nil)
	}
	g := Gauges{
		At:      time.Now(),
		Running: found.total("vllm:num_requests_running", "sglang:num_running_reqs", "llamacpp:requests_processing"),
		Waiting: found.total("vllm:num_requests_waiting", "sglang:num_queue_reqs", "llamacpp:requests_deferred"),
		KVUse:   found.mean("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"),
		Preemptions: found.total("vllm:num_preemptions_total", "vllm:num_preemptions",
			"sglang:num_retracted_reqs"),
	}
	now := counters{
		at:        g.At,
		generated: value(found.total("vllm:generation_tokens_total", "vllm:generation_tokens", "sglang:generation_tokens_total", "llamacpp:tokens_predicted_total")),
		queries:   value(found.total("vllm:prefix_cache_queries_total", "vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries")),
		hits:      value(found.total("vllm:prefix_cache_hits_total", "vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits")),
	}
	gpus := ReadGPUs(data)
	c.scrapes.Lock()
	before := c.last
	c.last, c.gpus = now, gpus
	c.scrapes.Unlock()
	g.TokensPerSec, g.PrefixHitRate = now.rates(before)
	if g.TokensPerSec == nil && math.IsNaN(now.generated) {
		g.TokensPerSec = found.total("sglang:gen_throughput")
	}
	if g.PrefixHitRate == nil && math.IsNaN(now.queries) {
		g.PrefixHitRate = found.mean("sglang:cache_hit_rate")
	}
	return g, nil
}

// rates since the scrape before; nil where a counter is missing, went back, or
// no time or no query lies between.
func (now counters) rates(before counters) (tokens, hits *float64) {
	if before.at.IsZero() {
		return nil, nil
	}
	if seconds := now.at.Sub(before.at).Seconds(); seconds > 0 {
		if d := now.generated - before.generated; d >= 0 { // false for NaN
			rate := d / seconds
			tokens = &rate
		}
	}
	queries, found := now.queries-before.queries, now.hits-before.hits
	if queries > 0 && found >= 0 {
		rate := min(1, found/queries)
		hits = &rate
	}
	return tokens, hits
}

func value(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

// metricSet by name, in the form vllm:…, sglang:…, llamacpp:….
type metricSet map[string]sample

// total over all engines of the first name that is there.
func (m metricSet) total(names ...string) *float64 {
	for _, name := range names {
		if s, ok := m[name]; ok {
			return &s.sum
		}
	}
	return nil
}

func (m metricSet) mean(names ...string) *float64 {
	for _, name := range names {
		if s, ok := m[name]; ok {
			mean := s.sum / float64(s.count)
			return &mean
		}
	}
	return nil
}

// readMetrics parses Prometheus text. Lines that are not a sample of a server
// we know are skipped, and so are NaN and infinite values. known: at least one
// was found.
func readMetrics(text []byte) (found metricSet, known bool) {
	found = metricSet{}
	for line := range bytes.Lines(text) {
		name, value, ok := readSample(strings.TrimSpace(string(line)))
		if !ok {
			continue
		}
		s := found[name]
		s.sum += value
		s.count++
		found[name] = s
	}
	return found, len(found) > 0
}

// readSample is a sample of a server we know, its name as metricName has it.
func readSample(line string) (name string, value float64, ok bool) {
	name, _, value, ok = splitSample(line)
	if !ok {
		return "", 0, false
	}
	name, ok = metricName(name)
	return name, value, ok
}

// splitSample splits `name{labels} value [timestamp]`. A label's value may hold
// braces and spaces within its quotes.
func splitSample(line string) (name, labels string, value float64, ok bool) {
	end := strings.IndexAny(line, "{ \t")
	if end <= 0 || line[0] == '#' {
		return "", "", 0, false
	}
	rest := line[end:]
	if rest[0] == '{' {
		close := labelsEnd(rest)
		if close < 0 {
			return "", "", 0, false
		}
		labels, rest = rest[1:close], rest[close+1:]
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 || len(fields) > 2 {
		return "", "", 0, false
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
		return "", "", 0, false
	}
	return line[:end], labels, value, true
}

// labelsEnd is the index of the brace that closes the labels, -1 for none.
func labelsEnd(labels string) int {
	quoted := false
	for i := 0; i < len(labels); i++ {
		switch labels[i] {
		case '\\':
			if quoted {
				i++
			}
		case '"':
			quoted = !quoted
		case '}':
			if !quoted {
				return i
			}
		}
	}
	return -1
}

// metricName undoes Ray's renaming (ray_vllm_x for vllm:x).
func metricName(name string) (string, bool) {
	for _, server := range []string{"vllm", "sglang", "llamacpp"} {
		if strings.HasPrefix(name, server+":") {
			return name, true
		}
		if rest, ok := strings.CutPrefix(name, "ray_"+server+"_"); ok {
			return server + ":" + rest, true
		}
	}
	return "", false
}
