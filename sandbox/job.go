package sandbox

import (
	"context"
	"fmt"
	"time"
)

// job is one command of a shell, from its start to its end. A goroutine of its own
// waits for that end and sees to the hard limit, also while nobody else waits.
type job struct {
	gen      *generation
	tree     Tree // without Age, which grows
	began    time.Time
	limit    time.Duration // 0: none
	marked   <-chan struct{}
	reported <-chan report

	stop chan End      // how it is to end, by its only waiter; room for one
	done chan struct{} // closed once the rest is set
	rep  report
	res  Result // End, ExitCode, Fresh, Stopped
	err  error

	stopped []int // set before stop gets Stopped
}

// closedEnd is the end of a command whose shell is closed.
const closedEnd End = ""

func (j *job) over() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

func (j *job) aged() Tree {
	t := j.tree
	t.Age = time.Since(j.began)
	return t
}

// start feeds a command to the shell.
func (sh *shell) start(c Command) *job {
	sh.seq++
	gen := sh.gen
	mark, nonce := inShell(sh.group, sh.seq), newNonce()
	j := &job{gen: gen, tree: Tree{Mark: mark, Group: sh.group, Root: sh.last.pid}, began: time.Now(), limit: c.Timeout,
		marked: gen.out.arm(nonce, false), reported: gen.reports.expect(nonce), stop: make(chan End, 1), done: make(chan struct{})}
	gen.feed("command export " + MarkVar + "=" + quote(mark) + "\n" +
		"eval " + quote(c.Script) + " <&7 >&9 2>&9 7<&- 8>&- 9>&-\n" + endLines(nonce))
	go func() {
		defer close(j.done)
		end := j.await(sh.closes)
		j.err = sh.settle(j, end)
		if j.res.End != Stopped {
			gen.out.disarm() // else the marker is still to come, and nobody's
		}
	}()
	return j
}

// await waits for the command's end: its marker and its report, or the end of the
// shell itself.
func (j *job) await(closes <-chan struct{}) End {
	var hard <-chan time.Time
	if j.limit > 0 {
		t := time.NewTimer(j.limit - time.Since(j.began))
		defer t.Stop()
		hard = t.C
	}
	var marked <-chan struct{}
	for {
		select {
		case j.rep = <-j.reported:
			marked = j.marked // read before the report would be early
		case <-marked:
			return Exited
		case <-j.gen.exited:
			return Exited
		case <-hard:
			return TimedOut
		case end := <-j.stop:
			return end
		case <-closes:
			return closedEnd
		}
	}
}

// settle turns the way a command ended into its result. A shell that is gone
// is replaced by the next Run.
func (sh *shell) settle(j *job, end End) error {
	gen := j.gen
	j.res = Result{End: end, ExitCode: -1}
	if end == Stopped {
		j.res.Stopped, j.res.Fresh = j.stopped, true
		return nil
	}
	if end == Exited && !gen.gone() {
		j.res.ExitCode = j.rep.code
		sh.took(j.rep)
		return nil
	}
	j.res.Fresh = true
	if end == Exited {
		// exit, exec or a kill of the shell: what it left behind goes on.
		drain(sh.out, gen.ended)
		if gen.err != nil {
			return fmt.Errorf("shell: %w", gen.err)
		}
		j.res.ExitCode = gen.code
		if j.rep.nonce != "" {
			j.res.ExitCode = j.rep.code
			sh.took(j.rep)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), killLimit)
	defer cancel()
	if err := sh.s.KillTree(ctx, j.aged()); err != nil {
		gen.unkilled = true
		return fmt.Errorf("kill command: %w", err)
	}
	select {
	case <-gen.exited:
	case <-ctx.Done():
		gen.unkilled = true
		return fmt.Errorf("kill command: its shell did not end: %w", ctx.Err())
	}
	drain(sh.out, gen.ended)
	if gen.err != nil {
		return fmt.Errorf("shell: %w", gen.err)
	}
	if end == closedEnd {
		return errShellClosed // Close came in the middle of the command
	}
	return nil
}

// end ends the command and waits until it is over. It may have ended by itself.
func (j *job) end(how End) {
	select {
	case j.stop <- how:
	default: // it is told already
	}
	<-j.done
}

// attend waits for the job until it is over or idle; out is attached to the sink.
// Result.Wall counts from began.
func (sh *shell) attend(ctx context.Context, j *job, began time.Time, idle time.Duration, leave bool, out *Collector) (Result, error) {
	how := watch(ctx, Command{Idle: idle}, began, out, j.done)
	res, err := Result{End: Left, ExitCode: -1}, error(nil)
	if how != IdledOut || !leave {
		if how != Exited {
			j.end(how)
		}
		<-j.done
		res, err = j.res, j.err
	}
	sh.out.detach()
	out.Fill(&res)
	res.Wall = time.Since(began)
	res.NoInput = sh.noInput
	if res.End == Left {
		sh.leave(j)
		return res, nil
	}
	sh.leave(nil)
	if res.End != Exited && sh.term != nil {
		sh.term.used = true // a killed program leaves its modes as it had set them
	}
	return res, err
}

// leave remembers the job to be continued.
func (sh *shell) leave(j *job) {
	sh.state.Lock()
	defer sh.state.Unlock()
	sh.left = j
}
