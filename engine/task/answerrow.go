package task

import (
	"context"
	"fmt"
	"strings"

	"rollbench/engine/task/rows"
	"rollbench/sandbox"
)

// Question is what a row of questions gives to the verifier of its answer.
type Question struct {
	Source  string   // data_source, which decides the verifier
	Text    string   // what the policy was asked
	Targets []string // answers that are right
	Type    string   // extra_info.answer_type or reward_model.type, "" when not given
	Style   string   // reward_model.style
}

// answerer judges the final text of a policy. There is no patch.
type answerer interface {
	judge(ctx context.Context, answer string) (Verdict, error)
	// right is a final text that is correct.
	right() string
}

// answered is an instance whose verifier judges an answer: nothing is in its
// sandbox but what the policy's tools make there.
type answered struct{ answerer }

func (answered) lay(context.Context, *Instance, sandbox.Sandbox) (string, error) { return "", nil }

func (answered) verify(context.Context, *Instance, sandbox.Sandbox) (Verdict, error) {
	return Verdict{}, fmt.Errorf("what counts is the answer, and not the files")
}

func (answered) solve(context.Context, *Instance, sandbox.Sandbox) error {
	return fmt.Errorf("a question has no solution to apply")
}

// NeedsPatch reports whether the verifier looks at what the policy changed; else
// it looks at its final answer, see VerifyAnswer.
func (in *Instance) NeedsPatch() bool {
	_, ok := in.kind.(answered)
	return !ok
}

// VerifyAnswer finds the reward of a policy's final text. Only instances that
// need no patch have one.
func (in *Instance) VerifyAnswer(ctx context.Context, answer string) (Verdict, error) {
	a, ok := in.kind.(answered)
	if !ok {
		return Verdict{}, fmt.Errorf("verify %s: its verifier needs a patch", in.ID)
	}
	return a.judge(ctx, answer)
}

// HasReference reports whether a solution is known that must pass.
func (in *Instance) HasReference() bool { return !in.NeedsPatch() || !in.Reference.None() }

// ReferenceAnswer is a final text that must pass, "" of an instance that needs a
// patch. Some verifiers look into a box only, and none minds one.
func (in *Instance) ReferenceAnswer() string {
	a, ok := in.kind.(answered)
	if !ok {
		return ""
	}
	return a.right()
}

// questionLimit is for the judge of one answer.
const questionLimit = defaultVerifyLimit

// answerRow is a row of questions: {prompt, reward_model: {ground_truth}}.
func answerRow(r rows.Row, o *Options) (Instance, error) {
	q, err := questionOf(r)
	if err != nil {
		return Instance{}, err
	}
	judge, err := newAnswer(q, o.Ask)
	if err != nil {
		return Instance{}, r.Wrong("data_source", "%w", err)
	}
	id, err := questionID(r, q.Source)
	if err != nil {
		return Instance{}, err
	}
	return Instance{ID: id, Workdir: "/workspace", LocalOK: true, Needs: []string{"git"}, Instruction: q.Text, VerifyLimit: questionLimit, Network: o.Network, kind: answered{judge}}, nil
}

func questionOf(r rows.Row) (q Question, err error) {
	if q.Source, err = r.Text("data_source"); err != nil {
		return q, err
	}
	if q.Text, err = promptText(r); err != nil {
		return q, err
	}
	if q.Targets, err = targetsOf(r); err != nil {
		return q, err
	}
	if model, given, err := r.Object("reward_model"); err != nil {
		return q, err
	} else if given {
		if q.Style, err = model.Text("style"); err != nil {
			return q, err
		}
		if q.Type, err = model.Text("type"); err != nil {
			return q, err
		}
	}
	extra, given, err := r.Object("extra_info")
	if err != nil || !given || !extra.Given("answer_type") {
		return q, err
	}
	q.Type, err = extra.Text("answer_type")
	return q, err
}

// questionID is the row's own, else its source and place in the table.
func questionID(r rows.Row, source string) (string, error) {
	for _, column := range []string{"id", "uid"} {
		id, err := r.Label(column)
		if id != "" || err != nil {
			return id, err
		}
	}
	part := r.Place
	if extra, given, err := r.Object("extra_info"); err == nil && given && extra.Given("index") {
		index, err := extra.Label("index")
		split, splitErr := extra.Text("split")
		if err == nil && splitErr == nil {
			part = strings.TrimPrefix(split+" "+index, " ")
		}
	}
	return strings.NewReplacer(" ", "-", "/", "_", "#", "_", `"`, "").Replace(strings.TrimSpace(source + " " + part)), nil
}

// promptText is what the policy is asked: the text of prompt, or of its messages.
// A system message of the row stands before the question: the run's own says how
// to use the tools.
func promptText(r rows.Row) (string, error) {
	for _, column := range []string{"raw_prompt", "prompt"} {
		switch prompt := r.Value(column).(type) {
		case nil:
		case []any:
			return messagesText(r, column, prompt)
		default:
			return r.Need(column, "it is what the policy is asked")
		}
	}
	return "", r.Wrong("prompt", "is missing; it is what the policy is asked")
}

func messagesText(r rows.Row, column string, list []any) (string, error) {
	var parts []string
	for i, one := range list {
		fields, ok := one.(map[string]any)
		if !ok {
			return "", r.Wrong(column, "must be a text or a list of messages; its item %d is none", i+1)
		}
		m := rows.New(r.Origin, fields)
		role, err := m.Text("role")
		if err != nil {
			return "", r.Wrong(column, "item %d: %w", i+1, err)
		}
		content, err := m.Text("content")
		if err != nil {
			return "", r.Wrong(column, "item %d: %w", i+1, err)
		}
		if role != "user" && role != "system" {
			return "", r.Wrong(column, "item %d is of role %q; only system and user messages can begin a conversation", i+1, role)
		}
		if strings.TrimSpace(content) != "" {
			parts = append(parts, content)
		}
	}
	if len(parts) == 0 {
		return "", r.Wrong(column, "holds no text; it is what the policy is asked")
	}
	return strings.Join(parts, "\n\n"), nil
}

// targetsOf are the right answers, from where each kind of row keeps them:
// instance.answer, answer, extra_info.reference_answer, reward_model.ground_truth
// (itself, or its target), golden_answers.
func targetsOf(r rows.Row) ([]string, error) {
	for _, place := range []struct{ object, field string }{
		{"instance", "answer"}, {"", "answer"}, {"extra_info", "reference_answer"}, {"reward_model", "ground_truth"}, {"", "golden_answers"},
	} {
		from := r
		if place.object != "" {
			inner, given, err := r.Object(place.object)
			if err != nil {
				return nil, err
			}
			if !given {
				continue
			}
			from = inner
		}
		if targets, err := targetsIn(from, place.field); len(targets) > 0 || err != nil {
			return targets, err
		}
	}
	return nil, r.Wrong("reward_model", "has no ground_truth; it is what an answer is compared with")
}

func targetsIn(r rows.Row, name string) ([]string, error) {
	if truth, given, err := r.Object(name); err == nil && given {
		for _, inner := range []string{"target", "answer", "ground_truth"} {
			if truth.Given(inner) {
				return targetsIn(truth, inner)
			}
		}
		return nil, r.Wrong(name, `is an object without "target"`)
	}
	if _, list := r.Value(name).([]any); list {
		targets, _, err := r.Names(name)
		return targets, err
	}
	text, err := r.Label(name)
	if err != nil || strings.TrimSpace(text) == "" {
		return nil, err
	}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		if targets, _, err := r.Names(name); err == nil && len(targets) > 0 {
			return targets, nil
		}
	}
	return []string{text}, nil
}
