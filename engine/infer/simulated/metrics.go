package simulated

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// metrics in Prometheus text, by vLLM's names.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	labels := fmt.Sprintf(`engine="0",model_name=%q`, s.opt.Model)
	put := func(name, kind string, value float64) {
		fmt.Fprintf(&b, "# TYPE vllm:%s %s\nvllm:%s{%s} %g\n", name, kind, name, labels, value)
	}
	l := &s.load
	u := l.usage()
	if s.gpu != nil {
		u = s.gpu.usage()
	}
	put("num_requests_running", "gauge", float64(u.running))
	put("num_requests_waiting", "gauge", float64(u.waiting))
	put("kv_cache_usage_perc", "gauge", u.kv)
	put("prompt_tokens_total", "counter", float64(u.prompt))
	put("generation_tokens_total", "counter", float64(u.generated))
	put("prefix_cache_queries_total", "counter", float64(u.queries))
	put("prefix_cache_hits_total", "counter", float64(u.hits))
	put("num_preemptions_total", "counter", float64(u.preemptions))
	l.mu.Lock()
	reasons := []string{}
	for reason := range l.finished {
		reasons = append(reasons, reason)
	}
	slices.Sort(reasons)
	fmt.Fprintf(&b, "# TYPE vllm:request_success_total counter\n")
	for _, reason := range reasons {
		fmt.Fprintf(&b, "vllm:request_success_total{%s,finished_reason=%q} %d\n", labels, reason, l.finished[reason])
	}
	l.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	write(w, []byte(b.String()))
}
