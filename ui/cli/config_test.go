package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func testApp(t *testing.T) *app {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	defaults, err := os.ReadFile("../../config.toml")
	if err != nil {
		t.Fatal(err)
	}
	return &app{defaults: string(defaults), in: os.Stdin, out: os.Stdout, err: os.Stderr}
}

func TestLoad(t *testing.T) {
	a := testApp(t)
	file := filepath.Join(t.TempDir(), "my.toml")
	if err := os.WriteFile(file, []byte("[generator]\nnum_trajectories = 8\n[generator.sampling_params]\ntop_k = 20\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.flags.config = file
	a.flags.set = []string{"generator.max_iterations=50", "endpoint.model=qwen3-32b", "limits.init=90s", "sandbox.build_args.BASE=base:1", "tools.observation_chars.execute_bash=9000"}
	c, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	if c.Generator.NumTrajectories != 8 || *c.Generator.Sampling.TopK != 20 || c.Generator.MaxIterations != 50 || c.Endpoints[0].Model != "qwen3-32b" ||
		time.Duration(c.Limits.Init) != 90*time.Second || c.Sandbox.BuildArgs["BASE"] != "base:1" || c.Tools.PerTool["execute_bash"] != 9000 || c.Tools.KeepEscapes || time.Duration(c.Tools.Call) != 10*time.Minute || c.Generator.MaxPromptLength != 32768 {
		t.Errorf("loaded %+v", c)
	}
}

// [endpoint] is one table or several; --set and the flags take what they say.
func TestEndpointTables(t *testing.T) {
	several := "[[endpoint]]\nurl = 'http://a'\nretries = 1\n[[endpoint]]\nurl = 'http://b/v1'\nweight = 3\n"
	for _, c := range []struct {
		file, url string
		set       []string
		want      string // url, weight, retries, model of each
	}{
		{"", "", nil, " 1 3 "},
		{"[endpoint]\nurl = 'http://a'\n", "", []string{"endpoint.retries=5"}, "http://a 1 5 "},
		{several, "", nil, "http://a 1 1 |http://b/v1 3 3 "},
		{several, "", []string{"endpoint.model=m", "endpoint.retries=2"}, "http://a 1 2 m|http://b/v1 3 2 m"},
		{several, "http://c", nil, "http://c 1 1 "},
		{several, "", []string{"endpoint=[{url='http://c', weight=2}, {url='http://d'}]"}, "http://c 2 3 |http://d 1 3 "},
	} {
		a := testApp(t)
		a.flags.config = filepath.Join(t.TempDir(), "my.toml")
		if err := os.WriteFile(a.flags.config, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		a.flags.set, a.flags.endpoint = c.set, c.url
		got, err := a.load()
		if err != nil {
			t.Errorf("%q %q: %v", c.file, c.set, err)
			continue
		}
		var text []string
		for _, e := range got.Endpoints {
			text = append(text, fmt.Sprintf("%s %g %d %s", e.URL, e.Weight, e.Retries, e.Model))
		}
		if s := strings.Join(text, "|"); s != c.want {
			t.Errorf("%q %q: %q, want %q", c.file, c.set, s, c.want)
		}
	}
}

// The val_config tables hold for validation runs only.
func TestValidationRun(t *testing.T) {
	set := []string{"generator.val_config.num_trajectories=1", "generator.val_config.sampling_params.temperature=0.0", "dispatcher.val_config.max_parallel_agents=32"}
	for _, validation := range []bool{false, true} {
		a := testApp(t)
		a.flags.set, a.flags.validation = set, validation
		c, err := a.load()
		if err != nil {
			t.Fatal(err)
		}
		n, temperature, agents := 4, 1.0, 8
		if validation {
			n, temperature, agents = 1, 0, 32
		}
		if c.Generator.NumTrajectories != n || *c.Generator.Sampling.Temperature != temperature || c.Dispatcher.MaxRun != agents || c.Generator.MaxIterations != 30 {
			t.Errorf("validation %v: %+v %+v", validation, c.Generator, c.Dispatcher)
		}
	}
}

// A preset sets its keys; --set comes after it.
func TestPreset(t *testing.T) {
	a := testApp(t)
	a.flags.preset = "swe-train"
	a.flags.set = []string{"generator.max_iterations=60"}
	c, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	if g := c.Generator; g.NumTrajectories != 8 || g.MaxIterations != 60 || g.MaxPromptLength != 32768 || *g.Sampling.Temperature != 1 {
		t.Errorf("%+v", g)
	}
	a = testApp(t)
	a.flags.preset = "swe-verified-eval"
	if c, err = a.load(); err != nil {
		t.Fatal(err)
	}
	if g := c.Generator; g.NumTrajectories != 1 || g.MaxIterations != 100 || g.MaxPromptLength != 40960 || *g.Sampling.Temperature != 0 || *g.Sampling.TopP != 0.95 {
		t.Errorf("%+v", g)
	}
	a.flags.preset = "swe"
	if _, err := a.load(); err == nil || err.Error() != "--preset swe is unknown: use one of swe-train, swe-verified-eval" {
		t.Errorf("%v", err)
	}
}

// Presets that differ in a key both set it.
func TestPresetsNeverMix(t *testing.T) {
	keys := map[string]int{}
	for _, sets := range presets {
		for _, s := range sets {
			key, _, _ := strings.Cut(s, "=")
			keys[key]++
		}
	}
	for key, n := range keys {
		if n != len(presets) {
			t.Errorf("%s is set by %d of %d presets", key, n, len(presets))
		}
	}
}

// Bad input gets one clear line that names the place, the key and the fix.
func TestBadConfig(t *testing.T) {
	for _, c := range []struct {
		file string
		set  string
		want string
	}{
		{file: "[generator]\nnum_trajectorys = 8\n", want: "my.toml:2: unknown key generator.num_trajectorys; did you mean generator.num_trajectories?"},
		{file: "[generator\n", want: "my.toml:2: expected"},
		{file: "[generator]\nnum_trajectories = \"x\"\n", want: "my.toml:2: generator.num_trajectories: it is a text and must be a whole number, as 8"},
		{file: "[limits]\ninit = \"soon\"\n", want: `"soon" is no duration: write it like "90s" or "1h30m"`},
		{file: "\n\n[generators]\nx = 1\n", want: "my.toml:3: unknown key generators"},
		{set: "foo=1", want: "--set foo=1: unknown key foo; docs/config.md lists all keys"},
		{set: "generator.num_trajectories", want: "--set generator.num_trajectories: write KEY=VALUE"},
		{set: "num_trajectories=3", want: "unknown key num_trajectories; did you mean generator.num_trajectories?"},
		{set: "generator.num_trajectories=0", want: "generator.num_trajectories is 0: it must be at least 1"},
		{set: "generator.num_trajectories=four", want: "--set generator.num_trajectories=four"},
		{set: "dispatcher.type=fast", want: `dispatcher.type "fast" is unknown: use one of [async_batch async_batch_bounded async_pipeline]`},
		{set: "sandbox.kind=vm", want: `sandbox.kind is "vm": use auto, docker or local`},
		{set: "generator.sampling_params.top_p=0", want: "top_p is 0: use a number above 0, up to 1"},
		{set: "generator.val_config.num_trajectores=1", want: "generator.val_config: unknown key generator.num_trajectores; did you mean generator.num_trajectories?"},
		{set: "generator.val_config.num_trajectories=0", want: "with val_config: generator.num_trajectories is 0"},
		{set: "dispatcher.val_config.val_config.type='x'", want: "dispatcher.val_config holds another val_config"},
		{set: "tools.observation_chars.bash=900", want: `[tools]: a limit of characters is set for "bash", and no tool of that name is enabled. The available tools are: execute_bash,`},
		{set: "tools.observation_chars.finish=0", want: "the limit of characters of finish is 0"},
		{set: "tools.observation_chars=900", want: "tools.observation_chars"},
		{set: "simulated.concurrency=0", want: "simulated.concurrency is 0"},
	} {
		a := testApp(t)
		if c.file != "" {
			a.flags.config = filepath.Join(t.TempDir(), "my.toml")
			if err := os.WriteFile(a.flags.config, []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
		} else {
			a.flags.set = []string{c.set}
		}
		_, err := a.load()
		if err == nil || !strings.Contains(oneLine(err), c.want) {
			t.Errorf("%q %q: %v, want %q", c.file, c.set, err, c.want)
		}
		if e, ok := err.(*exit); !ok || e.code != 2 {
			t.Errorf("%q %q: exit code of %v is not 2", c.file, c.set, err)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "abc", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"abc", "", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// A value of the wrong kind is one line: the file, the key, the line, what it is and
// what it has to be. No word of it is Go's, whatever the key and the value.
func TestWrongKinds(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[generator]\nmax_iterations = 2.5\n", "my.toml:2: generator.max_iterations: it is a number with a fraction and must be a whole number, as 8"},
		{"[generator.sampling_params]\ntemperature = true\n", "my.toml:2: generator.sampling_params.temperature: it is true or false and must be a number, as 0.5"},
		{"[ui]\n\ntheme = [1]\n", `my.toml:3: ui.theme: it is a list and must be a text in quotes, as "x"`},
		{"[tools]\nenable_bash_tool = \"yes\"\n", "my.toml:2: tools.enable_bash_tool: it is a text and must be true or false"},
		{"[tools]\nmcp = 5\n", `my.toml:2: tools.mcp: it is a whole number and must be a list, as ["x"] (of tables: [[tools.mcp]])`},
		{"[generator]\nmax_iterations = 99999999999999999999\n", "my.toml:2: generator.max_iterations: 99999999999999999999 is too large a number"},
		{"[generator]\nval_config = 5\n", "my.toml:2: generator.val_config must be a table"},
		{"[limits]\n\ninit = [1]\n", `my.toml:3: limits.init: it is a list and must be a duration, as "90s"`},
		{"limits.run = 5\nlimits.init = 5\n", `my.toml:1: limits.run: "5" is no duration: write it like "90s" or "1h30m"`},
		{"\n# observation_chars = 1\ntools.observation_chars = 3\n", "my.toml:3: tools.observation_chars must be a table"},
	} {
		cfg := &config{}
		if _, err := decode(embedded(), "config.toml", cfg); err != nil {
			t.Fatal(err)
		}
		_, err := decode(c.text, "my.toml", cfg)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v\nwant %s", c.text, err, c.want)
		}
	}
	foreign := []string{"int64", "float64", "interface", "map[", "[]any", "TOML value", "destination", "engine.", "time.Time", "primitive"}
	for _, key := range knownKeys() {
		for _, v := range []string{`"x"`, "5", "5.5", "true", "[1]", "{a=1}", "[[1]]", "1979-05-27", "99999999999999999999", "-1.0e400", "[{a=1}]"} {
			cfg := &config{}
			if _, err := decode(embedded(), "config.toml", cfg); err != nil {
				t.Fatal(err)
			}
			_, err := decode(key+" = "+v, "my.toml", cfg)
			for _, word := range foreign {
				if err != nil && strings.Contains(err.Error(), word) {
					t.Errorf("%s = %s: %v", key, v, err)
				}
			}
		}
	}
}

// The pace of the first look goes over the defaults, and under what a person set.
func TestPace(t *testing.T) {
	a := testApp(t)
	a.pace = watchable
	a.flags.config = filepath.Join(t.TempDir(), "my.toml")
	if err := os.WriteFile(a.flags.config, []byte("[simulated]\nlatency = \"1ms\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := a.load()
	if err != nil || time.Duration(c.Simulated.Latency) != time.Millisecond || c.Simulated.TokensPerSecond != 600 {
		t.Errorf("%+v, %v", c.Simulated, err)
	}
}
