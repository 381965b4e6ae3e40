package export

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"rollbench/sessions"
	"rollbench/sessions/export/parquet"
)

// conversation that was recorded at random, and what must come out of it.
type conversation struct {
	key     sessions.Key
	shown   []int32 // ids that train wherever rows need no prompt and no logprobs
	trained []int32 // ids that train in token formats
	sampled []int32 // trained, with those of replies that a person picked
	bare    []int32 // ids that are sampled where logprobs are left out
	said    []string
	broken  bool // a prompt does not go on where the reply before it ended
}

// converse records a trajectory with broken prefixes, ids and logprobs that
// are missing, edited calls, replies sampled again, and empty ones. Every id
// occurs once, so that none can stand for another.
func converse(r *recorder, rng *rand.Rand, key sessions.Key, calm bool) conversation {
	c := conversation{key: key}
	next := int32(0)
	fresh := func(n int) (ids []int32) {
		for range n {
			next++
			ids = append(ids, int32(key.ID)*10_000+next)
		}
		return ids
	}
	odd := func(n int) bool { return !calm && rng.IntN(n) == 0 }
	seq := fresh(1 + rng.IntN(4))
	turns := 1 + rng.IntN(7)
	usable, cutOff := 0, false // length of the sequence that may train, and whether a prompt left it
	for i := range turns {
		t := sessions.Turn{Key: key, Index: i + 1, Content: fmt.Sprintf("%s says %d", key, i), New: []sessions.Message{{Role: "user", Content: "go", Source: sessions.FromTask}}}
		prompt := append(append([]int32{}, seq...), fresh(rng.IntN(3))...)
		if i > 0 && odd(7) {
			cut := rng.IntN(len(seq))
			prompt = append(append([]int32{}, seq[:cut]...), fresh(2)...)
			cutOff = cutOff || cut < usable
		}
		t.PromptIDs, t.OutputIDs = prompt, fresh(1+rng.IntN(4))
		for range t.OutputIDs {
			t.Logprobs = append(t.Logprobs, -rng.Float64())
		}
		kind := rng.IntN(8)
		if calm {
			kind = -1
		}
		unusable := true
		switch kind {
		case 0:
			t.PromptIDs, t.OutputIDs, t.Logprobs = nil, nil, nil
		case 1:
			t.Logprobs = nil
		case 2:
			t.Logprobs[0] = math.Inf(-1)
		case 3:
			t.OutputIDs, t.Logprobs, t.Content, unusable = []int32{}, []float64{}, "", false
		case 4:
			t.PromptIDs = nil
		default:
			unusable = false
		}
		r.turn(t, 0)
		switch again := rng.IntN(6); {
		case again == 0 && !calm && kind > 4: // edited by a person
			r.events(key, sessions.Intervention{Verb: "edit", Turn: t.Index, At: sessions.AfterReply})
			t.Version, t.Source, t.Content, t.OutputIDs, t.Logprobs, t.NewSample = 2, sessions.FromOperator, "edited", fresh(2), nil, true
			r.turn(t, 1)
			unusable = true
		case again == 1 && !calm && kind > 4: // sampled again, and this one taken
			r.events(key, sessions.Intervention{Verb: "resample", Turn: t.Index, At: sessions.AfterReply})
			t.Version, t.Content, t.OutputIDs = 2, "picked", fresh(2)
			t.Logprobs = []float64{-1, -2}
			r.turn(t, 1)
			c.note(t, unusable)
		default:
			c.shown = append(c.shown, t.OutputIDs...)
			c.note(t, unusable)
			if !unusable {
				c.trained = append(c.trained, t.OutputIDs...)
				if len(t.OutputIDs) > 0 {
					c.broken = c.broken || cutOff
					usable = len(t.PromptIDs) + len(t.OutputIDs)
				}
			}
			if t.Content != "" {
				c.said = append(c.said, t.Content)
			}
		}
		if t.PromptIDs != nil {
			seq = append(append([]int32{}, t.PromptIDs...), t.OutputIDs...)
		}
	}
	r.end(key, sessions.Done, sessions.FinishTool, one(float64(key.ID%3)/2))
	return c
}

func (c *conversation) note(t sessions.Turn, unusable bool) {
	if !unusable {
		c.sampled = append(c.sampled, t.OutputIDs...)
	}
	if t.PromptIDs != nil {
		c.bare = append(c.bare, t.OutputIDs...)
	}
}

