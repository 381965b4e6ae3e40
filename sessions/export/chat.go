package export

import (
	"rollbench/sessions"
)

// chat writes one conversation a trajectory, for supervised fine-tuning: the
// messages as the policy was sent them and its replies, up to the last reply.
// Replies that were superseded are not in it.
type chat struct{ *lines }

// message as chat templates and fine-tuning files have it. Weight is on
// assistant messages only: 1 trains, 0 is there for the context.
type message struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	Reasoning  string `json:"reasoning_content,omitempty"`
	Calls      []call `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
	Name       string `json:"name,omitempty"`
	Weight     *int   `json:"weight,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"` // as the model wrote it
	} `json:"function"`
}

// trajectory: one of which no token trains has no row, as a fine-tuning
// program that knows no weights would learn all of it.
func (f chat) trajectory(c chosen, replies []reply) error {
	if c.mask() != "" {
		f.sum.LeftMasked++
		return nil
	}
	var messages []message
	trained := 0
	for _, r := range replies {
		for _, m := range r.New {
			one := message{Role: m.Role, Content: m.Content, Reasoning: m.Reasoning, Calls: calls(m.Calls), ToolCallID: m.ToolCallID, Name: m.Name}
			if m.Role == "assistant" { // an example of the task: nobody sampled it
				one.Weight = new(int)
			}
			messages = append(messages, one)
		}
		weight := 0
		if r.trains() && (r.Content != "" || r.Reasoning != "" || len(r.Calls) > 0) {
			weight, trained = 1, trained+1
		}
		m := message{Role: "assistant", Content: r.Content, Reasoning: r.Reasoning, Weight: &weight}
		if !r.Inline { // else they stand in the content
			m.Calls = calls(r.Calls)
		}
		messages = append(messages, m)
	}
	if trained == 0 {
		f.sum.NoTokens++
		return nil
	}
	f.sum.TrainMessages += trained
	if f.opt.Tools == nil {
		f.sum.NoTools++
	}
	o := f.object()
	o.text("instance_id", c.Instance)
	o.integer("trajectory_id", c.ID)
	o.value("messages", messages)
	o.raw("tools", f.opt.Tools)
	o.float("reward", c.Reward)
	o.about(c)
	return f.end(o)
}

func calls(in []sessions.Call) []call {
	var out []call
	for _, c := range in {
		one := call{ID: c.ID, Type: "function"}
		one.Function.Name, one.Function.Arguments = c.Name, c.Arguments
		out = append(out, one)
	}
	return out
}
