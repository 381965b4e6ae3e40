package sessions

// FinishReason is why the run stage of a trajectory ended (design table; the
// SkyRL-Agent name of each is in docs/exports.md).
type FinishReason string

// The finish reasons.
const (
	FinishTool            FinishReason = "finish_tool"
	FinalAnswer           FinishReason = "final_answer"
	ContextWindowExceeded FinishReason = "context_window_exceeded"
	MaxIterationsReached  FinishReason = "max_iterations_reached"
	TrajectoryTimeout     FinishReason = "trajectory_timeout"
	ToolTimeout           FinishReason = "tool_timeout"
	StuckInALoop          FinishReason = "stuck_in_a_loop"
	BadLLMResponse        FinishReason = "bad_llm_response"
	NoPatch               FinishReason = "no_patch"
	ErrorInitialization   FinishReason = "error_initialization"
	SandboxLost           FinishReason = "sandbox_lost"
	EndpointLost          FinishReason = "endpoint_lost"
	ErrorEvaluation       FinishReason = "error_evaluation"
	CancelledByPerson     FinishReason = "cancelled"
	ForceFinished         FinishReason = "force_finished"
)

// Rule is what a finish reason means for evaluation and training.
type Rule struct {
	Evaluated bool // the verifier is run
	Masked    bool // its tokens are kept out of the gradient
	Reward    bool // it can carry a reward (no_patch carries 0 without a verifier)
}

var rules = map[FinishReason]Rule{
	FinishTool:            {Evaluated: true, Reward: true},
	FinalAnswer:           {Evaluated: true, Reward: true},
	ContextWindowExceeded: {Evaluated: true, Masked: true, Reward: true},
	MaxIterationsReached:  {Evaluated: true, Masked: true, Reward: true},
	TrajectoryTimeout:     {Evaluated: true, Masked: true, Reward: true},
	ToolTimeout:           {Evaluated: true, Masked: true, Reward: true},
	StuckInALoop:          {Evaluated: true, Masked: true, Reward: true},
	BadLLMResponse:        {Evaluated: true, Masked: true, Reward: true},
	NoPatch:               {Reward: true},
	ErrorInitialization:   {Masked: true},
	SandboxLost:           {Masked: true},
	EndpointLost:          {Masked: true},
	ErrorEvaluation:       {Masked: true},
	CancelledByPerson:     {Masked: true},
	ForceFinished:         {Evaluated: true, Masked: true, Reward: true},
}

// Rule of the reason. An unknown reason is masked and carries no reward.
func (r FinishReason) Rule() Rule {
	if rule, ok := rules[r]; ok {
		return rule
	}
	return Rule{Masked: true}
}

// FinishReasons in the order of the table.
func FinishReasons() []FinishReason {
	return []FinishReason{FinishTool, FinalAnswer, ContextWindowExceeded, MaxIterationsReached,
		TrajectoryTimeout, ToolTimeout, StuckInALoop, BadLLMResponse, NoPatch, ErrorInitialization,
		SandboxLost, EndpointLost, ErrorEvaluation, CancelledByPerson, ForceFinished}
}
