package infer

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// said is a GPU in a line; – is not reported.
func said(g GPU) string {
	n := func(v *float64) string {
		if v == nil {
			return "–"
		}
		return fmt.Sprint(*v)
	}
	return fmt.Sprintf("%s:%d/%s %s %s util %s mem %s/%s W %s C %s", g.Host, g.Index, g.Part, g.UUID, g.Name, n(g.Util), n(g.UsedMB), n(g.TotalMB), n(g.Watts), n(g.Celsius))
}

// A page of the DCGM exporter: utilisation in shares, memory as used + free +
// reserved, blanks not reported, MIG instances beside their GPU.
func TestReadGPUs(t *testing.T) {
	page, err := os.ReadFile("testdata/dcgm-exporter.prom")
	if err != nil {
		t.Fatal(err)
	}
	const h100 = "NVIDIA H100 80GB HBM3"
	const a, b = "GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e52", "GPU-c2f76b33-7953-256e-8f33-1343419b1a1c"
	for _, c := range []struct {
		name, page string
		want       []string
	}{
		{"dcgm", string(page), []string{
			"node3:0/ " + a + " " + h100 + " util 0.93 mem 72704/81559 W 612.412 C 64",
			"node3:1/ " + b + " " + h100 + " util – mem –/– W – C 58",
			"node3:1/1 " + b + " " + h100 + " util 0.25 mem 10000/40000 W – C –",
		}},
		{"triton", `nv_gpu_utilization{gpu_uuid="GPU-x"} 0.5
nv_gpu_memory_used_bytes{gpu_uuid="GPU-x"} 1073741824
nv_gpu_memory_total_bytes{gpu_uuid="GPU-x"} 2147483648.000000
nv_gpu_power_usage{gpu_uuid="GPU-x"} 33.25
nv_gpu_power_limit{gpu_uuid="GPU-x"} 250`, []string{":-1/ GPU-x  util 0.5 mem 1024/2048 W 33.25 C –"}},
		{"nim, milliwatts", "gpu_power_usage_watts{device_id=\"2\"} 64950\ngpu_utilization{device_id=\"2\"} 0", []string{":2/   util 0 mem –/– W – C –"}},
		{"out of bounds", `DCGM_FI_DEV_GPU_UTIL{gpu="0"} 2147483632` + "\n" + `DCGM_FI_DEV_GPU_TEMP{gpu="0"} NaN` + "\n" + `DCGM_FI_DEV_FB_USED{gpu="0"} 5`, []string{":0/   util – mem 5/– W – C –"}},
		{"lower case labels, escapes", `DCGM_FI_DEV_GPU_UTIL{gpu="3", hostname="a\"b\\c",pod="x,y}"} 7`, []string{`a"b\c:3/   util 0.07 mem –/– W – C –`}},
		{"no GPU", "vllm:num_requests_running 3\nup 1", nil},
		{"broken", "DCGM_FI_DEV_GPU_UTIL{gpu=\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\nDCGM_FI_DEV_GPU_UTIL\n", nil},
		{"no labels", "DCGM_FI_DEV_GPU_UTIL{gpu=} 1", []string{":-1/   util 0.01 mem –/– W – C –"}},
	} {
		var got []string
		for _, g := range ReadGPUs([]byte(c.page)) {
			got = append(got, said(g))
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// What an endpoint's own page tells of GPUs is kept beside its gauges.
func TestScrapeGPUs(t *testing.T) {
	client, _ := fakeClient(t, Options{}, func(int, *http.Request) (*http.Response, error) {
		return respond(200, strings.NewReader("vllm:num_requests_running 1\nDCGM_FI_DEV_GPU_TEMP{gpu=\"1\",UUID=\"GPU-x\"} 50")), nil
	})
	if _, err := client.Scrape(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g := client.GPUs(); len(g) != 1 || g[0].Index != 1 || *g[0].Celsius != 50 {
		t.Errorf("%+v", g)
	}
}

// No page makes more GPUs than it has lines, or a number out of bounds.
func FuzzReadGPUs(f *testing.F) {
	page, err := os.ReadFile("testdata/dcgm-exporter.prom")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(page)
	f.Add([]byte(`nv_gpu_utilization{gpu_uuid="GPU-x"} 0.5`))
	f.Add([]byte(`DCGM_FI_DEV_GPU_TEMP{gpu="99999999999999999999",x="\`))
	f.Fuzz(func(t *testing.T, page []byte) {
		gpus := ReadGPUs(page)
		if n := strings.Count(string(page), "\n") + 1; len(gpus) > n {
			t.Errorf("%d GPUs in %d lines", len(gpus), n)
		}
		for _, g := range gpus {
			if g.Index < -1 || g.Util != nil && !(*g.Util >= 0 && *g.Util <= 1) || g.Watts != nil && !(*g.Watts >= 0 && *g.Watts <= 5000) || g.TotalMB != nil && !(*g.TotalMB >= 0 && *g.TotalMB <= 3e8) {
				t.Errorf("%s", said(g))
			}
		}
	})
}
