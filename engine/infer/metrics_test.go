package infer

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func show(p *float64) any {
	if p == nil {
		return nil
	}
	return *p
}

// Two scrapes 10 s apart; the rates are worked out by hand.
func TestScrape(t *testing.T) {
	cases := []struct {
		name          string
		first, second string
		want          [6]any // running, waiting, KV use, tokens/s, hit rate, preemptions
	}{
		{"vllm", `
# HELP vllm:num_requests_running Number of requests.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a } b"} 3.0
vllm:generation_tokens_total{engine="0",model_name="m"} 100.0
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 1000.0
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 10.0`, `
vllm:num_requests_running{engine="0",model_name="a } b"} 4.0
vllm:num_requests_running{engine="1",model_name="say \"hi\" {"} 2.0 1790000000
vllm:num_requests_waiting{engine="0"} 7
vllm:num_requests_waiting_by_reason{engine="0"} 99
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.75
vllm:generation_tokens_total{engine="0",model_name="m"} 350.0
vllm:generation_tokens_created{engine="0",model_name="m"} 1.79e9
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 1.4e3
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 310.0
vllm:num_preemptions_total{engine="0"} 5`, [6]any{6.0, 7.0, 0.5, 25.0, 0.75, 5.0}},
		{"older names", "vllm:gpu_cache_usage_perc 0.5\nvllm:gpu_prefix_cache_queries 0\nvllm:gpu_prefix_cache_hits 0",
			"vllm:gpu_cache_usage_perc 0.125\nvllm:gpu_prefix_cache_queries 8\nvllm:gpu_prefix_cache_hits 2", [6]any{nil, nil, 0.125, nil, 0.25, nil}},
		{"through ray", "ray_vllm_generation_tokens_total{a=\"b\"} 10", "ray_vllm_generation_tokens_total{a=\"b\"} 20\nray_vllm_num_requests_running 1\nray_other_metric 5",
			[6]any{1.0, nil, nil, 1.0, nil, nil}},
		{"sglang", "sglang:num_running_reqs 1", "sglang:num_running_reqs{m=\"x\"} 2\nsglang:num_queue_reqs 3\nsglang:token_usage 0.4\nsglang:gen_throughput 55.5\nsglang:cache_hit_rate 0.9",
			[6]any{2.0, 3.0, 0.4, 55.5, 0.9, nil}},
		{"sglang counters", "sglang:generation_tokens_total{is_streaming=\"a\"} 10\nsglang:generation_tokens_total{is_streaming=\"b\"} 10",
			"sglang:generation_tokens_total{is_streaming=\"a\"} 20\nsglang:generation_tokens_total{is_streaming=\"b\"} 40\nsglang:gen_throughput 9", [6]any{nil, nil, nil, 4.0, nil, nil}},
		{"restarted", "vllm:generation_tokens_total 500\nvllm:prefix_cache_queries_total 9\nvllm:prefix_cache_hits_total 9",
			"vllm:generation_tokens_total 1\nvllm:prefix_cache_queries_total 9\nvllm:prefix_cache_hits_total 9", [6]any{nil, nil, nil, nil, nil, nil}},
		{"not numbers", "vllm:num_requests_running 1", "vllm:num_requests_running NaN\nvllm:num_requests_waiting +Inf\nvllm:kv_cache_usage_perc x\nvllm:num_preemptions_total 0",
			[6]any{nil, nil, nil, nil, nil, 0.0}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, _ := fakeClient(t, Options{}, func(n int, _ *http.Request) (*http.Response, error) {
					return respond(200, strings.NewReader([]string{c.first, c.second}[n-1])), nil
				})
				g, err := client.Scrape(t.Context())
				if err != nil || g.PrefixHitRate != nil {
					t.Errorf("first scrape: %+v, %v", g, err)
				}
				<-time.After(10 * time.Second) // of the bubble's clock
				if g, err = client.Scrape(t.Context()); err != nil {
					t.Fatal(err)
				}
				got := [6]any{show(g.Running), show(g.Waiting), show(g.KVUse), show(g.TokensPerSec), show(g.PrefixHitRate), show(g.Preemptions)}
				if got != c.want {
					t.Errorf("got %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestScrapeOfSomethingElse(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.Write([]byte("<html>go_goroutines 5</html>")); err != nil {
			t.Error(err)
		}
	})
	_, err := client.Scrape(t.Context())
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, "no metric of vLLM or SGLang") {
		t.Errorf("got %v", err)
	}
}

func FuzzMetrics(f *testing.F) {
	f.Add([]byte("vllm:a{b=\"c\\\"}\"} 1 2\n# x\nray_vllm_x NaN\nsglang:y{ 1"))
	f.Add([]byte("vllm:num_requests_running{engine=\"0\"} 1e308\nvllm:num_requests_running 1e308\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, known := readMetrics(data)
		if known != (len(found) > 0) {
			t.Fatal("known without a sample")
		}
		for name, s := range found {
			if s.count < 1 || !strings.Contains(name, ":") {
				t.Fatalf("%q: %+v", name, s)
			}
		}
	})
}
