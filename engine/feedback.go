package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"rollbench/sessions"
)

// unsentFeedback is what persons told trajectories in an earlier part of the
// run and no model call has carried, by trajectory. One pass over the events.
func unsentFeedback(ctx context.Context, r sessions.Reader) (map[sessions.Key][]string, error) {
	out := map[sessions.Key][]string{}
	for seq := int64(0); ; {
		events, err := r.Since(ctx, seq, 1000)
		if err != nil || len(events) == 0 {
			return out, err
		}
		for _, e := range events {
			seq = e.Seq
			if err := readFeedback(out, e); err != nil {
				return nil, fmt.Errorf("read event %d: %w", e.Seq, err)
			}
		}
	}
}

func readFeedback(out map[sessions.Key][]string, e sessions.Event) error {
	switch e.Kind {
	case sessions.KindAttempt:
		delete(out, e.Key)
	case sessions.KindReply:
		var r sessions.ReplyMade
		if err := json.Unmarshal(e.Data, &r); err != nil {
			return err
		}
		if r.Source == sessions.FromModel {
			delete(out, e.Key)
		}
	case sessions.KindIntervention:
		var i sessions.Intervention
		if err := json.Unmarshal(e.Data, &i); err != nil {
			return err
		}
		if i.Verb == "inject" {
			out[e.Key] = append(out[e.Key], i.After)
		}
	}
	return nil
}
