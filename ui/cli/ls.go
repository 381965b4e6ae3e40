package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"rollbench/sandbox/docker"
	"rollbench/sessions"
)

// listed is what ls was asked for.
type listed struct {
	state, tasks string
	words        []string
	sort         string
	limit        int
}

// listStates are what --state takes.
var listStates = []string{string(sessions.RunRunning), string(sessions.RunStopped), string(sessions.RunFinished), "unreadable"}

func (a *app) lsCommand() *cobra.Command {
	var q listed
	c := &cobra.Command{
		Use:   "ls [TEXT…]",
		Short: "List runs with their outcome",
		Long: `List runs with their outcome, newest first; with TEXT those whose id, tasks, model
or policy have all the texts in them.

SOLVED are trajectories with a reward of 1 or more. REWARD is the mean over those
that have one, PASS@1 the mean share of each group's members that are solved, PASS@N
(N: the members of a group) the share of groups with one; trajectories that a person
changed or dropped are outside of all three. TURNS and TOKENS (sampled) are sums.

Where a terminal is too narrow, names of tasks are cut to 20 columns, then these
columns are left out, the first ones first:
` + strings.Join(leaveOut()[:6], ", ") + `,
` + strings.Join(leaveOut()[6:], ", ") + `.`,
		Example: `  rollbench ls
  rollbench ls --state stopped --sort size
  rollbench ls swe-mini qwen --limit 5 --json`,
		RunE: func(cmd *cobra.Command, words []string) error {
			q.words = words
			if err := q.check(); err != nil {
				return bad(err)
			}
			dir, err := home()
			if err != nil {
				return bad(err)
			}
			all, err := sessions.List(cmd.Context(), dir)
			if err != nil {
				return &exit{1, err}
			}
			runs := q.choose(all)
			if a.flags.json {
				return a.listJSON(runs)
			}
			return a.listText(runs, len(all))
		},
	}
	c.Flags().BoolVar(&a.flags.json, "json", false, "one JSON line a run")
	c.Flags().StringVar(&q.state, "state", "", "only runs in that `STATE`: "+strings.Join(listStates, ", "))
	c.Flags().StringVar(&q.tasks, "tasks", "", "only runs whose tasks have this `TEXT` in their name")
	c.Flags().StringVar(&q.sort, "sort", "started", "sort by a `COLUMN`, the largest first; with a - before it the other way round")
	c.Flags().IntVar(&q.limit, "limit", 0, "only the first `N`")
	offer(c, "state", listStates...)
	offer(c, "sort", sortNames()...)
	return c
}

func (q *listed) check() error {
	if q.state != "" && !slices.Contains(listStates, q.state) {
		return fmt.Errorf("--state %s: there are %s", q.state, strings.Join(listStates, ", "))
	}
	if q.limit < 0 {
		return fmt.Errorf("--limit %d: use a number above 0, or none", q.limit)
	}
	if name := strings.TrimPrefix(q.sort, "-"); !slices.Contains(sortNames(), name) {
		return fmt.Errorf("--sort %s: it takes %s", q.sort, strings.Join(sortNames(), ", "))
	}
	return nil
}

// choose the runs that were asked for, in their order.
func (q *listed) choose(all []sessions.Summary) []sessions.Summary {
	var out []sessions.Summary
	for _, r := range all {
		if q.wants(&r) {
			out = append(out, r)
		}
	}
	name, back := strings.CutPrefix(q.sort, "-")
	by := columnOf(name).order
	slices.SortStableFunc(out, func(a, b sessions.Summary) int {
		switch {
		case (a.Problem == "") != (b.Problem == ""): // what cannot be read is last
			return cmp.Compare(len(a.Problem), len(b.Problem))
		case back:
			return by(&a, &b)
		}
		return by(&b, &a)
	})
	if q.limit > 0 && len(out) > q.limit {
		out = out[:q.limit]
	}
	return out
}

func (q *listed) wants(r *sessions.Summary) bool {
	has := func(text, part string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(part)) }
	state := string(r.State)
	if r.Problem != "" {
		state = "unreadable"
	}
	if q.state != "" && state != q.state || !has(r.Title, q.tasks) {
		return false
	}
	for _, w := range q.words {
		if !has(strings.Join([]string{r.ID, r.Title, r.Model, r.Policy}, " "), w) {
			return false
		}
	}
	return true
}

// column of the list. Those with a rank are left out where there is no room for
// all, the highest rank first.
type column struct {
	name  string
	right bool
	rank  int
	text  func(r *sessions.Summary) string
	order func(a, b *sessions.Summary) int
}

// number is a column of counts or shares, sorted by them; what is absent comes last.
func number(name string, rank int, value func(r *sessions.Summary) float64, text func(r *sessions.Summary) string) column {
	return column{name, true, rank, text, func(a, b *sessions.Summary) int { return cmp.Compare(value(a), value(b)) }}
}

func named(name string, rank int, text func(r *sessions.Summary) string) column {
	return column{name, false, rank, text, func(a, b *sessions.Summary) int { return strings.Compare(text(b), text(a)) }}
}

