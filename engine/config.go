package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"rollbench/engine/agent"
	"rollbench/engine/calls"
	"rollbench/engine/dispatch"
	"rollbench/engine/infer"
	"rollbench/sandbox"
	"rollbench/sessions"
	"rollbench/tools"
)

// Config is what a run needs to know. Key names follow SkyRL's where they
// exist; config.toml at the root holds every key with its default and docs.
type Config struct {
	Generator  Generator  `toml:"generator" json:"generator"`
	Dispatcher Dispatcher `toml:"dispatcher" json:"dispatcher"`
	Endpoints  Endpoints  `toml:"-" json:"endpoint"` // [endpoint], or each [[endpoint]]
	Sandbox    Sandbox    `toml:"sandbox" json:"sandbox"`
	Tools      Tools      `toml:"tools" json:"tools"`
	Limits     TimeLimits `toml:"limits" json:"limits"`
	GPU        GPUs       `toml:"gpu" json:"gpu,omitzero"`
	Tasks      Tasks      `toml:"tasks" json:"tasks"`
	Judge      Judge      `toml:"judge" json:"judge,omitzero"`
}

// Generator is how trajectories are sampled.
type Generator struct {
	NumTrajectories int `toml:"num_trajectories" json:"num_trajectories"`
	MaxIterations   int `toml:"max_iterations" json:"max_iterations"`
	// MaxPromptLength is the token budget for everything after the first
	// prompt (the name and meaning are SkyRL-Agent's).
	MaxPromptLength int `toml:"max_prompt_length" json:"max_prompt_length"`
	// LowBudget is how many tokens of MaxPromptLength are left when the model is
	// told that they run out; 0: it is not told.
	LowBudget    int    `toml:"low_budget_tokens" json:"low_budget_tokens"`
	Reminder     string `toml:"turn_reminder" json:"turn_reminder"` // an agent.Reminder
	SystemPrompt string `toml:"system_prompt" json:"system_prompt"` // "" for the built-in one
	PromptMode   string `toml:"prompt_mode" json:"prompt_mode"`     // tokens, chat, auto
	ToolFormat   string `toml:"tool_format" json:"tool_format"`     // a calls.Format
	// Template are arguments of the endpoint's chat template.
	Template map[string]any `toml:"chat_template_kwargs" json:"chat_template_kwargs,omitempty"`
	Sampling infer.Sampling `toml:"sampling_params" json:"sampling_params"`
	// Human has a person write every turn, until they give the model its turns back.
	Human bool `toml:"human" json:"human,omitempty"`
	// Validation holds the keys of this table that differ in validation runs
	// (SkyRL-Agent's val_config).
	Validation map[string]any `toml:"val_config" json:"val_config,omitempty"`
}

// Dispatcher limits the stages; see package dispatch.
type Dispatcher struct {
	Type     string `toml:"type" json:"type"`
	MaxInit  int    `toml:"max_parallel_init" json:"max_parallel_init"`
	MaxRun   int    `toml:"max_parallel_agents" json:"max_parallel_agents"`
	MaxEval  int    `toml:"max_eval_parallel_agents" json:"max_eval_parallel_agents"`
	MaxLive  int    `toml:"max_live_sandboxes" json:"max_live_sandboxes"`
	MaxReady int    `toml:"max_ready" json:"max_ready"`
	Order    string `toml:"order" json:"order"`
	// Adaptive: "kv" lets the run limit follow the endpoint's load within
	// AdaptiveMin and AdaptiveMax (0: the live sandboxes); "" leaves it as set.
	Adaptive    string `toml:"adaptive" json:"adaptive"`
	AdaptiveMin int    `toml:"adaptive_min" json:"adaptive_min"`
	AdaptiveMax int    `toml:"adaptive_max" json:"adaptive_max"`
	// StallAfter is how long nothing may move before the run says what everyone
	// waits for; 0: never.
	StallAfter Duration `toml:"stall_after" json:"stall_after"`
	// Validation holds the keys of this table that differ in validation runs.
	Validation map[string]any `toml:"val_config" json:"val_config,omitempty"`
}

// Limits of the dispatcher.
func (d Dispatcher) Limits() dispatch.Limits {
	return dispatch.Limits{Init: d.MaxInit, Run: d.MaxRun, Eval: d.MaxEval, Live: d.MaxLive, Ready: d.MaxReady}
}

// SetLimits to what a session recorded, and the tuning where it did.
func (d *Dispatcher) SetLimits(l sessions.Limits) {
	d.MaxInit, d.MaxRun, d.MaxEval, d.MaxLive, d.MaxReady = l.MaxInit, l.MaxAgents, l.MaxEval, l.MaxLive, l.MaxReady
	if l.Order != "" {
		d.Tune(TuningOf(l))
	}
}

