package sessions

import (
	"encoding/json"
	"fmt"
	"time"
)

// Kind of an event.
type Kind string

// The kinds, each with its payload type. An event without a trajectory key is
// a fact of the run.
const (
	KindRunStarted   Kind = "run.started"     // RunStarted
	KindRunEnded     Kind = "run.ended"       // RunEnded
	KindLimits       Kind = "run.limits"      // Limits
	KindWarning      Kind = "warning"         // Warning (run or trajectory)
	KindLimit        Kind = "limit"           // LimitStruck: a time limit of the trajectory
	KindState        Kind = "state"           // StateChange
	KindAttempt      Kind = "attempt"         // Attempt
	KindSandbox      Kind = "sandbox"         // SandboxChange
	KindModelCalled  Kind = "model.called"    // ModelCalled
	KindReply        Kind = "reply"           // ReplyMade, with the turn
	KindToolStarted  Kind = "tool.started"    // ToolStarted
	KindToolFinished Kind = "tool.finished"   // ToolFinished
	KindTurnDone     Kind = "turn.done"       // TurnDone, with the turn
	KindBreak        Kind = "prefix.broken"   // PrefixBroken
	KindFinish       Kind = "finish"          // Finished
	KindCause        Kind = "cause"           // Cause
	KindPatch        Kind = "patch"           // PatchTaken; the patch itself is in the patch table
	KindReward       Kind = "reward"          // Rewarded
	KindDisagreement Kind = "verdict.differs" // Disagreement: repeats of the verifier
	KindTampering    Kind = "tampering"       // Tampering: signs that the verdict was gone for
	KindCommand      Kind = "command"         // Commanded: a verb a person used
	KindIntervention Kind = "intervention"    // Intervention: a change a person made

	KindResampled Kind = "reply.sampled" // Resampled: one more reply to the same prompt, not in effect
	KindPicked    Kind = "reply.picked"  // ReplyMade: it takes the place of the one before
	KindBudget    Kind = "budget"        // Budget: raised by a person
	KindMarks     Kind = "marks"         // Marks: all that there are, the last ones count
	KindHandRun   Kind = "command.run"   // HandRun: a person's command in the sandbox

	KindForked         Kind = "forked"          // Forked: the trajectory begins, from a turn of another
	KindRebuilt        Kind = "sandbox.rebuilt" // Rebuilt: the sandbox of a fork
	KindRequestStopped Kind = "model.stopped"   // RequestStopped: a person stopped a model call; nothing of it is kept
	KindShell          Kind = "shell"           // Shell: a person's shell in the sandbox was opened, or left

	KindBreakpoint        Kind = "breakpoint.set"     // Breakpoint (run): set, or changed
	KindBreakpointRemoved Kind = "breakpoint.removed" // BreakpointRemoved (run)
	KindBreakpointHit     Kind = "breakpoint.hit"     // BreakpointHit (trajectory)
)

// Event is one fact. Seq grows by one within a run; it is given when the
// event is stored.
type Event struct {
	Seq  int64           `json:"seq"`
	Time time.Time       `json:"time"`
	Key  Key             `json:"key"`
	Kind Kind            `json:"kind"`
	Data json.RawMessage `json:"data"`
}

