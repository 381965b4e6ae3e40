package sessions

import (
	"encoding/json"
	"fmt"
	"time"
)

// Key names one trajectory of a run: the instance and its number 0…N−1
// (children of a fork continue from N).
type Key struct {
	Instance string `json:"instance_id"`
	ID       int    `json:"trajectory_id"`
}

func (k Key) String() string { return fmt.Sprintf("%s#%d", k.Instance, k.ID) }

// IsZero reports whether the key names no trajectory (a fact of the run itself).
func (k Key) IsZero() bool { return k.Instance == "" }

// State of a trajectory:
// queued → init → ready → running ⇄ held → ran → evaluating → done | failed | cancelled.
type State string

// The states.
const (
	Queued     State = "queued"
	Init       State = "init"
	Ready      State = "ready"
	Running    State = "running"
	Held       State = "held"
	Ran        State = "ran"
	Evaluating State = "evaluating"
	Done       State = "done"
	Failed     State = "failed"
	Cancelled  State = "cancelled"
)

// Ended reports whether nothing more will happen to the trajectory.
func (s State) Ended() bool { return s == Done || s == Failed || s == Cancelled }

// HeldReason is why a trajectory is held.
type HeldReason string

// The held reasons.
const (
	HeldPaused     HeldReason = "paused"
	HeldStep       HeldReason = "step"
	HeldBreakpoint HeldReason = "breakpoint"
	HeldError      HeldReason = "error"
	HeldLimit      HeldReason = "limit"
)

// Gate is a point of the agent loop where a person may step in.
type Gate string

// The gates, in the order of a turn.
const (
	BeforeModel Gate = "before-model"
	AfterReply  Gate = "after-reply" // before the tool runs
	AfterTool   Gate = "after-tool"
	BeforeEval  Gate = "before-eval"
)

// Run is the identity and the settings of a run, fixed when it starts.
type Run struct {
	ID      string    `json:"run"`
	Created time.Time `json:"created"`
	Title   string    `json:"title"` // the dataset's name
	N       int       `json:"num_trajectories"`
	Members []Key     `json:"members"` // the set fixed at the start, in queue order
	// Source is how to find the instances again (the --tasks argument, absolute; "" = bundled).
	Source   string          `json:"source"`
	Policy   string          `json:"policy"`
	Endpoint string          `json:"endpoint"` // base URL without credentials
	Model    string          `json:"model"`
	Simulate bool            `json:"simulated"`
	Config   json.RawMessage `json:"config"`      // the resolved configuration, without secrets
	Print    json.RawMessage `json:"fingerprint"` // what two runs must share to be compared
	Version  string          `json:"version"`     // of rollbench
}

// Trajectory is the reduction of a trajectory's events so far. It is stored
// in the same transaction as the events and equals their full replay.
type Trajectory struct {
	Key
	Attempt    int        `json:"attempt"` // from 1; a resume that starts again counts on
	State      State      `json:"state"`
	Held       HeldReason `json:"held,omitempty"`
	HeldAt     Gate       `json:"held_at,omitempty"`
	HeldWhy    string     `json:"held_why,omitempty"` // `breakpoint #2 tool=bash`
	Since      time.Time  `json:"since"`              // when State was entered
	Started    time.Time  `json:"started"`            // of this attempt, zero while queued
	Ended      time.Time  `json:"ended"`
	Turn       int        `json:"turn"` // model replies so far
	MaxTurns   int        `json:"max_turns"`
	FirstLen   int        `json:"first_prompt_tokens"`
	Tokens     int        `json:"tokens"` // of the budget used: everything after the first prompt
	Budget     int        `json:"token_budget"`
	Sampled    int        `json:"sampled_tokens"`
	Tool       string     `json:"tool,omitempty"`   // the last or the running tool
	ToolSince  time.Time  `json:"tool_since"`       // zero when no tool is running
	Finish     string     `json:"finish,omitempty"` // a FinishReason, "" while it goes on
	Causes     []string   `json:"causes,omitempty"` // the first error line and those after it
	Reward     *float64   `json:"reward"`           // absent is not 0
	EvalNote   string     `json:"eval_note,omitempty"`
	HasPatch   bool       `json:"has_patch"`
	PatchBytes int        `json:"patch_bytes"`
	Intervened bool       `json:"intervened"`
	Breaks     int        `json:"prefix_breaks"`
	Masked     bool       `json:"masked_by_person,omitempty"`
	Dropped    bool       `json:"dropped_by_person,omitempty"`
	Tags       []string   `json:"tags,omitempty"`
	Note       string     `json:"note,omitempty"`
	Sandbox    string     `json:"sandbox,omitempty"` // "docker 3f2a…" or "local …", "" when closed
	Fork       *Fork      `json:"fork,omitempty"`    // nil: of the set fixed at the start
	Differs    int        `json:"differs,omitempty"` // calls that answered otherwise as its sandbox was rebuilt
	Tampering  []Sign     `json:"tampering,omitempty"`
}

// Sign that a policy went for the verdict instead of the problem. It changes
// neither reward nor mask.
type Sign struct {
	Kind string `json:"kind"`
	Turn int    `json:"turn,omitempty"` // of the call, 0: it is in the patch
	What string `json:"what"`           // file or command
}

// Mask is why the trajectory's tokens are kept out of the gradient, "" when
// they are not.
func (t Trajectory) Mask() string {
	switch {
	case t.Finish != "" && FinishReason(t.Finish).Rule().Masked:
		return t.Finish
	case t.Masked:
		return MaskedByPerson
	}
	return ""
}

