package engine

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"rollbench/engine/dispatch"
	"rollbench/engine/task"
	"rollbench/sessions"
)

// maxRepeats of a verifier. One that needs more is not worth a reward.
const maxRepeats = 20

func (l TimeLimits) checkRepeats() error {
	if n := l.EvalRepeats; n < 0 || n > maxRepeats {
		return fmt.Errorf("limits.eval_repeats is %d: use a number from 1 to %d", n, maxRepeats)
	}
	return nil
}

// verdict of the verifier, run as often as limits.eval_repeats says, one after the
// other under the one claim that eval has. Rewards that differ are no verdict: the
// mean would train on an accident, and the least would call a good patch bad. So the
// reward is absent then, as where the verifier could not run.
func (e *Engine) verdict(ctx context.Context, t *trajectory) (task.Verdict, error) {
	n := max(e.opt.Config.Limits.EvalRepeats, 1)
	var all []task.Verdict
	for range n {
		v, err := e.verdictOnce(ctx, t)
		if err != nil {
			return task.Verdict{}, err
		}
		all = append(all, v)
		if v.Reward == nil { // nothing can make up for it
			break
		}
	}
	if n == 1 {
		return all[0], nil
	}
	v, apart := together(all, n)
	if apart == nil {
		return v, nil
	}
	return v, e.commit(context.WithoutCancel(ctx), t.key, sessions.KindDisagreement, *apart)
}

// verdictOnce has the whole time of eval, its retries included.
func (e *Engine) verdictOnce(ctx context.Context, t *trajectory) (v task.Verdict, err error) {
	limit := time.Duration(e.opt.Config.Limits.Eval)
	limited, cancel := withLimit(ctx, limit)
	defer cancel()
	err = e.retry(limited, t, dispatch.Eval, func() error {
		err := e.pretend(limited, t, dispatch.Eval)
		if err == nil {
			v, err = e.verify(limited, t)
		}
		return err
	})
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		e.struck(t, dispatch.Eval, "limits.eval", limit)
		err = fmt.Errorf("eval took longer than limits.eval = %v: %w", limit, err)
	}
	if err == nil && v.TimedOut > 0 {
		e.tellLimit(t, sessions.LimitStruck{Stage: "eval", Limit: "the task's verifier timeout", Bound: v.TimedOut, For: "the verifier", Waited: v.Wall})
	}
	return v, err
}

// together is one verdict of several repeats out of n; apart says how they differ, nil
// where they do not. Parts are the means over the repeats. Of the output that of
// each outcome's first repeat is kept.
func together(all []task.Verdict, n int) (v task.Verdict, apart *sessions.Disagreement) {
	v = all[0]
	d := sessions.Disagreement{}
	sum, with, differ := 0.0, 0, false
	kept := map[string]bool{}
	var log bytes.Buffer
	var said []string
	v.Wall, v.Parts, v.Log = 0, nil, nil
	for i, r := range all {
		v.Wall += r.Wall
		d.Rewards, d.Notes = append(d.Rewards, r.Reward), append(d.Notes, r.Note)
		outcome := "none"
		if r.Reward != nil {
			sum, with = sum+*r.Reward, with+1
			outcome = strconv.FormatFloat(*r.Reward, 'g', -1, 64)
		}
		differ = differ || !sameReward(all[0].Reward, r.Reward)
		said = append(said, outcome)
		if !kept[outcome] {
			kept[outcome] = true
			fmt.Fprintf(&log, "=== repeat %d of %d: reward %s ===\n%s\n", i+1, n, outcome, r.Log)
		}
	}
	v.Log, v.Parts = log.Bytes(), meanParts(all)
	if !differ {
		if v.Reward != nil {
			v.Note = strings.TrimPrefix(fmt.Sprintf("%s (%d repeats agree)", v.Note, len(all)), " ")
		}
		return v, nil
	}
	if with > 0 {
		mean := sum / float64(with)
		d.Mean = &mean
	}
	v.Reward = nil
	v.Note = fmt.Sprintf("repeats of the verifier differ: rewards %s", strings.Join(said, ", "))
	return v, &d
}

func sameReward(a, b *float64) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// meanParts over the repeats, of the numbers that all of them have.
func meanParts(all []task.Verdict) map[string]float64 {
	means := map[string]float64{}
	for name := range all[0].Parts {
		sum, every := 0.0, true
		for _, v := range all {
			n, there := v.Parts[name]
			sum, every = sum+n, every && there
		}
		if every {
			means[name] = sum / float64(len(all))
		}
	}
	return means
}
