package export

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"strings"

	"rollbench/sessions"
)

// Violation is an invariant that a file does not keep. Line is from 1 (in a
// Parquet file: the row), 0 when it is about the whole file.
type Violation struct {
	Line int
	Text string
}

// Report of a check. Violations are the first ones; Total counts them all.
type Report struct {
	Format       string
	Rows         int
	Trajectories int
	Violations   []Violation
	Total        int
}

// maxViolations of a report: who breaks one rule breaks it on every line.
const maxViolations = 20

// maxLine bounds what a damaged file can make the check hold, in bytes.
const maxLine = 1 << 30

// Check reads a file that File wrote, with its meta, and holds every row
// against what the format promises. format may be empty: the meta knows it.
// An error says that there is nothing to check; damaged rows are violations.
func Check(ctx context.Context, path, format string) (Report, error) {
	meta, err := readMeta(path)
	if err != nil {
		return Report{}, err
	}
	if format != "" && format != meta.Format {
		return Report{}, fmt.Errorf("check %s: it is of format %s, not %s", path, meta.Format, format)
	}
	f, err := os.Open(path)
	if err != nil {
		return Report{}, fmt.Errorf("check %s: %w", path, err)
	}
	defer f.Close() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return Report{}, fmt.Errorf("check %s: %w", path, err)
	}
	return check(ctx, f, info.Size(), meta)
}

func readMeta(path string) (Meta, error) {
	var meta Meta
	data, err := os.ReadFile(metaOf(path))
	if err != nil {
		return meta, fmt.Errorf("check %s: it needs the file beside it: %w", path, err)
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return meta, fmt.Errorf("check %s: unreadable %s: %w", path, metaOf(path), err)
	}
	if err := known(meta.Format); err != nil {
		return meta, fmt.Errorf("check %s: %w", path, err)
	}
	if meta.Options, err = meta.Options.normal(meta.Format); err != nil {
		return meta, fmt.Errorf("check %s: %w", path, err)
	}
	return meta, nil
}

func check(ctx context.Context, r io.ReaderAt, size int64, meta Meta) (Report, error) {
	c := newChecker(meta)
	c.baselines()
	var err error
	if meta.Format == "verl-parquet" {
		err = c.table(ctx, r, size)
	} else {
		err = c.lines(ctx, io.NewSectionReader(r, 0, size))
	}
	c.line = 0
	if err == nil {
		c.end()
	}
	c.report.Format, c.report.Rows, c.report.Trajectories = meta.Format, c.rows, len(c.done)
	return c.report, err
}

// checker holds what it has seen of a file.
type checker struct {
	meta   Meta
	line   int
	report Report

	place map[sessions.Key]place
	done  map[sessions.Key]bool // also of the current trajectory
	key   sessions.Key          // of the row
	first about                 // of its trajectory
	turn  int                   // the last one of its trajectory
	part  int                   // rows of its trajectory so far
	ended bool                  // step-wise: its last row came

	sequence []int32 // transitions: the last prompt and its output

	rows, samples, output, train, messages int
	masks                                  map[string]int
	groups                                 map[string]bool
}

// place of a trajectory in its group's baseline.
type place struct {
	group *Group
	i     int
}

// about is what rows of every format say of their trajectory.
type about struct {
	Advantage  *float64 `json:"advantage"`
	Finish     *string  `json:"finish_reason"`
	Mask       *string  `json:"mask_reason"`
	Intervened bool     `json:"intervened"`
}

func newChecker(meta Meta) *checker {
	return &checker{meta: meta, place: map[sessions.Key]place{}, done: map[sessions.Key]bool{}, masks: map[string]int{}, groups: map[string]bool{}}
}

func (c *checker) fail(format string, args ...any) {
	c.report.Total++
	if len(c.report.Violations) < maxViolations {
		c.report.Violations = append(c.report.Violations, Violation{c.line, fmt.Sprintf(format, args...)})
	}
}

// baselines of the meta, and the figures that follow from them.
func (c *checker) baselines() {
	alone, alike := 0, 0
	seen := map[string]bool{}
	for i := range c.meta.Groups {
		g := &c.meta.Groups[i]
		if len(g.IDs) != len(g.Rewards) || len(g.IDs) == 0 || seen[g.name()] {
			c.fail("group %s: %d trajectories with %d rewards", g.name(), len(g.IDs), len(g.Rewards))
			continue
		}
		seen[g.name()] = true
		for j, id := range g.IDs {
			c.place[sessions.Key{Instance: c.nameIn(g), ID: id}] = place{g, j}
		}
		if want := flag(g.Rewards); g.Flag != want {
			c.fail("group %s is flagged %q, want %q", g.name(), g.Flag, want)
		}
		switch g.Flag {
		case groupOfOne:
			alone++
		case noVariance:
			alike++
		}
	}
	c.equal("groups_of_one", c.meta.Counts.GroupsOfOne, alone)
	c.equal("groups_without_variance", c.meta.Counts.NoVariance, alike)
	want := passAt(c.meta.Groups)
	if len(want) != len(c.meta.PassAt) {
		c.fail("pass_at has %d entries, want %d", len(c.meta.PassAt), len(want))
		return
	}
	for i, p := range c.meta.PassAt {
		if p.K != want[i].K || p.Instances != want[i].Instances || !near(p.Value, want[i].Value) {
			c.fail("pass@%d is %v of %d instances, recomputed %v of %d", want[i].K, p.Value, p.Instances, want[i].Value, want[i].Instances)
		}
	}
}