// The payloads.
type (
	RunStarted struct {
		PID     int    `json:"pid"`
		Host    string `json:"host"`
		Resumed bool   `json:"resumed"`
		Policy  string `json:"policy"`
	}
	RunEnded struct {
		Why string `json:"why"` // finished, stopped, error
	}
	Limits struct {
		Who       string `json:"who"` // config, operator, adaptive
		Why       string `json:"why"`
		MaxInit   int    `json:"max_parallel_init"`
		MaxAgents int    `json:"max_parallel_agents"`
		MaxEval   int    `json:"max_eval_parallel_agents"`
		MaxLive   int    `json:"max_live_sandboxes"`
		MaxReady  int    `json:"max_ready"`
		Policy    string `json:"policy"`
		// Order and what follows are "" and 0 in sessions before they could change.
		Order       string        `json:"order,omitempty"`
		Adaptive    string        `json:"adaptive,omitempty"`
		AdaptiveMin int           `json:"adaptive_min,omitempty"`
		AdaptiveMax int           `json:"adaptive_max,omitempty"`
		StallAfter  time.Duration `json:"stall_after_ns,omitempty"`
		NumMembers  int           `json:"members"`
	}
	Warning struct {
		Text string `json:"text"`
	}
	// LimitStruck says which limit ended what, what it waited for then, and
	// since when.
	LimitStruck struct {
		Stage  string        `json:"stage"` // init, run, eval
		Limit  string        `json:"limit"` // the configuration key
		Bound  time.Duration `json:"bound_ns"`
		For    string        `json:"for"` // "the reply of turn 3", "execute_bash", "the verifier"
		Waited time.Duration `json:"waited_ns"`
	}
	StateChange struct {
		State  State      `json:"state"`
		Held   HeldReason `json:"held,omitempty"`
		At     Gate       `json:"at,omitempty"`
		Why    string     `json:"why,omitempty"`
		Budget int        `json:"token_budget,omitempty"` // with running
		Turns  int        `json:"max_turns,omitempty"`    // with running
	}
	Attempt struct {
		N   int    `json:"n"`
		Why string `json:"why"`
	}
	SandboxChange struct {
		Purpose   string `json:"purpose"` // run or eval
		Open      bool   `json:"open"`
		Kind      string `json:"kind"`
		ID        string `json:"id"`
		Image     string `json:"image,omitempty"`
		Isolation string `json:"isolation,omitempty"`
	}
	ModelCalled struct {
		Turn int `json:"turn"`
	}
	ReplyMade struct {
		Turn         int      `json:"turn"`
		Version      int      `json:"version"`
		Source       Source   `json:"source"`
		Tools        []string `json:"tools"` // names called
		PromptTokens int      `json:"prompt_tokens"`
		OutputTokens int      `json:"output_tokens"`
		Tokens       int      `json:"tokens"` // of the budget used after this reply
		FirstLen     int      `json:"first_prompt_tokens"`
		Finish       string   `json:"finish_reason"`
	}
	ToolStarted struct {
		Turn int    `json:"turn"`
		Tool string `json:"tool"`
		Args string `json:"arguments"`
	}
	ToolFinished struct {
		Turn   int           `json:"turn"`
		Tool   string        `json:"tool"`
		Status string        `json:"status"`
		Exit   *int          `json:"exit,omitempty"`
		Wall   time.Duration `json:"wall_ns"`
		Bytes  int64         `json:"bytes"`
	}
	TurnDone struct {
		Turn int `json:"turn"`
	}
	PrefixBroken struct {
		Turn     int    `json:"turn"`
		Position int    `json:"position"`
		Expected string `json:"expected"` // text around the break
		Got      string `json:"got"`
	}
	Finished struct {
		Reason FinishReason `json:"reason"`
		Detail string       `json:"detail,omitempty"`
	}
	Cause struct {
		Stage string `json:"stage"`
		Error string `json:"error"`
	}
	PatchTaken struct {
		Bytes int `json:"bytes"`
		Files int `json:"files"`
	}
	Rewarded struct {
		Reward *float64           `json:"reward"` // absent when the verifier could not run
		Note   string             `json:"note,omitempty"`
		Parts  map[string]float64 `json:"parts,omitempty"` // further numbers of the verifier
		Wall   time.Duration      `json:"wall_ns"`
	}
	// Disagreement is said where repeats of the verifier do not agree. The reward is
	// then absent.
	Disagreement struct {
		Rewards []*float64 `json:"rewards"` // in order; null where a repeat gave none
		Notes   []string   `json:"notes"`
		Mean    *float64   `json:"mean"` // of those there are
	}
	// Tampering is said once the run stage has ended, where there are signs.
	Tampering struct {
		Signs []Sign `json:"signs"`
	}
	Commanded struct {
		Verb string `json:"verb"` // pause, continue, step, over, out, stop, cancel, …
		All  bool   `json:"all"`
		By   string `json:"by"` // operator
		Note string `json:"note,omitempty"`
	}
	Resampled struct {
		Turn         int `json:"turn"`
		Version      int `json:"version"`
		OutputTokens int `json:"output_tokens"`
		// Logprob is the sum over the reply's tokens, nil when not reported.
		Logprob *float64 `json:"logprob_sum,omitempty"`
	}
	// Budget is what one trajectory may use from now on; 0: as before.
	Budget struct {
		Turns  int `json:"max_turns,omitempty"`
		Tokens int `json:"token_budget,omitempty"`
	}
	// Marks are a person's judgement of a trajectory. They change nothing that
	// the policy did or saw, so they are no Intervention.
	Marks struct {
		Mask bool     `json:"mask,omitempty"` // no token of it trains
		Drop bool     `json:"drop,omitempty"` // in no export and no baseline
		Tags []string `json:"tags,omitempty"`
		Note string   `json:"note,omitempty"`
		By   string   `json:"by"`
	}
	HandRun struct {
		Turn    int           `json:"turn"`
		At      Gate          `json:"at"`
		Script  string        `json:"script"`
		Look    bool          `json:"look,omitempty"` // in a copy that was thrown away
		Exit    int           `json:"exit"`
		Output  string        `json:"output"`
		Dropped int64         `json:"dropped,omitempty"` // bytes of output not in Output
		Wall    time.Duration `json:"wall_ns"`
		Problem string        `json:"problem,omitempty"` // why it did not run, or not to its end
	}
	// RequestStopped says how much of a reply had come when it was thrown away.
	RequestStopped struct {
		Turn   int           `json:"turn"`
		Tokens *int          `json:"tokens"` // nil where the endpoint does not say
		Wall   time.Duration `json:"wall_ns"`
		By     string        `json:"by"` // operator
	}
	// Shell of a person. What was typed in it is not known, so it cannot be repeated.
	Shell struct {
		Turn    int           `json:"turn"`
		At      Gate          `json:"at,omitempty"`
		Look    bool          `json:"look,omitempty"` // in a copy that was thrown away
		Open    bool          `json:"open"`           // else it was left
		Wall    time.Duration `json:"wall_ns,omitempty"`
		Problem string        `json:"problem,omitempty"` // why it did not open, or how it was lost
	}
	// Breakpoint is one as a person wrote it; the same ID again changes it.
	Breakpoint struct {
		ID   int    `json:"id"`
		Text string `json:"text"`
		Off  bool   `json:"off,omitempty"` // kept, and not looked at
		By   string `json:"by"`            // operator
	}
	BreakpointRemoved struct {
		ID int    `json:"id"`
		By string `json:"by"`
	}
	// BreakpointHit says that a trajectory met a breakpoint, and was held there
	// unless Log.
	BreakpointHit struct {
		ID      int    `json:"id"`
		Text    string `json:"text"`
		Turn    int    `json:"turn"`
		At      Gate   `json:"at"`
		Log     bool   `json:"log,omitempty"`
		Hits    int    `json:"hits"`    // of this breakpoint so far
		Matches int    `json:"matches"` // its condition was true, for every=n
	}
	// Intervention is a change that makes the trajectory intervened.
	Intervention struct {
		Verb   string `json:"verb"` // inject, edit, reject, replace, force_finish, …
		Turn   int    `json:"turn"`
		At     Gate   `json:"at"`
		By     string `json:"by"` // operator
		Before string `json:"before,omitempty"`
		After  string `json:"after,omitempty"`
		As     string `json:"as,omitempty"` // inject: tool; "" is user
	}
)

// NewEvent with its payload encoded. Time is given by the caller, Seq by the store.
func NewEvent(at time.Time, key Key, kind Kind, payload any) Event {
	data, err := json.Marshal(payload)
	if err != nil {
		panic("sessions: payload of " + string(kind) + " cannot be encoded: " + err.Error()) // the payload types above always can
	}
	return Event{Time: at, Key: key, Kind: kind, Data: data}
}

// ReadEvent gives the decoded payload of an event to use; the error names the event.
func ReadEvent[T any](e Event, use func(T)) error {
	var payload T
	if err := json.Unmarshal(e.Data, &payload); err != nil {
		return fmt.Errorf("read event %d (%s): %w", e.Seq, e.Kind, err)
	}
	use(payload)
	return nil
}
