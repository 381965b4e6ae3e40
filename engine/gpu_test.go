package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rollbench/sessions"
)

func said(g GPU) string {
	n := func(v *float64) string {
		if v == nil {
			return "–"
		}
		return fmt.Sprint(*v)
	}
	return fmt.Sprintf("%s:%d %s %s util %s mem %s/%s W %s C %s", g.Host, g.Index, g.UUID, g.Name, n(g.Util), n(g.UsedMB), n(g.TotalMB), n(g.Watts), n(g.Celsius))
}

func saidAll(gpus []GPU) string {
	lines := make([]string, len(gpus))
	for i, g := range gpus {
		lines[i] = said(g)
	}
	return strings.Join(lines, "\n")
}

// Lines in the form of nvidia-smi's --format=csv,noheader,nounits.
func TestParseNvidia(t *testing.T) {
	got := saidAll(parseNvidia("0, GPU-a, 93, 72704, 81559, 612.41, 64, NVIDIA H100 80GB HBM3\n" +
		"1, GPU-b, [N/A], 10, 23028, [Not Supported], [Unknown Error], NVIDIA A10, odd\n" +
		"2, [N/A], 101, -1, 0, 1e9, 900, \n" +
		"-1, GPU-c, 1, 1, 1, 1, 1, X\nno line\n3, GPU-d, 1\n"))
	want := ":0 GPU-a NVIDIA H100 80GB HBM3 util 0.93 mem 72704/81559 W 612.41 C 64\n" +
		":1 GPU-b NVIDIA A10,odd util – mem 10/23028 W – C –\n" +
		":2   util – mem –/– W – C –"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func FuzzParseNvidia(f *testing.F) {
	f.Add("0, GPU-x, 1, 2, 3, 4, 5, X\n")
	f.Add("a, b, c, d, e, f, \"g")
	f.Fuzz(func(t *testing.T, text string) {
		gpus := parseNvidia(text)
		if n := len(gpus); n > strings.Count(text, "\n")+strings.Count(text, "\r")+1 {
			t.Errorf("%d GPUs out of %q", n, text)
		}
		for _, g := range gpus {
			if g.Index < 0 || g.Util != nil && !(*g.Util >= 0 && *g.Util <= 1) {
				t.Errorf("%s", said(g))
			}
		}
	})
}

// A GPU that several sources see is one; what an earlier one does not say is taken
// from a later one; GPUs of no known index are counted on.
func TestMergeGPUs(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	smi := []GPU{{Host: "box", Index: 0, UUID: "GPU-a", Name: "H100", Util: v(0.9)}, {Host: "box", Index: 1, Name: "old"}}
	dcgm := []GPU{{Host: "pod-7", Index: 0, UUID: "GPU-a", Util: v(0.8), Celsius: v(60)}, {Host: "node3", Index: 0, UUID: "GPU-b", Watts: v(300)},
		{Host: "node3", Index: 0, UUID: "GPU-b", Part: "1", Util: v(0.2)}}
	endpoint := []GPU{{Host: "node3", Index: -1, UUID: "GPU-b", Util: v(0.4)}, {Host: "gpu9", Index: -1, UUID: "GPU-c"}, {Host: "gpu9", Index: -1, UUID: "GPU-d"}}
	got := saidAll(mergeGPUs(smi, dcgm, endpoint))
	want := "box:0 GPU-a H100 util 0.9 mem –/– W – C 60\nbox:1  old util – mem –/– W – C –\nnode3:0 GPU-b  util 0.4 mem –/– W 300 C –\n" +
		"node3:0 GPU-b  util 0.2 mem –/– W – C –\ngpu9:0 GPU-c  util – mem –/– W – C –\ngpu9:1 GPU-d  util – mem –/– W – C –"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if *smi[0].Util != 0.9 || smi[0].Celsius != nil {
		t.Error("a source's own list was changed")
	}
	if got := mergeGPUs(); got == nil || len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// A source that is slow is asked a tenth of the time, one that fails ever less, one
// that is not there once a minute.
func TestNextLook(t *testing.T) {
	failed := errors.New("x")
	for _, c := range []struct {
		before, took time.Duration
		err          error
		want         time.Duration
	}{
		{0, time.Millisecond, nil, 2 * time.Second},
		{2 * time.Second, 200 * time.Millisecond, nil, 2 * time.Second},
		{2 * time.Second, 500 * time.Millisecond, nil, 5 * time.Second},
		{0, 9 * time.Second, nil, time.Minute},
		{0, 0, failed, 4 * time.Second},
		{4 * time.Second, 0, failed, 8 * time.Second},
		{40 * time.Second, 0, failed, time.Minute},
		{time.Minute, time.Millisecond, nil, 2 * time.Second}, // it is well again
		{0, 0, errNoSource, time.Minute},
	} {
		if got := nextLook(c.before, c.took, c.err); got != c.want {
			t.Errorf("%v %v %v: %v, want %v", c.before, c.took, c.err, got, c.want)
		}
	}
}

// A look that never ends is never asked for twice, delays nobody, is said once, and
// what was known before is not known any more.
func TestSourceHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks, release := 0, make(chan struct{})
		v := 0.5
		s := &gpuSource{name: "nvidia-smi", look: func(context.Context) ([]GPU, error) {
			if looks++; looks == 2 {
				<-release // heeds no limit
			}
			return []GPU{{Index: 0, Util: &v}}, nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		var told []string
		over := make(chan struct{})
		go func() {
			s.watch(ctx, func(text string) { told = append(told, text) })
			close(over)
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		if g := s.gpus(); len(g) != 1 || g[0].Util == nil {
			t.Errorf("%+v", g)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if g := s.gpus(); looks != 2 || len(g) != 1 || g[0].Util != nil {
			t.Errorf("%d looks, %+v", looks, g)
		}
		if len(told) != 1 || told[0] != "nvidia-smi does not say how GPUs are, they are N/A until it does: no answer within 5s" {
			t.Errorf("%q", told)
		}
		close(release)
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if g := s.gpus(); looks < 3 || g[0].Util == nil || len(told) != 1 {
			t.Errorf("%d looks, %+v, %q", looks, g, told)
		}
		cancel()
		<-over
	})
}

// script puts an nvidia-smi of our own on PATH.
func script(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

func TestNvidia(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, script, want, fails string }{
		{"two", `[ "$1" = "--query-gpu=` + nvidiaFields + `" ] || exit 2
echo '0, GPU-a, 93, 72704, 81559, 612.41, 64, NVIDIA H100'; echo '1, GPU-b, 0, 3, 81559, 70.1, 31, NVIDIA H100'`,
			strings.ToLower(host) + ":0 GPU-a NVIDIA H100 util 0.93 mem 72704/81559 W 612.41 C 64\n" + strings.ToLower(host) + ":1 GPU-b NVIDIA H100 util 0 mem 3/81559 W 70.1 C 31", ""},
		{"no driver", "echo \"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\"; exit 9", "", "exit status 9: NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."},
		{"no devices", "echo 'No devices were found'", "", ""},
		{"something else", "echo hello", "", `its answer cannot be read: "hello"`},
		{"endless", "yes '0, GPU-a, 1, 1, 1, 1, 1' | head -c 5000000", "", `its answer cannot be read: "0, GPU-a, 1, 1, 1, 1, 1\n0, GPU-a, 1, 1, 1, 1, 1\n0, GPU-a, 1, 1, 1, 1, 1\n0, GPU-a"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			script(t, c.script)
			gpus, err := nvidia(t.Context())
			said := ""
			if err != nil {
				said = err.Error()
			}
			if saidAll(gpus) != c.want || said != c.fails {
				t.Errorf("%s, %q", saidAll(gpus), said)
			}
		})
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := nvidia(t.Context()); !errors.Is(err, errNoSource) {
		t.Errorf("without the program: %v", err)
	}
}

// One that hangs ends at its limit, also where a child holds its pipes.
func TestNvidiaHangs(t *testing.T) {
	script(t, "sleep 60 & sleep 60")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := nvidia(ctx); err == nil || err.Error() != "no answer within 5s" {
		t.Errorf("%v", err)
	}
}

func TestDCGM(t *testing.T) {
	page, err := os.ReadFile("infer/testdata/dcgm-exporter.prom")
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{"/metrics": string(page), "/nameless": "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 7", "/none": "# HELP DCGM_FI_DEV_GPU_UTIL none here", "/other": "up 1", "/big": strings.Repeat("#", gpuPage+1)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		path  string
		n     int
		first string
		fails string
	}{
		{"/metrics", 3, "node3:0 GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e52 NVIDIA H100 80GB HBM3 util 0.93 mem 72704/81559 W 612.412 C 64", ""},
		{"/nameless", 1, "127.0.0.1:0   util 0.07 mem –/– W – C –", ""},
		{"/none", 0, "", ""},
		{"/other", 0, "", "the page holds no metric of a DCGM exporter (DCGM_FI_DEV_…)"},
		{"/missing", 0, "", "the page answers 404 Not Found"},
		{"/big", 0, "", "the page has more than 4 MiB"},
	} {
		gpus, err := dcgm(t.Context(), server.Client(), server.URL+c.path)
		fails := ""
		if err != nil {
			fails = err.Error()
		}
		if len(gpus) != c.n || c.n > 0 && said(gpus[0]) != c.first || fails != c.fails {
			t.Errorf("%s: %s, %q", c.path, saidAll(gpus), fails)
		}
	}
	server.Close()
	if _, err := dcgm(t.Context(), server.Client(), server.URL); err == nil || !strings.HasSuffix(err.Error(), "connection refused; is the exporter up?") {
		t.Errorf("%v", err)
	}
}

func TestCheckGPUs(t *testing.T) {
	for text, want := range map[string]string{
		"http://node3:9400/metrics": "",
		"https://[::1]/metrics":     "",
		"node3:9400":                `gpu.dcgm_urls holds "node3:9400": write the page of a DCGM exporter, for example "http://node3:9400/metrics"`,
		"http://":                   `gpu.dcgm_urls holds "http://": write the page of a DCGM exporter, for example "http://node3:9400/metrics"`,
		"http://a:secret@node3/":    "gpu.dcgm_urls holds a name or password, which would be stored with the run: use a page that asks for none",
	} {
		got := ""
		if err := (GPUs{DCGM: []string{text}}).check(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// GPUs that an endpoint's own metrics tell of are those of its host, as long as it
// answers.
func TestEndpointGPUs(t *testing.T) {
	down := false
	f := newFleet([]Upstream{upstream(t, "gpu7:8000", func(*http.Request) (*http.Response, error) {
		if down {
			return nil, errors.New("gone")
		}
		text := gaugesOf(3, 1, 0.5, 7) + "nv_gpu_utilization{gpu_uuid=\"GPU-x\"} 0.25\n"
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(text))}, nil
	})})
	e := &Engine{fleet: f, gpus: []*gpuSource{{name: "none"}}}
	f.look(t.Context(), 0)
	if got := saidAll(e.seeGPUs()); got != "gpu7:0 GPU-x  util 0.25 mem –/– W – C –" {
		t.Errorf("%s", got)
	}
	if n := f.snapshot()[0].Errors; n != 0 {
		t.Errorf("%d errors", n)
	}
	down = true
	f.look(t.Context(), 0)
	if got := e.seeGPUs(); len(got) != 0 {
		t.Errorf("it is down, and %s", saidAll(got))
	}
}

// A run sees this machine's GPUs by nvidia-smi; one that fails is a warning, once.
func TestRunSeesGPUs(t *testing.T) {
	for _, c := range []struct {
		script string
		seen   func(r *rig) bool
	}{
		{"echo '0, GPU-a, 50, 1, 2, 3, 40, X'", func(r *rig) bool {
			g := r.Status().GPUs
			return len(g) == 1 && *g[0].Util == 0.5 && *g[0].Celsius == 40
		}},
		{"exit 9", func(r *rig) bool {
			warned := r.said(sessions.KindWarning)
			return len(warned) == 1 && strings.Contains(warned[0], "nvidia-smi does not say how GPUs are, they are N/A until it does: exit status 9")
		}},
	} {
		script(t, c.script)
		r := setup(t, 1, nil).engine()
		if err := r.Pause(r.store.Run().Members[0]); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- r.Run(t.Context()) }()
		r.until(c.script, func() bool { return c.seen(r) })
		r.Stop()
		<-done
	}
}