// nameIn is what rows of the format call the instance of a group's members.
func (c *checker) nameIn(g *Group) string {
	if c.meta.Format == "skyrl" {
		return g.name()
	}
	return g.Instance
}

// equal says what the meta counts and what there is.
func (c *checker) equal(what string, counted, found int) {
	if counted != found {
		c.fail("%s is %d in the meta, and %d by the rows", what, counted, found)
	}
}

// near allows for sums in another order.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

// lines checks JSON lines.
func (c *checker) lines(ctx context.Context, r io.Reader) error {
	in := bufio.NewReaderSize(r, 1<<20)
	var line []byte
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.line++
		var err error
		if line, err = readLine(in, line[:0]); err == io.EOF && len(line) == 0 {
			return nil
		}
		switch {
		case errors.Is(err, io.EOF):
			c.fail("the line has no end: the file was cut")
		case err != nil:
			return fmt.Errorf("read line %d: %w", c.line, err)
		default:
			c.row(line)
		}
	}
}

// readLine appends the next line to b, without its end; io.EOF when there is
// no end, with what there is.
func readLine(in *bufio.Reader, b []byte) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		b = append(b, part...)
		switch {
		case err == nil:
			return b[:len(b)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return b, err
		case len(b) > maxLine:
			return b, errors.New("it is too long")
		}
	}
}

// decode a row with exactly the keys of the struct.
func decode(line []byte, row any) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(line, &keys); err != nil {
		return err
	}
	want := keysOf(reflect.TypeOf(row).Elem())
	for _, k := range want {
		if _, ok := keys[k]; !ok {
			return fmt.Errorf("key %s is missing", k)
		}
		delete(keys, k)
	}
	for k := range keys {
		return fmt.Errorf("unknown key %q", k)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	return dec.Decode(row)
}

// keysOf a struct of the file checkrows.go, those of embedded ones included.
func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous {
			keys = append(keys, keysOf(f.Type)...)
		} else {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			keys = append(keys, name)
		}
	}
	return keys
}

// member checks what is true of any row: its trajectory is in one piece, its
// reward and advantage are those of the group, and it passes the filters.
// reward is nil on rows that do not carry it.
func (c *checker) member(key sessions.Key, reward *float64, a about) {
	c.rows++
	c.part++
	if !c.done[key] || key != c.key {
		if c.done[key] {
			c.fail("rows of %s are not together", key)
		}
		c.leave()
		c.done[key] = true
		c.key, c.first, c.turn, c.part, c.ended, c.sequence = key, a, 0, 1, false, nil
		if a.Mask != nil {
			c.masks[*a.Mask]++
		}
	} else if !reflect.DeepEqual(a, c.first) {
		c.fail("%s is not as on the rows before", key)
	}
	if a.Intervened && !c.meta.Options.IncludeIntervened {
		c.fail("%s is intervened, and those were left out", key)
	}
	finish := ""
	if a.Finish != nil {
		finish = *a.Finish
	}
	mask := maskReason(finish)
	if mask == "" && a.Mask != nil && (*a.Mask == sessions.MaskedByPerson || *a.Mask == MaskedTampering && c.meta.Options.Tampered == "mask") {
		mask = *a.Mask
	}
	if a.Mask == nil != (mask == "") || a.Mask != nil && *a.Mask != mask {
		c.fail("mask_reason is not %q, as finish_reason %q has it", mask, finish)
	}
	p, ok := c.place[key]
	if !ok {
		c.fail("%s is in no group of the meta", key)
		return
	}
	c.groups[p.group.name()] = true
	if reward != nil && *reward != p.group.Rewards[p.i] {
		c.fail("reward %v of %s is %v in its group", *reward, key, p.group.Rewards[p.i])
	}
	if !c.meta.Options.takes(finish, mask, p.group.Rewards[p.i]) {
		c.fail("%s does not pass the filters", key)
	}
}

// advantage is recomputed from the group's rewards.
func (c *checker) advantage(a *float64) {
	p, ok := c.place[c.key]
	if !ok {
		return // said already
	}
	want := advantage(c.meta.Options.Advantage, p.group.Rewards, p.i)
	switch {
	case want == nil && a != nil:
		c.fail("advantage %v in a group of one: want null", *a)
	case want != nil && a == nil:
		c.fail("advantage null, recomputed %v", *want)
	case want != nil && !near(*a, *want):
		c.fail("advantage %v, recomputed %v", *a, *want)
	}
}

// leave ends the trajectory of the rows before.
func (c *checker) leave() {
	if !c.key.IsZero() && c.meta.Options.Rows == "step" && !c.ended {
		c.fail("the last row of %s before this is not is_last_step", c.key)
	}
}

// end of the file: the meta counts what there was.
func (c *checker) end() {
	c.leave()
	n := c.meta.Counts
	c.equal("rows", n.Rows, c.rows)
	c.equal("trajectories", n.Trajectories, len(c.done))
	c.equal("groups", n.Groups, len(c.groups))
	c.equal("samples", n.NewSamples, c.samples)
	c.equal("output_tokens", n.OutputTokens, c.output)
	c.equal("train_tokens", n.TrainTokens, c.train)
	c.equal("train_messages", n.TrainMessages, c.messages)
	masked := 0
	for reason, found := range c.masks {
		masked += found
		c.equal("masks."+reason, n.Masks[reason], found)
	}
	c.equal("masked", n.Masked, masked)
}