// Server is an inference endpoint. Each key holds for the calls to it, but for
// Outage: of that the longest holds, for a call waits for any of them.
type Server struct {
	URL       string   `toml:"url" json:"url"`       // "" for the embedded simulated endpoint
	Weight    float64  `toml:"weight" json:"weight"` // its share of the trajectories, beside that of the others
	Model     string   `toml:"model" json:"model"`
	KeyEnv    string   `toml:"api_key_env" json:"api_key_env"` // the NAME of the variable that holds the key
	Request   Duration `toml:"request_timeout" json:"request_timeout"`
	Idle      Duration `toml:"idle_timeout" json:"idle_timeout"`
	Retries   int      `toml:"retries" json:"retries"`
	Outage    Duration `toml:"outage_limit" json:"outage_limit"`
	Streaming bool     `toml:"streaming" json:"streaming"`
}

// Sandbox is where trajectories run.
type Sandbox struct {
	Kind             string            `toml:"kind" json:"kind"` // auto, docker, local
	CPUs             float64           `toml:"cpus" json:"cpus"` // 0: the task's
	MemoryMB         int               `toml:"memory_mb" json:"memory_mb"`
	Pids             int               `toml:"pids" json:"pids"`
	DiskMB           int               `toml:"disk_mb" json:"disk_mb"`
	Warm             int               `toml:"warm" json:"warm"`     // kept open ahead, within max_live_sandboxes
	Mounts           []string          `toml:"mounts" json:"mounts"` // SOURCE:TARGET, read-only
	Mirror           string            `toml:"mirror" json:"mirror"` // of docker.io
	AllowUncontained bool              `toml:"allow_uncontained" json:"allow_uncontained"`
	BuildArgs        map[string]string `toml:"build_args" json:"build_args"`
}

// Tools are the tools the policy may call.
type Tools struct {
	Bash        bool     `toml:"enable_bash_tool" json:"enable_bash_tool"`
	BashName    string   `toml:"bash_name" json:"bash_name"`
	Editor      bool     `toml:"enable_editor" json:"enable_editor"`
	Finish      bool     `toml:"enable_finish" json:"enable_finish"`
	Search      bool     `toml:"enable_search" json:"enable_search"`
	SearchMB    int      `toml:"search_memory_mb" json:"search_memory_mb"`
	Think       bool     `toml:"enable_think" json:"enable_think"`
	Python      bool     `toml:"enable_python" json:"enable_python"`
	MCP         bool     `toml:"enable_mcp" json:"enable_mcp"` // of those declared
	Command     Duration `toml:"command_timeout" json:"command_timeout"`
	Idle        Duration `toml:"no_output_timeout" json:"no_output_timeout"`
	Observation int      `toml:"max_observation_chars" json:"max_observation_chars"`
	File        int      `toml:"max_view_chars" json:"max_view_chars"`
	// PerTool replaces both limits in characters, by the tool's name.
	PerTool     map[string]int `toml:"observation_chars" json:"observation_chars,omitempty"`
	KeepEscapes bool           `toml:"keep_escapes" json:"keep_escapes,omitempty"`
	Call        Duration       `toml:"call_timeout" json:"call_timeout"` // 0: none
	Switches
	OwnTools
}

func (t Tools) limits() tools.Limits {
	return tools.Limits{Command: time.Duration(t.Command), Idle: time.Duration(t.Idle), Observation: t.Observation, File: t.File,
		PerTool: t.PerTool, KeepEscapes: t.KeepEscapes}
}

// callLimit of any call: call_timeout, and never less than a minute over the
// limits that tools keep by themselves, which say more. 0: none.
func (t Tools) callLimit() time.Duration {
	if t.Call == 0 {
		return 0
	}
	longest := max(t.Command, t.Idle)
	for _, c := range t.Commands {
		longest = max(longest, c.Timeout)
	}
	for _, s := range t.Servers { // the first call starts it
		longest = max(longest, cmp.Or(s.Timeout, t.Command)+Duration(s.server("").Start))
	}
	return time.Duration(max(t.Call, longest+Duration(time.Minute)))
}

// TimeLimits bound the stages of a trajectory. 0 means the task's own limit
// for run and eval, and none for init.
type TimeLimits struct {
	Init Duration `toml:"init" json:"init"`
	Run  Duration `toml:"run" json:"run"`
	Eval Duration `toml:"eval" json:"eval"`
	// Retries of init and eval, each in a fresh sandbox, when the sandbox or
	// the engine behind it fails. A model's own failure is never retried.
	Retries int `toml:"retries" json:"retries"`
	// EvalRepeats is how often the verifier runs; 0 (of older runs): once.
	EvalRepeats int      `toml:"eval_repeats" json:"eval_repeats,omitempty"`
	Backoff     Duration `toml:"retry_backoff" json:"retry_backoff"` // before the first, doubled each time
}

// Duration is a time.Duration written as text: "90s", "1h30m".
type Duration time.Duration

