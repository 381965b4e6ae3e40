package answer

import (
	"regexp"
	"slices"
	"strings"
)

// gradeBoxed wants a box.
func gradeBoxed(row Row, reply string) bool {
	boxed, ok := Boxed(reply)
	return ok && anyEqual(boxed, row.Targets, ByValue)
}

// gradeMath takes the box, else what a line "Answer: …" says, as the prompts of
// DAPO ask for it, else the whole reply after its thinking.
func gradeMath(row Row, reply string) bool {
	given, ok := Boxed(reply)
	if !ok {
		given = lastOf(answerLine, afterThinking(reply))
	}
	return anyEqual(given, row.Targets, ByForm)
}

// gradeGSM8K takes what stands behind the last ####, as the prompts ask for it,
// else the box, else the whole reply after its thinking.
func gradeGSM8K(row Row, reply string) bool {
	given := afterThinking(reply)
	if boxed, ok := Boxed(reply); ok && (!hashes.MatchString(given) || hashes.MatchString(boxed)) {
		given = boxed
	}
	given = lastOf(hashes, given)
	return slices.ContainsFunc(row.Targets, func(target string) bool { return Equal(given, lastOf(hashes, target), ByValue) })
}

var (
	answerLine = regexp.MustCompile(`(?im)^[ \t*]*(?:the )?(?:final )?answer[ \t*]*:[ \t*]*(.+?)[ \t*]*$`)
	hashes     = regexp.MustCompile(`####[ \t]*([^\n]*[^\s])`)
	tags       = regexp.MustCompile(`(?s)<answer>(.*?)</answer>`)
)

// lastOf what a pattern captures in a text; the text itself where it does not occur.
func lastOf(pattern *regexp.Regexp, text string) string {
	all := pattern.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return text
	}
	return all[len(all)-1][1]
}

func anyEqual(given string, targets []string, strict Strictness) bool {
	return slices.ContainsFunc(targets, func(target string) bool { return Equal(given, target, strict) })
}

func gradeExact(row Row, reply string) bool { return ExactMatch(Tagged(reply), row.Targets) }

// Tagged is the inside of the last <answer>…</answer>, where Search-R1's prompts
// want the answer; the whole reply where there is none.
func Tagged(reply string) string { return strings.TrimSpace(lastOf(tags, reply)) }
