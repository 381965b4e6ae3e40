// Package infer talks to inference endpoints: OpenAI-compatible chat with
// tools (vLLM, SGLang and others), the continuation of exact token ids (vLLM,
// SGLang, the Tinker API), log-probabilities where the endpoint gives them, its
// health, capabilities and metrics.
//
// In: a Request (messages, tools, sampling) or a TokenRequest (ids, sampling).
// Out: a Reply with exactly the ids and logprobs the endpoint reported; what it
// does not report is absent, never made up. infer imports nothing else of rollbench. infer/simulated is the
// embedded endpoint.
package infer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

// Message is one chat message on the wire.
type Message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Reasoning  string     `json:"reasoning,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Name       string     `json:"name,omitempty"`
}

// ToolCall of an assistant message. Arguments is JSON text, kept verbatim.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
}

// Tool is a function the model may call. Parameters is a JSON Schema.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Sampling settings. A nil pointer leaves the endpoint's default.
type Sampling struct {
	Temperature       *float64 `json:"temperature,omitempty" toml:"temperature"`
	TopP              *float64 `json:"top_p,omitempty" toml:"top_p"`
	TopK              *int     `json:"top_k,omitempty" toml:"top_k"`
	MinP              *float64 `json:"min_p,omitempty" toml:"min_p"`
	RepetitionPenalty *float64 `json:"repetition_penalty,omitempty" toml:"repetition_penalty"`
	Seed              *int64   `json:"seed,omitempty" toml:"seed"`
	Stop              []string `json:"stop,omitempty" toml:"stop"`
}

// With are the settings, those that are set in changed replaced. Neither is written
// to: many trajectories share the run's.
func (s Sampling) With(changed Sampling) Sampling {
	s.Temperature = cmp.Or(changed.Temperature, s.Temperature)
	s.TopP = cmp.Or(changed.TopP, s.TopP)
	s.TopK = cmp.Or(changed.TopK, s.TopK)
	s.MinP = cmp.Or(changed.MinP, s.MinP)
	s.RepetitionPenalty = cmp.Or(changed.RepetitionPenalty, s.RepetitionPenalty)
	s.Seed = cmp.Or(changed.Seed, s.Seed)
	if len(changed.Stop) > 0 {
		s.Stop = changed.Stop
	}
	return s
}

// Request for one reply.
type Request struct {
	Messages  []Message
	Tools     []Tool
	Sampling  Sampling
	MaxTokens int    // what is left of the budget; always sent
	SessionID string // sent as X-Session-ID: one per trajectory
	// Stream receives text as it comes (content, reasoning and call text in
	// order). nil: the reply is not streamed. It must not block.
	Stream func(text string)
	// Restart is called before a retry when text of the failed attempt had
	// been streamed: what was shown is void. nil is allowed.
	Restart func()
}

// Reply is one model call as the endpoint answered it.
type Reply struct {
	PromptIDs    []int32   // nil when not reported
	OutputIDs    []int32   // nil when not reported
	Logprobs     []float64 // nil when not reported, else one per output id; −9999 is a server's clamp for −∞ and stays
	Cuts         []int32   // where the text of each output id ends in Raw, nil when that is not known
	Raw          string    // text of the output ids with every marker, "" when unknown
	Reasoning    string
	Content      string
	Calls        []ToolCall
	FinishReason string // stop, length, tool_calls, abort, …
	StopReason   string // the text or the id (decimal) that ended it, "" when the server names none
	// EndsTurn: the last output id ended the turn, the model's own end or one of
	// TokenRequest.StopIDs. False for a stop text, a cut, or ids not reported.
	EndsTurn     bool
	Model        string
	PromptTokens int // by usage, or the number of ids
	OutputTokens int
	CachedTokens *int
	Wall         time.Duration
	FirstToken   time.Duration

	Endpoint      string // that answered, without credentials
	LogprobsMode  string // raw, processed, "" when unknown or without logprobs
	PolicyVersion string // of the weights, "" when unknown
}

// ErrorKind classifies what went wrong with a call.
type ErrorKind string

// The kinds. Unavailable and Busy are retried inside the client before they
// are returned.
const (
	Unavailable ErrorKind = "unavailable" // no connection, 5xx, stream broken
	Busy        ErrorKind = "busy"        // 429
	Overflow    ErrorKind = "overflow"    // the prompt does not fit the context window
	BadRequest  ErrorKind = "bad_request" // 400, 404, 422, …: the request or the model's name is wrong
	Denied      ErrorKind = "denied"      // 401, 403
	TimedOut    ErrorKind = "timeout"     // the request or the idle limit struck
	Mismatch    ErrorKind = "mismatch"    // ids, logprobs and usage disagree: the turn is refused
)

// Error of a call. Its text names the endpoint and what to do, on one line.
type Error struct {
	Kind    ErrorKind
	Status  int // HTTP, 0 when there was none
	URL     string
	Message string
	Err     error
}

func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("endpoint %s: %s (HTTP %d): %s", e.URL, e.Kind, e.Status, e.Message)
	}
	return fmt.Sprintf("endpoint %s: %s: %s", e.URL, e.Kind, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

// CutOff is a call that its caller gave up, with how many tokens had come.
type CutOff struct {
	Tokens *int // nil where the endpoint does not say
	Err    error
}

func (c *CutOff) Error() string { return c.Err.Error() }
func (c *CutOff) Unwrap() error { return c.Err }

// Capabilities are what a probe found the endpoint to support.
type Capabilities struct {
	Server      string   `json:"server"` // vllm, sglang, llama.cpp, tinker, simulated, openai (unknown)
	Version     string   `json:"version"`
	Models      []string `json:"models"`
	MaxModelLen int      `json:"max_model_len"` // 0 when unknown
	Chat        bool     `json:"chat"`
	TokenIDs    bool     `json:"token_ids"` // with a chat's reply, or with those to ids where there is no chat; like Logprobs
	Logprobs    bool     `json:"logprobs"`
	Complete    string   `json:"complete"` // how ids are continued: completions, generate, sglang, tinker, "" for not at all
	Tokenize    bool     `json:"tokenize"`
	Metrics     bool     `json:"metrics"`
	Simulated   bool     `json:"simulated"`
	// LogprobsMode is what the logprobs are of: raw, processed, "" when unknown.
	LogprobsMode string `json:"logprobs_mode,omitempty"`
}

// Trainable says whether replies come with the ids that were sampled, by one
// way at least. Without them a transition is text alone.
func (c Capabilities) Trainable() bool { return c.TokenIDs || c.Complete != "" }

// Gauges are one scrape of the endpoint's metrics. nil means not reported.
type Gauges struct {
	At            time.Time `json:"at"`
	Running       *float64  `json:"running"`
	Waiting       *float64  `json:"waiting"`
	KVUse         *float64  `json:"kv_use"`         // 0..1
	TokensPerSec  *float64  `json:"tokens_per_sec"` // generated, since the scrape before
	PrefixHitRate *float64  `json:"prefix_hit_rate"`
	Preemptions   *float64  `json:"preemptions"`
}
