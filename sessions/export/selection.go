package export

import (
	"fmt"

	"rollbench/sessions"
)

// chosen is a trajectory that will be written.
type chosen struct {
	sessions.Trajectory
	advantage *float64
}

// NoFinishReason is the mask reason of a trajectory that ended without one:
// why its tokens stop where they do is not known.
const NoFinishReason = "no_finish_reason"

// mask is why no token of the trajectory trains, "" when they do.
func (c chosen) mask() string {
	if c.Finish == "" {
		return NoFinishReason
	}
	return c.Mask()
}

// choose decides which trajectories are written and gives each its advantage.
// A trajectory that is not written is counted under its reason and is outside
// its group's baseline; every one that is written has a reward and is inside.
func choose(rows []sessions.Trajectory, opt Options, sum *Summary) ([]chosen, error) {
	sum.Members = len(rows)
	lacking := map[string]bool{} // instances with a member that should have a reward and has none
	groups := map[string][]float64{}
	var list []chosen
	for _, t := range rows {
		missing, ok := consider(t, opt, sum)
		if missing != "" {
			if opt.OnMissing == "error" {
				return nil, fmt.Errorf("trajectory %s has no reward (%s); export with on-missing drop or group, or resume the run", t.Key, missing)
			}
			lacking[t.Instance] = true
		}
		if ok {
			list = append(list, chosen{Trajectory: t})
		}
	}
	if opt.OnMissing == "group" {
		kept := list[:0]
		for _, c := range list {
			if lacking[c.Instance] {
				sum.OfGroup++
				continue
			}
			kept = append(kept, c)
		}
		list = kept
	}
	for _, c := range list {
		groups[c.Instance] = append(groups[c.Instance], *c.Reward)
	}
	seen := map[string]int{}
	for i := range list {
		group := list[i].Instance
		list[i].advantage = leaveOneOut(groups[group], seen[group])
		seen[group]++
	}
	return list, nil
}

// consider counts the trajectory if it is left out. missing says why it has no
// reward although it belongs to the set.
func consider(t sessions.Trajectory, opt Options, sum *Summary) (missing string, ok bool) {
	switch {
	case t.Intervened && !opt.IncludeIntervened:
		sum.Intervened++
	case !t.State.Ended():
		sum.Unfinished++
		return string(t.State), false
	case t.Reward == nil:
		if t.Turn == 0 {
			sum.Empty++
		} else {
			sum.NoReward++
		}
		if t.Finish == "" {
			return string(t.State), false
		}
		return t.Finish, false
	case t.Turn == 0:
		sum.Empty++ // a reward without a turn says nothing about the policy
	default:
		return "", true
	}
	return "", false
}

// leaveOneOut is the reward of member i minus the mean of the others'; nil in
// a group of one.
func leaveOneOut(rewards []float64, i int) *float64 {
	if len(rewards) < 2 {
		return nil
	}
	var others float64
	for j, r := range rewards {
		if j != i {
			others += r
		}
	}
	a := rewards[i] - others/float64(len(rewards)-1)
	return &a
}
