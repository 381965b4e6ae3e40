package export

import (
	"fmt"
	"math"

	"rollbench/sessions"
)

// Group is the baseline of an instance, or of the children of one fork: the
// trajectories whose rewards the advantages were computed from, in queue order.
type Group struct {
	Instance string    `json:"instance_id"`
	Fork     int       `json:"fork,omitempty"` // the first child's trajectory_id; 0: no fork
	IDs      []int     `json:"trajectory_ids"`
	Rewards  []float64 `json:"rewards"`
	Flag     string    `json:"flag,omitempty"` // groupOfOne, noVariance
}

// Flags of a group that teaches nothing: nobody to compare with, or all alike.
const (
	groupOfOne = "one"
	noVariance = "no_variance"
)

// baselines of the trajectories that are to be written, whose advantages they
// set.
func baselines(list []chosen, kind string) []Group {
	var groups []Group
	place := map[string]int{}
	for _, c := range list {
		if !c.written {
			continue
		}
		at, there := place[c.group]
		if !there {
			at = len(groups)
			place[c.group] = at
			g := Group{Instance: c.Instance}
			if c.Fork != nil {
				g.Fork = c.Fork.Group
			}
			groups = append(groups, g)
		}
		groups[at].IDs = append(groups[at].IDs, c.ID)
		groups[at].Rewards = append(groups[at].Rewards, *c.Reward)
	}
	for i := range groups {
		groups[i].Flag = flag(groups[i].Rewards)
	}
	seen := map[string]int{}
	for i := range list {
		if list[i].written {
			group := list[i].group
			list[i].advantage = advantage(kind, groups[place[group]].Rewards, seen[group])
			seen[group]++
		}
	}
	return groups
}

// groupOf names whom a trajectory is compared with: those of its instance, or of
// the fork that it is of.
func groupOf(t sessions.Trajectory) string {
	if t.Fork == nil {
		return t.Instance
	}
	return Group{Instance: t.Instance, Fork: t.Fork.Group}.name()
}

// name of the group where a format knows groups by a name.
func (g Group) name() string {
	if g.Fork == 0 {
		return g.Instance
	}
	return fmt.Sprintf("%s/fork-%d", g.Instance, g.Fork)
}

func flag(rewards []float64) string {
	if len(rewards) < 2 {
		return groupOfOne
	}
	for _, r := range rewards {
		if r != rewards[0] {
			return ""
		}
	}
	return noVariance
}

// advantage of member i of a group; nil in a group of one, which has nothing
// to compare with. None is divided by lengths.
//
//	loo          r − mean of the others (SkyRL's "loop", skyrl/train/utils/trainer_utils.py)
//	mean         r − mean (tinker_cookbook/rl/data_processing.py)
//	grpo         (r − mean) / (std + 1e-6), std with n−1 (SkyRL's ppo_utils.py, verl/trainer/ppo/core_algos.py)
//	grpo-no-std  r − mean (grpo_norm_by_std=false of the same)
func advantage(kind string, rewards []float64, i int) *float64 {
	n := float64(len(rewards))
	if n < 2 {
		return nil
	}
	var others float64
	for j, r := range rewards {
		if j != i {
			others += r
		}
	}
	a := rewards[i] - others/(n-1)
	if kind != "loo" {
		a = rewards[i] - mean(rewards)
	}
	if kind == "grpo" {
		a /= deviation(rewards) + 1e-6
	}
	return &a
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// deviation is the standard deviation of a sample (n−1).
func deviation(values []float64) float64 {
	center, sum := mean(values), 0.0
	for _, v := range values {
		sum += (v - center) * (v - center)
	}
	return math.Sqrt(sum / float64(len(values)-1))
}
