package export

import (
	"math"

	"rollbench/sessions"
)

// metrics of a run under the names that SkyRL-Agent gives them
// (skyrl-agent/skyrl_agent/agents/base.py, _post_process_results). They tell
// of every ended trajectory of the scope, written or not. Two differ with
// reason: raw_reward is the mean of the rewards there are, where SkyRL-Agent
// takes 0 for those that are absent, and nothing is filled with a sibling's
// result.
type metrics struct {
	all     []sessions.Trajectory
	perTraj []int // calls, as the next
	others  []int // without finish
	byTool  map[string]int
}

func newMetrics(all []sessions.Trajectory) *metrics {
	return &metrics{all: all, byTool: map[string]int{}}
}

// calls that a trajectory made.
func (m *metrics) calls(turns []sessions.Turn) {
	total, others := 0, 0
	for i := range turns {
		if turns[i].Superseded {
			continue
		}
		for _, c := range turns[i].Calls {
			m.byTool[c.Name]++
			total++
			if c.Name != "finish" {
				others++
			}
		}
	}
	m.perTraj, m.others = append(m.perTraj, total), append(m.others, others)
}

// ratios of trajectories, by finish reason. error_runtime is what SkyRL-Agent
// calls a lost sandbox and a lost endpoint alike.
var ratios = map[string][]sessions.FinishReason{
	"finish_tool_ratio":     {sessions.FinishTool},
	"context_exceed_ratio":  {sessions.ContextWindowExceeded},
	"iter_cap_ratio":        {sessions.MaxIterationsReached},
	"stuck_in_a_loop_ratio": {sessions.StuckInALoop},
	"error_runtime":         {sessions.SandboxLost, sessions.EndpointLost},
	"error_evaluation":      {sessions.ErrorEvaluation},
	"bad_llm_response":      {sessions.BadLLMResponse},
}

// names are the metrics by name; none when no trajectory has ended.
func (m *metrics) names() map[string]float64 {
	out := map[string]float64{}
	if len(m.all) == 0 {
		return out
	}
	put := func(name string, v float64) { out["rollout_metrics/"+name] = v }
	n := float64(len(m.all))
	for name, reasons := range ratios {
		count := 0
		for _, t := range m.all {
			for _, r := range reasons {
				if t.Finish == string(r) {
					count++
				}
			}
		}
		put(name, float64(count)/n)
	}
	var turns, rewards, sum, masked, maskedSolved, empty float64
	for _, t := range m.all {
		turns += float64(t.Turn)
		if t.Turn == 0 {
			empty++
		}
		if t.Reward != nil {
			rewards, sum = rewards+1, sum+*t.Reward
		}
		if maskReason(t.Finish) != "" {
			masked++
			if t.Reward != nil && *t.Reward > 0 {
				maskedSolved++
			}
		}
	}
	put("avg_turn_assistant", turns/n)
	put("num_empty_messages", empty)
	put("num_mask_out", masked)
	put("num_mask_non_zero_reward", maskedSolved)
	if rewards > 0 {
		put("raw_reward", sum/rewards)
	}
	all, none := m.resolved()
	put("num_all_resolved", all)
	put("num_none_resolved", none)
	spread(put, "tool_calls", m.perTraj)
	spread(put, "tool_calls_no_finish", m.others)
	for name, count := range m.byTool {
		put("tool_name/"+name, float64(count))
	}
	return out
}

// resolved counts the instances of which every trajectory, and of which none,
// has a reward above 0.
func (m *metrics) resolved() (all, none float64) {
	total, solved := map[string]int{}, map[string]int{}
	for _, t := range m.all {
		total[t.Instance]++
		if t.Reward != nil && *t.Reward > 0 {
			solved[t.Instance]++
		}
	}
	for instance, n := range total {
		switch solved[instance] {
		case 0:
			none++
		case n:
			all++
		}
	}
	return all, none
}

func spread(put func(string, float64), name string, counts []int) {
	if len(counts) == 0 {
		return
	}
	sum, least, most := 0, math.MaxInt, 0
	for _, c := range counts {
		sum, least, most = sum+c, min(least, c), max(most, c)
	}
	put(name+"_total", float64(sum))
	put(name+"_per_traj_mean", float64(sum)/float64(len(counts)))
	put(name+"_per_traj_min", float64(least))
	put(name+"_per_traj_max", float64(most))
}

// PassAt is pass@k: the chance that one of k trajectories solves its instance.
type PassAt struct {
	K         int     `json:"k"`
	Value     float64 `json:"value"`
	Instances int     `json:"instances"` // those with k members or more
}

// passAt estimates pass@k without bias, 1 − C(n−c, k)/C(n, k) for an instance
// with c of n solved (reward 1 or more), for every k up to the largest group.
// Members without a reward are no part of n, and neither are forks.
func passAt(groups []Group) []PassAt {
	out := []PassAt{}
	for k := 1; ; k++ {
		p := PassAt{K: k}
		for _, g := range groups {
			if g.Fork > 0 { // they begin where another had come to
				continue
			}
			n, c := len(g.Rewards), 0
			for _, r := range g.Rewards {
				if r >= 1 {
					c++
				}
			}
			if n >= k {
				p.Instances++
				p.Value += passes(n, c, k)
			}
		}
		if p.Instances == 0 {
			return out
		}
		p.Value /= float64(p.Instances)
		out = append(out, p)
	}
}

// passes is 1 − C(n−c, k)/C(n, k), as a product so that nothing overflows.
func passes(n, c, k int) float64 {
	if n-c < k {
		return 1
	}
	fail := 1.0
	for i := n - c + 1; i <= n; i++ {
		fail *= 1 - float64(k)/float64(i)
	}
	return 1 - fail
}
