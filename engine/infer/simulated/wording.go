package simulated

import "strings"

// Wordings of the policy, ASCII only. Those of one list share beginnings, so
// that probability is spread over many tokens. NAME stands for a file or term.
var (
	searchThoughts = []string{
		"I should find where NAME is used before I change anything.",
		"I should find where NAME is defined.",
		"Let me look for NAME in the repository.",
	}
	hintThoughts = []string{
		"The answer names NAME as worth asking next.",
		"The answer names NAME. I will look at that as well.",
	}
	viewThoughts = []string{
		"I need to see what NAME does now.",
		"I need to read NAME closely; the mistake may be there.",
		"The issue points at NAME. Let me open it.",
	}
	listThoughts = []string{
		"I do not know this repository yet. Let me see what is there.",
		"I do not know the layout. A listing will help.",
	}
	editThoughts = []string{
		"The cause is clear now. A small change in NAME should do it.",
		"The cause is clear now: NAME handles this case wrongly.",
		"I can fix this in NAME without touching anything else.",
	}
	fixThoughts = []string{
		"My change in NAME was not right. I will correct it.",
		"My change in NAME missed the point. Once more, with care.",
	}
	testThoughts = []string{
		"I should run the tests to see where things stand.",
		"I should run the tests now.",
		"Time to check with the tests.",
	}
	doneThoughts = []string{
		"The change is in place. I can finish.",
		"The change is in place and I see nothing left to do.",
		"I am done here.",
	}
	quitThoughts = []string{
		"I have looked around and found no way to fix this.",
		"I have looked around but the cause stays unclear.",
	}
	doneAnswers = []string{
		"I changed the code so that it behaves as the issue asks.",
		"I changed the code as the issue asks and checked the result.",
		"The issue should be fixed now.",
	}
	quitAnswers = []string{
		"I could not find a fix for this issue.",
		"I could not find the cause; nothing was changed.",
	}
	proses = []string{"", "I will do the next step.", "I will look at the result of this step."}
)

func fill(wordings []string, name string) []string {
	out := make([]string, len(wordings))
	for i, w := range wordings {
		out[i] = strings.ReplaceAll(w, "NAME", name)
	}
	return out
}

// candidates are all replies the policy could give in this state, with their
// probabilities. Kinds that the tools on offer do not allow are left out.
func (b Behaviour) candidates(s *state) []candidate {
	spoiled := b.Malformed
	if s.malformed && len(s.turns) > 0 {
		spoiled /= 4 // it was just told so
	}
	var out []candidate
	for a, p := range b.plan(s) {
		if p <= 0 {
			continue
		}
		for _, m := range s.moves(act(a)) {
			m.weight *= p
			out = m.wordings(out, spoiled)
		}
	}
	if len(out) == 0 {
		for _, m := range s.moves(finish) {
			out = m.wordings(out, spoiled)
		}
	}
	sortCandidates(out)
	return out
}

// wordings adds the replies that make this move. The call's ids, by far the
// most, are made once for all of them.
func (m move) wordings(out []candidate, spoiled float64) []candidate {
	var whole []int32
	var variants [][]int32
	if m.call != nil {
		text := markers[idCall-256] + "\n" + callHead(m.call.name) + m.call.arguments + "}\n" + markers[idCallEnd-256]
		whole = append(appendText(nil, text, replyMarker), idEnd)
		if spoiled > 0 {
			for _, text := range broken(*m.call) {
				variants = append(variants, append(appendText(nil, text, replyMarker), idEnd))
			}
		}
	}
	for i, thought := range m.thoughts {
		w := m.weight * zipf(i) / harmonic(len(m.thoughts))
		head := "<think>\n" + thought + "\n</think>\n\n"
		add := func(weight float64, text string, rest []int32) {
			ids := make([]int32, 0, len(head)+len(text)+len(rest)+1)
			out = append(out, candidate{weight, append(appendText(ids, head+text, replyMarker), rest...)})
		}
		if m.call == nil {
			add(w, m.answer, []int32{idEnd})
			continue
		}
		for k, prose := range proses {
			if prose != "" {
				prose += "\n"
			}
			add(w*(1-spoiled)*zipf(k)/harmonic(len(proses)), prose, whole)
		}
		for _, v := range variants {
			add(w*spoiled/float64(len(variants)), "", v)
		}
	}
	return out
}

// harmonic is the sum of the first n zipf weights.
func harmonic(n int) float64 {
	sum := 0.0
	for i := range n {
		sum += zipf(i)
	}
	return sum
}
