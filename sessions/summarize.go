package sessions

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Outcome is what became of a run's trajectories, as sums.
type Outcome struct {
	Groups  int
	N       int // trajectories of each group
	Turns   int
	Sampled int // tokens
	// Of the members those count that have a reward and were changed or dropped by
	// nobody, children of a fork not; each of these is nil when none does.
	MeanReward *float64
	PassAt1    *float64 // mean over the groups of the share of their members that are solved
	PassAtN    *float64 // share of groups with a solved member
}

// tally of a group for pass@k.
type tally struct{ rewarded, solved int }

func outcome(run Run, rows []Trajectory) Outcome {
	o := Outcome{N: run.N}
	member := make(map[Key]bool, len(run.Members))
	groups := map[string]*tally{}
	for _, k := range run.Members {
		member[k] = true
		groups[k.Instance] = &tally{}
	}
	o.Groups = len(groups)
	var sum float64
	var rewarded int
	for _, t := range rows {
		o.Turns += t.Turn
		o.Sampled += t.Sampled
		if !member[t.Key] || !t.Counts() {
			continue
		}
		rewarded++
		sum += *t.Reward
		g := groups[t.Instance]
		g.rewarded++
		if *t.Reward >= 1 {
			g.solved++
		}
	}
	if rewarded > 0 {
		mean := sum / float64(rewarded)
		o.MeanReward = &mean
	}
	o.passes(groups)
	return o
}

func (o *Outcome) passes(groups map[string]*tally) {
	var one, any float64
	n := 0
	for _, g := range groups {
		if g.rewarded == 0 {
			continue
		}
		n++
		one += float64(g.solved) / float64(g.rewarded)
		if g.solved > 0 {
			any++
		}
	}
	if n > 0 {
		one, any = one/float64(n), any/float64(n)
		o.PassAt1, o.PassAtN = &one, &any
	}
}

// sizeOf is what the files of a run's folder take on disk.
func sizeOf(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return gone(err)
		}
		info, err := d.Info()
		if err != nil {
			return gone(err)
		}
		bytes += info.Size()
		return nil
	})
	return bytes, err
}

// gone: the files beside a database come and go while it is written.
func gone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
