package task

import (
	"context"
	"errors"
	"strings"

	"rollbench/engine/task/answer"
)

// newAnswer finds the verifier of a question by its data_source. ask is the
// judge, nil when there is none.
func newAnswer(q Question, ask answer.Asker) (answerer, error) {
	row := answer.Row{Source: strings.TrimPrefix(q.Source, "searchR1_"), Question: q.Text, Targets: q.Targets, AnswerType: q.Type}
	verifier, err := answer.ForSource(row.Source)
	switch {
	case err != nil:
		return nil, err
	case verifier.Judge != nil && ask == nil:
		return nil, errors.New("its answers are for a judge to decide, and none is given")
	}
	return graded{verifier, row, ask}, nil
}

// graded is an answer's verifier with what it grades by.
type graded struct {
	verifier answer.Verifier
	row      answer.Row
	ask      answer.Asker
}

func (g graded) judge(ctx context.Context, reply string) (Verdict, error) {
	score, err := g.verifier.Grade(ctx, g.row, reply, g.ask)
	if err != nil {
		return Verdict{}, err
	}
	log := "answer: " + reply + "\ntargets: " + strings.Join(g.row.Targets, " | ") + "\n"
	if score.Judge != "" {
		log += "judge: " + score.Judge + "\n"
	}
	return Verdict{Reward: score.Value, Note: score.Note, Log: bound([]byte(log))}, nil
}

func (g graded) right() string {
	for _, target := range g.row.Targets {
		if strings.TrimSpace(target) == "" {
			continue
		}
		if strings.Contains(target, `\boxed{`) {
			return target
		}
		return `\boxed{` + target + `}`
	}
	return ""
}
