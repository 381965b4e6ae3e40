package task

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// exactSources are sets of short questions, whose answers are compared as texts.
var exactSources = []string{"nq", "triviaqa", "popqa", "hotpotqa", "2wikimultihopqa", "musique", "bamboogle"}

// newAnswer finds the verifier of a question by its data_source.
func newAnswer(q Question) (answerer, error) {
	source := strings.ToLower(strings.TrimPrefix(q.Source, "searchR1_"))
	if slices.Contains(exactSources, source) {
		return exact{q.Targets}, nil
	}
	verifier := ""
	for _, one := range []struct{ prefix, verifier string }{
		{"torl", "equality of boxed maths"}, {"math", "equality of boxed maths"}, {"codegen", "a run of the code"}, {"browsecomp", "a judge"}, {"ruler", "a judge"},
	} {
		if strings.HasPrefix(source, one.prefix) {
			verifier = one.verifier
		}
	}
	if verifier == "" {
		return nil, fmt.Errorf("no verifier goes by that name; answers are compared for %s", strings.Join(exactSources, ", "))
	}
	return nil, fmt.Errorf("its verifier, %s, is not there yet; answers are compared for %s", verifier, strings.Join(exactSources, ", "))
}

// exact compares an answer with each target after both are made plain.
type exact struct{ targets []string }

func (e exact) judge(_ context.Context, answer string) (Verdict, error) {
	reward := 0.0
	said := plainAnswer(unboxed(answer))
	for _, target := range e.targets {
		if said != "" && said == plainAnswer(target) {
			reward = 1
		}
	}
	note := "the answer equals none of the targets"
	if reward == 1 {
		note = "the answer equals a target"
	}
	return Verdict{Reward: &reward, Note: note, Log: []byte(answer)}, nil
}

// unboxed is the inside of the last \boxed{…}, else the text itself.
func unboxed(text string) string {
	at := strings.LastIndex(text, `\boxed{`)
	if at < 0 {
		return text
	}
	inside, depth := text[at+len(`\boxed{`):], 1
	for i, c := range inside {
		switch c {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 {
			return inside[:i]
		}
	}
	return text
}

var articles = regexp.MustCompile(`\b(a|an|the)\b`)

const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// plainAnswer is lower case without punctuation, articles and extra blanks, in
// this order.
func plainAnswer(text string) string {
	text = strings.Map(func(c rune) rune {
		if strings.ContainsRune(punctuation, c) {
			return -1
		}
		return c
	}, strings.ToLower(text))
	return strings.Join(strings.Fields(articles.ReplaceAllString(text, " ")), " ")
}
