package export

import (
	"context"
	"encoding/json"
	"fmt"

	"rollbench/sessions"
)

// intervention as a row shows it: what a person did, not the text of it.
type intervention struct {
	Verb string        `json:"verb"`
	Turn int           `json:"turn"`
	At   sessions.Gate `json:"at"`
}

// interventions of the chosen trajectories' latest attempts. The events are
// read in pages; only when somebody intervened at all.
func interventions(ctx context.Context, r sessions.Reader, list []chosen, upTo int64) (map[sessions.Key][]intervention, error) {
	found := map[sessions.Key][]intervention{}
	for _, c := range list {
		if c.Intervened {
			found[c.Key] = nil
		}
	}
	const page = 2000
	for seq := int64(0); len(found) > 0 && seq < upTo; {
		events, err := r.Since(ctx, seq, page)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if err := note(found, e, upTo); err != nil {
				return nil, err
			}
		}
		if len(events) == 0 {
			break
		}
		seq = events[len(events)-1].Seq
	}
	return found, nil
}

func note(found map[sessions.Key][]intervention, e sessions.Event, upTo int64) error {
	if _, wanted := found[e.Key]; !wanted || e.Seq > upTo {
		return nil
	}
	switch e.Kind {
	case sessions.KindAttempt:
		found[e.Key] = nil // what was done to an earlier attempt is not exported
	case sessions.KindIntervention:
		var i intervention
		if err := json.Unmarshal(e.Data, &i); err != nil {
			return fmt.Errorf("event %d of %s: unreadable intervention: %w", e.Seq, e.Key, err)
		}
		found[e.Key] = append(found[e.Key], i)
	}
	return nil
}

// picked reports whether a person chose this reply among several: it was
// sampled, but not by the policy alone.
func picked(t *sessions.Turn, did []intervention) bool {
	if t.Source == sessions.FromModel && t.Version > 1 {
		return true
	}
	for _, i := range did {
		if i.Turn == t.Index && (i.Verb == "resample" || i.Verb == "pick") {
			return true
		}
	}
	return false
}
