package answer

import (
	"fmt"
	"slices"
	"strings"
)

// verifiers by name.
var verifiers = []Verifier{
	{Name: "torl", Low: -1, High: 1, grade: gradeBoxed},
	{Name: "math", High: 1, grade: gradeMath},
	{Name: "gsm8k", High: 1, grade: gradeGSM8K},
	{Name: "exact_match", High: 1, grade: gradeExact},
	{Name: "browsecomp", High: 1, Judge: &Browse, ready: asIs},
	{Name: "ruler", High: 1, Judge: &Ruler, ready: asIs},
	{Name: "stem", High: 1, Judge: &Stem, ready: readyStem},
	{Name: Code, High: 1},
}

// Code is the verifier whose rows bring tests for a program: they are run in a
// sandbox, and Grade does not know them.
const Code = "code"

// Names of the verifiers.
func Names() (out []string) {
	for _, v := range verifiers {
		out = append(out, v.Name)
	}
	return out
}

// Named finds a verifier by its name.
func Named(name string) (Verifier, error) {
	if i := slices.IndexFunc(verifiers, func(v Verifier) bool { return v.Name == name }); i >= 0 {
		return verifiers[i], nil
	}
	return Verifier{}, fmt.Errorf("verifier %q is unknown: use one of %s", name, strings.Join(Names(), ", "))
}

// sources: which verifier the rows of a data_source have in SkyRL-Agent, Search-R1
// and verl. A star at the end stands for anything.
var sources = []struct {
	verifier string
	names    []string
}{
	{"torl", []string{"ToRL"}},
	{"math", []string{"math*", "aime*", "numina_*", "lighteval/MATH", "DigitalLearningGmbH/MATH-lighteval", "HuggingFaceH4/MATH-500"}},
	{"gsm8k", []string{"openai/gsm8k", "gsm8k"}},
	{"exact_match", []string{"2wikimultihopqa", "bamboogle", "hotpotqa", "musique", "nq", "popqa", "triviaqa"}},
	{"browsecomp", []string{"browsecomp*"}},
	{"ruler", []string{"ruler*"}},
	{"stem", []string{"stem_textbook", "hle"}},
	{Code, []string{"codegen*", "livecodebench*", "apps", "taco", "codecontests", "codeforces"}},
}

// ForSource finds the verifier of a data_source.
func ForSource(source string) (Verifier, error) {
	source = strings.TrimPrefix(source, "searchR1_")
	for _, s := range sources {
		if slices.ContainsFunc(s.names, func(name string) bool { return matches(source, name, s.verifier == "stem") }) {
			return Named(s.verifier)
		}
	}
	if source == "" {
		return Verifier{}, fmt.Errorf("it is missing, so that nothing says how an answer is graded: --set tasks.verifier=NAME says it, with one of %s", strings.Join(Names(), ", "))
	}
	return Verifier{}, fmt.Errorf("%q has no verifier that is known (docs/verifiers.md lists them): --set tasks.verifier=NAME says how its answers are graded, with one of %s", source, strings.Join(Names(), ", "))
}

func matches(source, name string, fold bool) bool {
	if prefix, open := strings.CutSuffix(name, "*"); open {
		return strings.HasPrefix(source, prefix)
	}
	return source == name || fold && strings.EqualFold(source, name)
}