func whole(name string, rank int, value func(r *sessions.Summary) int) column {
	return number(name, rank, func(r *sessions.Summary) float64 { return float64(value(r)) }, func(r *sessions.Summary) string { return strconv.Itoa(value(r)) })
}

func shareOf(name string, rank int, value func(r *sessions.Summary) *float64) column {
	return number(name, rank, func(r *sessions.Summary) float64 {
		if v := value(r); v != nil {
			return *v
		}
		return -1
	}, func(r *sessions.Summary) string {
		if v := value(r); v != nil {
			return strconv.FormatFloat(*v, 'f', 3, 64)
		}
		return "–"
	})
}

// columns in the order they stand in.
var columns = []column{
	named("RUN", 0, func(r *sessions.Summary) string { return r.ID }),
	{"STARTED", false, 3, func(r *sessions.Summary) string { return r.Created.Local().Format("2006-01-02 15:04") }, func(a, b *sessions.Summary) int { return a.Created.Compare(b.Created) }},
	named("TASKS", 0, func(r *sessions.Summary) string { return word(r.Title) }),
	named("STATE", 0, func(r *sessions.Summary) string { return string(r.State) }),
	number("DONE", 0, func(r *sessions.Summary) float64 { return float64(r.Done) / float64(max(r.Members, 1)) }, func(r *sessions.Summary) string { return fmt.Sprintf("%d/%d", r.Done, r.Members) }),
	whole("FAILED", 5, func(r *sessions.Summary) int { return r.Failed }),
	whole("CANCELLED", 10, func(r *sessions.Summary) int { return r.Cancelled }),
	whole("SOLVED", 0, func(r *sessions.Summary) int { return r.Solved }),
	whole("MASKED", 4, func(r *sessions.Summary) int { return r.Masked }),
	shareOf("REWARD", 0, func(r *sessions.Summary) *float64 { return r.MeanReward }),
	shareOf("PASS@1", 1, func(r *sessions.Summary) *float64 { return r.PassAt1 }),
	shareOf("PASS@N", 2, func(r *sessions.Summary) *float64 { return r.PassAtN }),
	whole("TURNS", 7, func(r *sessions.Summary) int { return r.Turns }),
	number("TOKENS", 8, func(r *sessions.Summary) float64 { return float64(r.Sampled) }, func(r *sessions.Summary) string { return thousand(r.Sampled) }),
	named("MODEL", 6, func(r *sessions.Summary) string { return word(r.Model) + simulatedMark(r.Simulated) }),
	named("POLICY", 11, func(r *sessions.Summary) string { return word(r.Policy) }),
	number("SIZE", 9, func(r *sessions.Summary) float64 { return float64(r.Size) }, func(r *sessions.Summary) string { return docker.Size(r.Size) }),
}

func columnOf(name string) column {
	return columns[slices.IndexFunc(columns, func(c column) bool { return strings.EqualFold(c.name, name) })]
}

func sortNames() (names []string) {
	for _, c := range columns {
		names = append(names, strings.ToLower(c.name))
	}
	return names
}

// leaveOut names the columns in the order they give way.
func leaveOut() (names []string) {
	some := slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return c.rank == 0 })
	slices.SortFunc(some, func(a, b column) int { return b.rank - a.rank })
	for _, c := range some {
		names = append(names, c.name)
	}
	return names
}

// thousand is 950, 12k, 3.4M.
func thousand(n int) string {
	switch {
	case n < 10_000:
		return strconv.Itoa(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", (n+500)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// width of what is printed to: of the terminal, or what COLUMNS says; 0: any.
func (a *app) width() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if f, ok := a.out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			return w
		}
	}
	return 0
}

func (a *app) listText(runs []sessions.Summary, all int) error {
	switch {
	case all == 0:
		_, err := fmt.Fprintln(a.out, "no runs yet; `rollbench` starts one")
		return err
	case len(runs) == 0:
		_, err := fmt.Fprintf(a.out, "none of %s is one of these\n", count(all, "run"))
		return err
	}
	_, err := io.WriteString(plain{a.out}, table(runs, a.width()))
	return err
}

func (a *app) listJSON(runs []sessions.Summary) error {
	enc := json.NewEncoder(a.out)
	for _, r := range runs {
		err := enc.Encode(map[string]any{"run": r.ID, "created": r.Created, "title": r.Title, "model": r.Model, "simulated": r.Simulated,
			"state": r.State, "pid": r.PID, "trajectories": r.Members, "groups": r.Groups, "num_trajectories": r.N, "done": r.Done, "failed": r.Failed, "cancelled": r.Cancelled,
			"solved": r.Solved, "masked": r.Masked, "intervened": r.Intervened, "mean_reward": r.MeanReward, "pass_at_1": r.PassAt1, "pass_at_n": r.PassAtN,
			"turns": r.Turns, "sampled_tokens": r.Sampled, "policy": r.Policy, "forks": r.Forks, "bytes": r.Size, "problem": r.Problem})
		if err != nil {
			return err
		}
	}
	return nil
}
