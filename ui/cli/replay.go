package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rollbench/sessions"
	"rollbench/ui"
	"rollbench/ui/replay"
)

func (a *app) replayCommand() *cobra.Command {
	var speed, from string
	c := &cobra.Command{
		Use:   "replay [RUN]",
		Short: "Play a recorded run as if it happened now",
		Long: `Play a recorded run (default: the newest) in the workbench as if it happened now:
the same views, queues and gauges, the list and the transcripts growing turn by
turn, by the run's own clock. Nothing is changed and no work is done. Where a run
was left and resumed, the time between is left out and marked.

  ( )   slower, faster      |   pause, go on      , ;   back, forward

What was not recorded is absent: a reply before it was whole, the output of a
tool that still ran, each of several GPUs by itself.

Without a screen, or with --headless, each trajectory's end is a line.`,
		Example: `  rollbench replay
  rollbench replay r-1129-1842 --speed 10
  rollbench replay latest --from 12m30s --speed max --headless`,
		Args:              atMostOne,
		ValidArgsFunction: completeRuns,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			pace, err := parseSpeed(speed)
			if err != nil {
				return bad(err)
			}
			p, err := openReplay(cmd.Context(), runArg(args), from, pace)
			if err != nil {
				return bad(err)
			}
			defer func() { err = errors.Join(err, p.Close()) }()
			if a.flags.headless || !a.canDraw() {
				return a.tellReplay(cmd.Context(), p)
			}
			return a.showReplay(cmd.Context(), p)
		},
	}
	c.Flags().StringVar(&speed, "speed", "1", "`TIMES` as fast as it happened, 0.1 to 1000, or max")
	c.Flags().StringVar(&from, "from", "0s", "begin at this `TIME` of the recording: 12m30s, 00:12:30 or 50%")
	c.Flags().BoolVar(&a.flags.headless, "headless", false, "no screen: a line for each trajectory that ends")
	offer(c, "speed", "0.5", "1", "10", "100", "max")
	return c
}

// parseSpeed takes 10, x10, ×10, 10x and max.
func parseSpeed(s string) (float64, error) {
	if s == "max" {
		return replay.Max, nil
	}
	number := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(s, "×"), "x"), "x")
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !(f >= replay.Slowest && f <= replay.Fastest) {
		return 0, fmt.Errorf("--speed %s: it takes %g to %d, or max", s, replay.Slowest, replay.Fastest)
	}
	return f, nil
}

// parseFrom takes a duration, a clock, or a share of the length in percent.
func parseFrom(s string, length time.Duration) (time.Duration, error) {
	wrong := fmt.Errorf("--from %s: it takes a time of the recording as 12m30s or 00:12:30, or a share of it as 50%%", s)
	if share, ok := strings.CutSuffix(s, "%"); ok {
		f, err := strconv.ParseFloat(share, 64)
		if err != nil || !(f >= 0 && f <= 100) {
			return 0, wrong
		}
		return time.Duration(f / 100 * float64(length)), nil
	}
	if strings.Contains(s, ":") {
		total := time.Duration(0)
		parts := strings.Split(s, ":")
		for _, p := range parts {
			n, err := strconv.Atoi(p)
			if err != nil || n < 0 || len(parts) > 3 || n > 100_000 {
				return 0, wrong
			}
			total = 60*total + time.Duration(n)*time.Second
		}
		return total, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, wrong
	}
	return d, nil
}

func openReplay(ctx context.Context, id, from string, speed float64) (_ *replay.Player, err error) {
	dir, err := home()
	if err != nil {
		return nil, err
	}
	r, err := sessions.OpenReader(ctx, dir, id)
	if err != nil {
		return nil, err
	}
	p, err := replay.Open(ctx, r, 0, speed)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	length := p.Position().Length
	at, err := parseFrom(from, length)
	if err == nil && at > length {
		err = fmt.Errorf("--from %s: the recording of run %s is %s long", from, r.Run().ID, length.Round(time.Second))
	}
	if err == nil && length == 0 {
		err = fmt.Errorf("run %s has nothing to replay: nothing happened in it", r.Run().ID)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.Skip(at)
	return p, nil
}

func (a *app) showReplay(ctx context.Context, p *replay.Player) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	dir, err := home()
	if err != nil {
		return bad(err)
	}
	folder, err := sessions.Find(ctx, dir, p.Run().ID)
	if err != nil {
		return bad(err)
	}
	going := func() (bool, error) { // at the end of the recording it may go on all the same
		if !p.Position().Over {
			return true, nil
		}
		pid, err := sessions.WriterOf(folder)
		return pid != 0, err
	}
	err = ui.Run(ctx, ui.Options{Replay: p, Written: going, WhatIf: whatIfOf(p), Spell: spellingOf(p.Run()), NoColor: os.Getenv("NO_COLOR") != "", Theme: c.UI.Theme, Mouse: c.UI.Mouse})
	if err != nil {
		return &exit{1, fmt.Errorf("replay run %s: %w", p.Run().ID, err)}
	}
	return nil
}

// tellReplay prints the end of each trajectory when the replay comes to it.
func (a *app) tellReplay(ctx context.Context, p *replay.Player) error {
	wake, cancel := p.Wake()
	defer cancel()
	lines, run, at := plain{a.out}, p.Run(), p.Position()
	fmt.Fprintf(lines, "replay of run %s: %s, %s, %s%s, %s long\n", run.ID, run.Title, count(len(run.Members), "trajectory"), run.Model, simulatedMark(run.Simulate), at.Length.Round(time.Second))
	told, part := map[sessions.Key]bool{}, 0
	for {
		over := p.Position().Over // asked before: what is read then is all
		rows, _, err := p.Trajectories(ctx)
		if err != nil {
			return &exit{1, err}
		}
		at = p.Position()
		for part+1 < len(at.Parts) && at.Parts[part+1].At <= at.At {
			part++
			fmt.Fprintf(lines, "[%s] the run was left and resumed %s later\n", elapsed(at.Parts[part].At), took(at.Parts[part].Away))
		}
		for _, t := range rows {
			if t.State.Ended() && !told[t.Key] {
				told[t.Key] = true
				if _, err := fmt.Fprintln(lines, endLine(len(told), len(rows), at.At, t)); err != nil {
					return &exit{1, err}
				}
			}
		}
		if over {
			_, err := fmt.Fprintf(lines, "end of the recording after %s: %d of %d have ended\n", at.Length.Round(time.Second), len(told), len(rows))
			return err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return &exit{1, errors.New("interrupted")}
		}
	}
}

func elapsed(d time.Duration) string { return fmt.Sprintf("%6.1fs", d.Seconds()) }
