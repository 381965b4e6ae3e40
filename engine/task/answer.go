package task

import (
	"context"
	"errors"
	"strings"

	"rollbench/engine/task/answer"
	"rollbench/sandbox"
)

// Asker sends messages to a judge and returns its text.
type Asker = answer.Asker

// JudgeMessage is one of those.
type JudgeMessage = answer.Message

// AnswerVerifiers are the names that Options.Verifier may have.
func AnswerVerifiers() []string { return answer.Names() }

// newAnswer is the verifier of a question. ask is the judge, nil when there is none.
func newAnswer(q Question, verifier answer.Verifier, ask answer.Asker) (answerer, error) {
	if verifier.Judge != nil && ask == nil {
		return nil, errors.New("its answers are for a judge to decide, and none is given: set judge.endpoint and judge.model")
	}
	return graded{verifier, answer.Row{Source: q.Source, Question: q.Text, Targets: q.Targets, AnswerType: q.Type}, ask}, nil
}

// graded is an answer's verifier with what it grades by.
type graded struct {
	verifier answer.Verifier
	row      answer.Row
	ask      answer.Asker
}

// judgeTries is how often a judge is asked whose replies hold no decision. What an
// endpoint cannot answer it has tried again by itself.
const judgeTries = 2

func (g graded) judge(ctx context.Context, _ *Instance, _ sandbox.Sandbox, reply string) (Verdict, error) {
	log := "answer: " + reply + "\ntargets: " + strings.Join(g.row.Targets, " | ") + "\n"
	for n := 1; ; n++ {
		score, err := g.verifier.Grade(ctx, g.row, reply, g.ask)
		if err != nil {
			return Verdict{}, err
		}
		if score.Judge != "" {
			log += "judge: " + score.Judge + "\n"
		}
		if score.Value == nil {
			log += score.Note + "\n"
			if ctx.Err() != nil {
				return Verdict{Log: bound([]byte(log))}, cancelled(ctx)
			}
			if score.Judge != "" && n < judgeTries {
				continue
			}
		}
		verdict := Verdict{Reward: score.Value, Note: score.Note, Log: bound([]byte(log))}
		if score.F1 != nil {
			verdict.Parts = map[string]float64{"f1": *score.F1}
		}
		return verdict, nil
	}
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
