package task

import (
	"strings"

	"rollbench/engine/task/answer"
	"rollbench/engine/task/rows"
)

// Question is what a row of questions gives to the verifier of its answer.
type Question struct {
	Source  string    // data_source
	Text    string    // what the policy was asked
	System  string    // what a system message of the row says, "" without one
	Talk    []Message // the messages after it, nil when Text is the only one
	Targets []string  // answers that are right; none where tests decide
	Type    string    // extra_info.answer_type or reward_model.type, "" when not given
}

// questionLimit is for the judge of one answer.
const questionLimit = defaultVerifyLimit

// answerRow is a row of questions: {prompt, reward_model: {ground_truth}}.
func answerRow(r rows.Row, o *Options) (Instance, error) {
	source, err := r.Text("data_source")
	if err != nil {
		return Instance{}, err
	}
	if err := unseen(r); err != nil {
		return Instance{}, err
	}
	verifier, err := answer.ForSource(source)
	if o.Verifier != "" {
		verifier, err = answer.Named(o.Verifier)
	}
	if err != nil {
		return Instance{}, r.Wrong("data_source", "%w", err)
	}
	if text, ok := r.Value("context").(string); ok && text != "" && verifier.Name == "ruler" {
		return Instance{}, r.Wrong("context", "holds %d bytes of documents for SkyRL-Agent's tool next_with_summary, which rollbench does not have: the policy would be asked about what it never sees", len(text))
	}
	q, err := questionOf(r, source, verifier.Name != answer.Code)
	if err != nil {
		return Instance{}, err
	}
	id, err := questionID(r, source)
	if err != nil {
		return Instance{}, err
	}
	in := Instance{ID: id, Workdir: "/workspace", LocalOK: true, Needs: []string{"git"}, Instruction: q.Text, System: q.System, Talk: q.Talk, VerifyLimit: questionLimit, Network: o.Network}
	if in.Image, err = r.Text("docker_image"); err != nil {
		return in, err
	}
	in.LocalOK = in.Image == ""
	if verifier.Name == answer.Code {
		in.Needs = append(in.Needs, "python3")
		p, err := programRow(r)
		in.kind = answered{p}
		return in, err
	}
	graded, err := newAnswer(q, verifier, o.Ask)
	in.kind = answered{graded}
	if err != nil {
		err = r.Wrong("data_source", "%w", err)
	}
	return in, err
}

// unseen refuses rows that ask about pictures.
func unseen(r rows.Row) error {
	for _, column := range []string{"images", "videos"} {
		if list, ok := r.Value(column).([]any); ok && len(list) > 0 {
			return r.Wrong(column, "holds %d of what the question is about; a policy is shown texts only", len(list))
		}
	}
	if r.Given("image") {
		return r.Wrong("image", "holds what the question is about; a policy is shown texts only (the image of its sandbox is docker_image)")
	}
	return nil
}

func questionOf(r rows.Row, source string, targets bool) (q Question, err error) {
	q.Source = source
	if q.Text, q.System, q.Talk, err = promptOf(r); err != nil {
		return q, err
	}
	if targets {
		if q.Targets, err = targetsOf(r); err != nil {
			return q, err
		}
	}
	if model, _, err := truthColumn(r); err != nil {
		return q, err
	} else if q.Type, err = model.Text("type"); err != nil {
		return q, err
	}
	extra, given, err := r.Object("extra_info")
	if err != nil || !given || !extra.Given("answer_type") {
		return q, err
	}
	q.Type, err = extra.Text("answer_type")
	return q, err
}

// truthColumn holds what an answer is graded by: reward_model, as verl and
// SkyRL-Agent call it, or reward_spec, as SkyRL's gym does. It is empty where the
// row has neither.
func truthColumn(r rows.Row) (inner rows.Row, column string, err error) {
	for _, column := range []string{"reward_model", "reward_spec"} {
		inner, given, err := r.Object(column)
		if given || err != nil {
			return inner, column, err
		}
	}
	return inner, "reward_model", nil
}

// questionID is the row's own, else its source and place in the table.
func questionID(r rows.Row, source string) (string, error) {
	for _, column := range []string{"id", "uid", "query_id", "uuid"} {
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

// targetsOf are the right answers, from where each kind of row keeps them:
// instance.answer, answer, extra_info.reference_answer, ground_truth of reward_model
// or reward_spec (itself, or its target), and then truthColumns.
func targetsOf(r rows.Row) ([]string, error) {
	for _, place := range []struct{ object, field string }{
		{"instance", "answer"}, {"", "answer"}, {"extra_info", "reference_answer"}, {"reward_model", "ground_truth"}, {"reward_spec", "ground_truth"}, {"", "golden_answers"}, {"", "expected_answer"}, {"", "ground_truth"}, {"", "answers"},
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
