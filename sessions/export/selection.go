package export

import (
	"fmt"

	"rollbench/sessions"
)

// chosen is a trajectory of the export's scope.
type chosen struct {
	sessions.Trajectory
	group     string // whom it is compared with
	written   bool   // else it only counts in the metrics
	advantage *float64
	did       []intervention
	barred    bool // signs of tampering, and those are to be masked
}

// NoFinishReason is the mask reason of a trajectory that ended without one:
// why its tokens stop where they do is not known.
const NoFinishReason = "no_finish_reason"

// mask is why no token of the trajectory trains, "" when they do.
func (c chosen) mask() string {
	switch reason := maskReason(c.Finish); {
	case reason != "":
		return reason
	case c.Masked:
		return sessions.MaskedByPerson
	case c.barred:
		return MaskedTampering
	}
	return ""
}

// MaskedTampering is the mask reason of a trajectory with signs of tampering, where
// the options mask those.
const MaskedTampering = "tampering"

func maskReason(finish string) string {
	switch {
	case finish == "":
		return NoFinishReason
	case sessions.FinishReason(finish).Rule().Masked:
		return finish
	}
	return ""
}

// choose decides which trajectories are written and gives each its advantage.
// Those that are not written are counted under their reason. Baselines are
// computed before the filters look: a trajectory with a reward has its place
// in its group's, whatever is written. The list also holds, not to be written,
// the other trajectories that made a turn; all are the ended ones that metrics
// tell of.
func choose(rows []sessions.Trajectory, opt Options, sum *Summary) (list []chosen, all []sessions.Trajectory, err error) {
	lacking := map[string]bool{} // groups with a member that should have a reward and has none
	for _, t := range rows {
		if t.Fork == nil {
			sum.Members++
		} else {
			sum.Forks++
		}
		if !opt.takesInstance(t.Instance) {
			sum.Filtered++
			continue
		}
		missing, ok := consider(t, opt, sum)
		if missing != "" {
			if opt.OnMissing == "error" {
				return nil, nil, fmt.Errorf("trajectory %s has no reward (%s); export with on-missing drop or group, or resume the run", t.Key, missing)
			}
			lacking[groupOf(t)] = true
		}
		if !t.State.Ended() || t.Dropped || opt.dropsTampered(t) || t.Intervened && !opt.IncludeIntervened {
			continue
		}
		if t.Fork == nil { // a fork is no sample of its instance
			all = append(all, t)
		}
		if t.Turn > 0 && (t.Fork == nil || t.Turn >= t.Fork.Turn) {
			list = append(list, chosen{Trajectory: t, group: groupOf(t), written: ok, barred: opt.Tampered == "mask" && len(t.Tampering) > 0})
		}
	}
	if opt.OnMissing == "group" {
		for i := range list {
			if list[i].written && lacking[list[i].group] {
				list[i].written = false
				sum.OfGroup++
			}
		}
	}
	sum.Baselines = baselines(list, opt.Advantage)
	for _, g := range sum.Baselines {
		switch g.Flag {
		case groupOfOne:
			sum.GroupsOfOne++
		case noVariance:
			sum.NoVariance++
		}
	}
	for i := range list {
		c := &list[i]
		if c.written && !opt.takes(c.Finish, c.mask(), *c.Reward) {
			c.written = false
			sum.Filtered++
		}
	}
	return list, all, nil
}

// dropsTampered: as if a person had dropped it.
func (o Options) dropsTampered(t sessions.Trajectory) bool {
	return o.Tampered == "drop" && len(t.Tampering) > 0
}

// consider counts the trajectory if it is left out. missing says why it has no
// reward although it belongs to the set.
func consider(t sessions.Trajectory, opt Options, sum *Summary) (missing string, ok bool) {
	switch {
	case t.Dropped:
		sum.Dropped++
	case opt.dropsTampered(t):
		sum.LeftTampered++
	case t.Fork != nil && !opt.IncludeIntervened:
		sum.LeftForks++
	case t.Intervened && !opt.IncludeIntervened:
		sum.Intervened++
	case !t.State.Ended():
		sum.Unfinished++
		return string(t.State), false
	case t.Reward == nil:
		if t.Turn == 0 || t.Fork != nil && t.Turn < t.Fork.Turn {
			sum.Empty++
		} else {
			sum.NoReward++
		}
		if t.Finish == "" {
			return string(t.State), false
		}
		return t.Finish, false
	case t.Turn == 0 || t.Fork != nil && t.Turn < t.Fork.Turn:
		sum.Empty++ // a reward without a turn says nothing about the policy
	default:
		return "", true
	}
	return "", false
}