// Whatever happened in a conversation, the sampled ids of an export are those
// of the replies that came from the model, in order, and nothing more; and
// those train that the policy sampled of its own accord.
func TestOnlyWhatWasSampledTrains(t *testing.T) {
	const n = 80
	var keys []sessions.Key
	for i := range n {
		keys = append(keys, sessions.Key{Instance: fmt.Sprint("i", i%20), ID: i})
	}
	r := record(t, keys...)
	rng := rand.New(rand.NewPCG(11, 13))
	var all []conversation
	for i, key := range keys {
		all = append(all, converse(r, rng, key, i%3 == 0))
	}
	for name, c := range map[string]struct {
		format string
		opt    Options
		trains func(line []byte) (sessions.Key, any)
		want   func(conversation) any
		whole  bool // a conversation may be refused
	}{
		"transitions":       {"transitions", Options{}, transitionTrains, func(c conversation) any { return c.shown }, false},
		"transitions delta": {"transitions", Options{Prompt: "delta"}, transitionTrains, func(c conversation) any { return c.shown }, false},
		"skyrl":             {"skyrl", Options{}, skyrlTrains, func(c conversation) any { return c.trained }, true},
		"skyrl step":        {"skyrl", Options{Rows: "step"}, skyrlTrains, func(c conversation) any { return c.trained }, false},
		"skyrl sampled":     {"skyrl", Options{Rows: "step"}, skyrlSampled, func(c conversation) any { return c.sampled }, false},
		"skyrl bare":        {"skyrl", Options{Rows: "step", Logprobs: "omit"}, skyrlSampled, func(c conversation) any { return c.bare }, false},
		"tinker sampled":    {"tinker", Options{}, tinkerSampled, func(c conversation) any { return c.sampled }, false},
		"tinker":            {"tinker", Options{}, tinkerTrains, func(c conversation) any { return c.trained }, false},
		"verl":              {"verl", Options{}, verlTrains, func(c conversation) any { return c.trained }, true},
		"verl-parquet":      {"verl-parquet", Options{}, nil, func(c conversation) any { return c.trained }, true},
		"chat":              {"chat", Options{}, chatTrains, func(c conversation) any { return c.said }, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.opt.IncludeIntervened = true
			path := r.write("f", c.format, c.opt)
			report, err := Check(t.Context(), path, c.format)
			if err != nil || report.Total > 0 {
				t.Errorf("check: %+v, %v", report, err)
			}
			got := trainedOf(t, path, c.trains)
			written := 0
			for i, conv := range all {
				want := c.want(conv)
				found, there := got[conv.key]
				switch {
				case there:
					written++
				case c.whole && i%3 != 0:
					continue // refused
				default:
					found = reflect.Zero(reflect.TypeOf(want)).Interface()
				}
				if fmt.Sprint(found) != fmt.Sprint(want) {
					t.Errorf("%s: trains %v\nsampled %v", conv.key, found, want)
				}
				if c.whole && there && conv.broken {
					t.Errorf("%s is broken, and has one row", conv.key)
				}
			}
			if written < n/3 {
				t.Errorf("only %d of %d were written", written, n)
			}
		})
	}
}

// trainedOf a file: what trains, by trajectory.
func trainedOf(t *testing.T, path string, trains func([]byte) (sessions.Key, any)) map[sessions.Key]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := map[sessions.Key]any{}
	add := func(key sessions.Key, more any) {
		switch more := more.(type) {
		case []int32:
			before, _ := got[key].([]int32)
			got[key] = append(before, more...)
		case []string:
			got[key] = more
		}
	}
	if trains != nil {
		for line := range strings.Lines(string(data)) {
			key, more := trains([]byte(line))
			add(key, more)
		}
		return got
	}
	err = parquet.Read(strings.NewReader(string(data)), int64(len(data)), verlColumns, func(v []parquet.Value) error {
		add(sessions.Key{Instance: v[1].Text, ID: int(v[2].Int)}, masked(v[4].Ints, v[5].Ints))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// masked are the ids with mask 1.
func masked(ids, mask []int32) []int32 {
	out := []int32{}
	for i, m := range mask {
		if m == 1 {
			out = append(out, ids[i])
		}
	}
	return out
}

func parsed[T any](line []byte) (row T) {
	if err := json.Unmarshal(line, &row); err != nil {
		panic(err)
	}
	return row
}

func transitionTrains(line []byte) (sessions.Key, any) {
	r := parsed[struct {
		sessions.Key
		Output []int32 `json:"output_token_ids"`
		Mask   []int32 `json:"loss_mask"`
	}](line)
	return r.Key, masked(r.Output, r.Mask)
}

type skyrlIDs struct {
	ID struct {
		Instance string `json:"instance_id"`
		N        int    `json:"repetition_id"`
	} `json:"trajectory_id"`
	Response []int32 `json:"response_ids"`
	Mask     []int32 `json:"loss_mask"`
	Spans    [][3]int
}

func skyrlTrains(line []byte) (sessions.Key, any) {
	r := parsed[skyrlIDs](line)
	return sessions.Key{Instance: r.ID.Instance, ID: r.ID.N}, masked(r.Response, r.Mask)
}

func skyrlSampled(line []byte) (sessions.Key, any) {
	r := parsed[skyrlIDs](line)
	return sessions.Key{Instance: r.ID.Instance, ID: r.ID.N}, spanned(r.Response, r.Spans)
}

// spanned are the ids that the spans name.
func spanned(ids []int32, spans [][3]int) []int32 {
	out := []int32{}
	for _, s := range spans {
		out = append(out, ids[s[1]:s[2]]...)
	}
	return out
}

func verlTrains(line []byte) (sessions.Key, any) {
	r := parsed[struct {
		sessions.Key
		Response []int32 `json:"responses"`
		Mask     []int32 `json:"response_mask"`
	}](line)
	return r.Key, masked(r.Response, r.Mask)
}

type tinkerIDs struct {
	sessions.Key
	Datum struct {
		Loss struct {
			Targets struct{ Data []int32 } `json:"target_tokens"`
		} `json:"loss_fn_inputs"`
	}
	Mask   []int32
	Prompt int `json:"prompt_length"`
	Spans  [][3]int
}

// response of a Datum: the targets from the first sampled one on.
func (r tinkerIDs) response() []int32 { return r.Datum.Loss.Targets.Data[r.Prompt-1:] }

func tinkerTrains(line []byte) (sessions.Key, any) {
	r := parsed[tinkerIDs](line)
	return r.Key, masked(r.response(), r.Mask)
}

func tinkerSampled(line []byte) (sessions.Key, any) {
	r := parsed[tinkerIDs](line)
	return r.Key, spanned(r.response(), r.Spans)
}

func chatTrains(line []byte) (sessions.Key, any) {
	r := parsed[struct {
		sessions.Key
		Messages []struct {
			Content string
			Weight  int
		}
	}](line)
	said := []string{}
	for _, m := range r.Messages {
		if m.Weight == 1 {
			said = append(said, m.Content)
		}
	}
	return r.Key, said
}