// Counts reports whether the trajectory is in baselines, mean rewards and pass@k: it
// has a reward, is no child of a fork, and nobody changed or dropped it. A masked one
// counts, by its reward.
func (t Trajectory) Counts() bool {
	return t.Reward != nil && t.Fork == nil && !t.Intervened && !t.Dropped
}

// MaskedByPerson is the mask reason of a trajectory that a person masked.
const MaskedByPerson = "masked_by_person"

// Message is one chat message as the endpoint was sent it. Source says who
// made it.
type Message struct {
	Role       string `json:"role"` // system, user, assistant, tool
	Content    string `json:"content"`
	Reasoning  string `json:"reasoning,omitempty"`
	Calls      []Call `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
	Name       string `json:"name,omitempty"`
	Source     Source `json:"source"`
}

// Source of a message or a reply.
type Source string

// The sources.
const (
	FromTask     Source = "task"     // system prompt and instruction
	FromModel    Source = "model"    // sampled
	FromTool     Source = "tool"     // an observation
	FromHarness  Source = "harness"  // corrective text of rollbench
	FromOperator Source = "operator" // a person
)

// Call is one tool call of a reply. Arguments is the JSON text as the model
// wrote it; Problem says why it could not be used ("" when it could).
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Problem   string `json:"problem,omitempty"`
}

// Observation is what a tool returned and what the model saw of it.
type Observation struct {
	CallID  string        `json:"call_id"`
	Tool    string        `json:"tool"`
	Text    string        `json:"text"`              // as the model sees it
	Status  string        `json:"status"`            // ok, error, timeout, rejected, cancelled, invalid
	Exit    *int          `json:"exit,omitempty"`    // of a command
	Dropped int64         `json:"dropped,omitempty"` // output bytes not in Text
	Started time.Time     `json:"started"`
	Wall    time.Duration `json:"wall_ns"`
	Source  Source        `json:"source"` // tool, harness (corrective), operator (edited, rejected)
	Before  string        `json:"before,omitempty"`
	// Was is the source of Before, where a person edited what was returned.
	Was Source `json:"was,omitempty"`
	// Output says what is kept of what the call printed; nil when Text is all.
	Output *Output `json:"output,omitempty"`
}

// Output describes what a call printed as the session keeps it (Reader.Output):
// the bytes as they came, the middle left out where they were too many.
type Output struct {
	Size    int64 `json:"bytes"`             // kept
	Head    int64 `json:"head"`              // of them before the gap; Size where there is none
	Dropped int64 `json:"dropped,omitempty"` // bytes in the gap
}

// Turn is one model call and what followed from it. A turn is stored when the
// reply is there, and stored again (same Key, Attempt, Index, Version) when
// its observations are.
type Turn struct {
	Key
	Attempt int `json:"attempt"`
	// Origin is whose turn it is, where Key is a fork of that; nil: Key's own.
	Origin *Key `json:"-"`
	Index  int  `json:"turn"` // from 1
	// Version counts replies to the same prompt: an edit or a resample stores
	// the old one as superseded and goes on with the next version.
	Version    int    `json:"version"`
	Superseded bool   `json:"superseded"`
	Source     Source `json:"source"` // model (sampled) or operator (made by a person)
	// New are the messages added since the previous turn's reply (all of the
	// first prompt on turn 1). The whole conversation is the concatenation.
	New []Message `json:"new_messages"`
	// PromptIDs is the whole prompt the endpoint reports, nil when it reports
	// none. It is stored as its difference to the prompt of the turn before.
	PromptIDs []int32   `json:"prompt_ids"`
	OutputIDs []int32   `json:"output_ids"` // nil when not reported
	Logprobs  []float64 `json:"logprobs"`   // nil when not reported; one per output id
	// NewSample says that this prompt does not extend the previous prompt +
	// output; BreakAt is then the first position that differs.
	NewSample bool `json:"new_sample"`
	BreakAt   int  `json:"break_at"`

	// Cuts are where the text of each output id ends in Raw, nil when that is not
	// known. A writer takes the texts of ids from them (Reader.Spell); they are
	// not kept with the turn.
	Cuts []int32 `json:"-"`

	Raw       string `json:"raw"` // the reply's text with every marker, "" when the server hides it
	Reasoning string `json:"reasoning"`
	Content   string `json:"content"`
	Calls     []Call `json:"calls"`
	Finish    string `json:"finish_reason"` // the engine's: stop, length, tool_calls, …
	// EndsTurn: the last output id ended the turn, as the endpoint says.
	EndsTurn bool `json:"ends_turn,omitempty"`
	// Inline: the calls were read out of Content, where they stand as text; the
	// conversation carries them so, and what they returned as user messages.
	Inline bool `json:"inline,omitempty"`

	Observations []Observation `json:"observations"`
	Complete     bool          `json:"complete"` // its observations are all there

	Model    string          `json:"model"`
	Sampling json.RawMessage `json:"sampling"`
	// LogprobsMode is what the endpoint says of its logprobs: raw (the model's
	// own distribution), processed (the one sampled from), "" when unknown.
	LogprobsMode  string        `json:"logprobs_mode,omitempty"`
	PolicyVersion string        `json:"policy_version,omitempty"` // of the weights, "" when unknown
	Endpoint      string        `json:"endpoint,omitempty"`       // URL that answered, without credentials
	PromptTokens  int           `json:"prompt_tokens"`            // by the endpoint's usage
	OutputTokens  int           `json:"output_tokens"`
	CachedTokens  *int          `json:"cached_tokens"`
	Started       time.Time     `json:"started"`
	ModelWall     time.Duration `json:"model_ns"`
	FirstToken    time.Duration `json:"first_token_ns"`
}