// UnmarshalText reads "90s".
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is no duration: write it like \"90s\" or \"1h30m\"", text)
	}
	if v < 0 {
		return fmt.Errorf("%q is negative", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes "1m30s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Check says which key is wrong and what it may be.
func (c Config) Check() error {
	if err := c.Dispatcher.check(); err != nil {
		return err
	}
	if m := c.Generator.PromptMode; !slices.Contains([]string{promptAuto, promptTokens, promptChat}, m) {
		return fmt.Errorf("generator.prompt_mode is %q: use tokens, chat or auto", m)
	}
	if n := c.Generator.LowBudget; n < 0 {
		return fmt.Errorf("generator.low_budget_tokens is %d: use 0 (no note) or more", n)
	}
	if r := c.Generator.Reminder; !slices.Contains(agent.Reminders(), agent.Reminder(r)) {
		return fmt.Errorf("generator.turn_reminder is %q: use one of %v", r, agent.Reminders())
	}
	if f := c.Generator.ToolFormat; !slices.Contains(calls.Formats(), calls.Format(f)) {
		return fmt.Errorf("generator.tool_format is %q: use one of %v", f, calls.Formats())
	}
	for _, k := range []struct {
		name string
		n    int
	}{
		{"generator.num_trajectories", c.Generator.NumTrajectories},
		{"generator.max_iterations", c.Generator.MaxIterations},
		{"generator.max_prompt_length", c.Generator.MaxPromptLength},
		{"tools.max_observation_chars", c.Tools.Observation},
		{"tools.max_view_chars", c.Tools.File},
	} {
		if k.n < 1 {
			return fmt.Errorf("%s is %d: it must be at least 1", k.name, k.n)
		}
	}
	if c.Limits.Retries < 0 {
		return fmt.Errorf("limits.retries is %d: it must not be negative", c.Limits.Retries)
	}
	if err := c.Limits.checkRepeats(); err != nil {
		return err
	}
	for _, k := range []struct {
		name string
		n    float64
	}{{"sandbox.cpus", c.Sandbox.CPUs}, {"sandbox.memory_mb", float64(c.Sandbox.MemoryMB)}, {"sandbox.pids", float64(c.Sandbox.Pids)},
		{"sandbox.disk_mb", float64(c.Sandbox.DiskMB)}, {"sandbox.warm", float64(c.Sandbox.Warm)}} {
		if !(k.n >= 0) {
			return fmt.Errorf("%s is %v: it must not be negative", k.name, k.n)
		}
	}
	if _, err := c.Endpoints.Check(); err != nil {
		return err
	}
	if err := checkSampling(c.Generator.Sampling); err != nil {
		return err
	}
	switch c.Sandbox.Kind {
	case "auto", "docker", "local":
	default:
		return fmt.Errorf("sandbox.kind is %q: use auto, docker or local", c.Sandbox.Kind)
	}
	if _, err := sandbox.ParseMounts(c.Sandbox.Mounts); err != nil {
		return fmt.Errorf("sandbox.mounts: %w", err)
	}
	if err := c.GPU.check(); err != nil {
		return err
	}
	if err := c.Tasks.check(); err != nil {
		return err
	}
	if err := c.Judge.check(); err != nil {
		return err
	}
	return c.Tools.check()
}

// Ways to make prompts.
const (
	promptAuto   = "auto"   // tokens where the endpoint can, else chat
	promptTokens = "tokens" // ids, each prompt the last one and what came after it
	promptChat   = "chat"   // messages, rendered by the endpoint
)

// ResolvePromptMode replaces auto by what the endpoint can do, and says what is
// missing where it cannot do what was asked.
func (g *Generator) ResolvePromptMode(c infer.Capabilities) error {
	can := c.Tokenize && c.Complete != ""
	switch {
	case g.PromptMode == promptTokens && !can:
		return fmt.Errorf("generator.prompt_mode is tokens, and endpoint %s can not %s: use prompt_mode = \"chat\", or another endpoint", c.Server,
			map[bool]string{true: "continue token ids", false: "render messages to token ids (/tokenize)"}[c.Tokenize])
	case g.PromptMode == promptAuto && can:
		g.PromptMode = promptTokens
	case g.PromptMode == promptAuto:
		g.PromptMode = promptChat
	}
	if g.PromptMode == promptChat && !c.Chat {
		return fmt.Errorf("endpoint %s has no chat completions, and no /tokenize for generator.prompt_mode = \"tokens\"", c.Server)
	}
	return nil
}

func checkSampling(s infer.Sampling) error {
	if t := s.Temperature; t != nil && !(*t >= 0 && *t <= 10) {
		return fmt.Errorf("generator.sampling_params.temperature is %v: use a number from 0 to 10", *t)
	}
	if p := s.TopP; p != nil && !(*p > 0 && *p <= 1) {
		return fmt.Errorf("generator.sampling_params.top_p is %v: use a number above 0, up to 1", *p)
	}
	if k := s.TopK; k != nil && *k < -1 {
		return fmt.Errorf("generator.sampling_params.top_k is %d: use -1 or 0 (all) or more", *k)
	}
	if p := s.MinP; p != nil && !(*p >= 0 && *p <= 1) {
		return fmt.Errorf("generator.sampling_params.min_p is %v: use a number from 0 to 1", *p)
	}
	if r := s.RepetitionPenalty; r != nil && !(*r > 0) {
		return fmt.Errorf("generator.sampling_params.repetition_penalty is %v: use a number above 0", *r)
	}
	return nil
}
