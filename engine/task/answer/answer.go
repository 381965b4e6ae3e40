// Package answer grades the answers of question answering and maths rows.
//
// In: the row's source, question and targets, the reply. Out: a score in the
// source's range, or none when a judge could not be asked or did not answer in
// its form. Nothing here does I/O: a judge is asked through a function that is
// passed in. Answers come from models, so everything is bounded.
package answer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Row is what of a dataset row grading needs.
type Row struct {
	Source   string   // data_source
	Question string   // for a judge
	Targets  []string // reward_model.ground_truth (its target), answer, …
	// AnswerType is extra_info.answer_type: "exactMatch" needs no judge.
	AnswerType string
}

// Score is what came of a reply.
type Score struct {
	Value *float64 // nil: the reply could not be graded, which is no 0
	Note  string   // one line
	Judge string   // what the judge said, in full
	// F1 is the overlap with the targets beside exact match, nil elsewhere. It
	// decides nothing.
	F1 *float64
}

// Verifier grades the rows of a source.
type Verifier struct {
	Name string
	// Low and High are the scores of a wrong and a right reply.
	Low, High float64
	// Judge is asked, nil when the reply is graded by rule.
	Judge *Judge
	grade func(Row, string) bool
	// ready says what stands before the judge: a reply that is wrong without
	// asking, or right.
	ready func(Row, string) (reply string, correct, decided bool)
}

// Grade scores a reply. An empty one is wrong. The error is of the row only.
func (v Verifier) Grade(ctx context.Context, row Row, reply string, ask Asker) (Score, error) {
	if len(row.Targets) == 0 || strings.TrimSpace(strings.Join(row.Targets, "")) == "" {
		return Score{}, errors.New("the row has no target to grade by")
	}
	if v.Name == "browsecomp" && len(row.Targets) > 1 {
		return Score{}, fmt.Errorf("the row has %d targets; a browsecomp row has one", len(row.Targets))
	}
	if strings.TrimSpace(reply) == "" {
		return v.score(false, "the reply is empty"), nil
	}
	if v.Judge == nil {
		correct := v.grade(row, reply)
		s := v.score(correct, v.Name+": "+verdict(correct))
		if v.Name == "exact_match" {
			f := F1(simpleBox.ReplaceAllString(Tagged(reply), "$1"), row.Targets)
			s.F1 = &f
		}
		return s, nil
	}
	asked, correct, decided := v.ready(row, reply)
	if decided {
		return v.score(correct, v.Name+", without the judge: "+verdict(correct)), nil
	}
	if ask == nil {
		return Score{Note: "verifier could not run: no judge is configured"}, nil
	}
	d, text, err := v.Judge.Ask(ctx, ask, Question{Question: row.Question, Target: strings.Join(row.Targets, "\n"), Reply: asked})
	if err != nil {
		return Score{Note: "verifier could not run: " + oneLine(err.Error()), Judge: text}, nil
	}
	s := v.score(d.Correct, v.Name+" judge: "+verdict(d.Correct))
	s.Judge = text
	return s, nil
}

func (v Verifier) score(correct bool, note string) Score {
	value := v.Low
	if correct {
		value = v.High
	}
	return Score{Value: &value, Note: note}
}

func verdict(correct bool) string {
	if correct {
		return "correct"
	}
	return "not correct"
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func asIs(_ Row, reply string) (string, bool, bool) { return reply, false, false }

// readyStem: a row of exact match compares the box (or all of the reply) as
// text; any other wants a box, of which alone the judge is asked.
func readyStem(row Row, reply string) (string, bool, bool) {
	boxed, ok := Boxed(reply)
	if strings.EqualFold(row.AnswerType, "exactMatch") {
		if !ok {
			boxed = reply
		}
		return "", slices.ContainsFunc(row.Targets, func(t string) bool { return strings.TrimSpace(t) == strings.TrimSpace(boxed) }), true
	}
	return boxed, false, !ok
}
