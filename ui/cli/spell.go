package cli

import (
	"context"
	"errors"
	"strings"
	"sync"
	"unicode/utf8"

	"rollbench/engine/infer"
	"rollbench/engine/infer/simulated"
	"rollbench/sessions"
)

// spellSimulated gives the texts of ids of the simulated endpoint, whose
// vocabulary is always the same.
func spellSimulated(_ context.Context, ids []int32) (map[int32]string, error) {
	return simulated.Spell(ids), nil
}

// spellingOf a recorded run: only the simulated endpoint's vocabulary is known
// without asking. A finished run's endpoint is not asked: it may be another by now.
func spellingOf(run sessions.Run) func(context.Context, []int32) (map[int32]string, error) {
	if run.Simulate {
		return spellSimulated
	}
	return nil
}

// speller asks an endpoint for the texts of ids, one by one: together they would
// be one text. Each is asked for once.
type speller struct {
	detokenize func(context.Context, []int32) (string, error)

	mu    sync.Mutex // guards known, held for no call
	known map[int32]string
}

// Bounds of one look: ids asked for, and calls at a time.
const (
	spellMost  = 512
	spellCalls = 4
)

func newSpeller(c *infer.Client) *speller {
	return &speller{detokenize: c.Detokenize, known: map[int32]string{}}
}

// spell those ids that the endpoint can. A part of a character has no text of
// its own. What is over the bound is left for the next look.
func (s *speller) spell(ctx context.Context, ids []int32) (map[int32]string, error) {
	texts, wanted := map[int32]string{}, []int32{}
	s.mu.Lock()
	for _, id := range ids {
		if text, ok := s.known[id]; ok {
			texts[id] = text
		} else if len(wanted) < spellMost {
			wanted = append(wanted, id)
		}
	}
	s.mu.Unlock()
	answers, errs := make([]string, len(wanted)), make([]error, spellCalls)
	var wg sync.WaitGroup
	for k := range spellCalls {
		wg.Go(func() {
			for i := k; i < len(wanted) && errs[k] == nil; i += spellCalls {
				answers[i], errs[k] = s.detokenize(ctx, wanted[i:i+1])
			}
		})
	}
	wg.Wait()
	s.mu.Lock()
	for i, text := range answers {
		if text != "" {
			s.known[wanted[i]] = text
			texts[wanted[i]] = text
		}
	}
	s.mu.Unlock()
	for id, text := range texts {
		if strings.ContainsRune(text, utf8.RuneError) {
			delete(texts, id)
		}
	}
	err := errors.Join(errs...)
	if errors.Is(err, infer.ErrNoTokenize) {
		err = nil
	}
	return texts, err
}
