package compare

import "rollbench/sessions"

// Why a trajectory is left out of what is compared.
const (
	Unfinished = "not_ended"
	Dropped    = "dropped"
	Intervened = "intervened"
	NoReward   = "no_reward"
	NoTurn     = "no_turn" // a reward without a turn says nothing of the policy
	Forked     = "forked"  // outside the set that was fixed at the start
)

// Left says why a trajectory is left out of what the policy did (finish reasons,
// turns, tokens, tools), "" when it is in.
func Left(t sessions.Trajectory, intervened bool) string {
	switch {
	case t.Dropped:
		return Dropped
	case t.Intervened && !intervened:
		return Intervened
	case !t.State.Ended():
		return Unfinished
	}
	return ""
}

// Unrated says why a trajectory is also left out of rewards and pass@k, "" when it
// counts: absent is not 0, masked ones with a reward are in.
func Unrated(t sessions.Trajectory, intervened bool) string {
	switch why := Left(t, intervened); {
	case why != "":
		return why
	case t.Reward == nil:
		return NoReward
	case t.Turn == 0:
		return NoTurn
	}
	return ""
}

// Solved reports whether the reward says so.
func Solved(t sessions.Trajectory) bool { return t.Reward != nil && *t.Reward >= 1 }
