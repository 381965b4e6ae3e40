package answer

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// SameOutput reports whether a program printed what it should: line by line and
// word by word, where words may differ as numbers by up to 1e-6, and "yes" and "no"
// by case.
func SameOutput(given, wanted string) bool {
	given, wanted = unixLines(given), unixLines(wanted)
	if given == wanted {
		return true
	}
	a, b := strings.Split(given, "\n"), strings.Split(wanted, "\n")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !sameWords(strings.Fields(a[i]), strings.Fields(b[i])) {
			return false
		}
	}
	return true
}

func unixLines(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
}

func sameWords(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !sameWord(a[i], b[i]) {
			return false
		}
	}
	return true
}

const outputTolerance = 1e-6

func sameWord(a, b string) bool {
	if lower := strings.ToLower(a); lower == "yes" || lower == "no" {
		return strings.EqualFold(a, b)
	}
	if strings.ContainsAny(a+b, "xX_") { // numbers of Go, and none of the tests'
		return false
	}
	return sameNumber(a, b)
}

// sameNumber: whole numbers must be the same, digit by digit, since a float does not
// tell large ones apart. Any other may differ by the tolerance.
func sameNumber(a, b string) bool {
	if m, n := wholeNumber(a), wholeNumber(b); m != "" && n != "" {
		return m == n
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && math.Abs(x-y) <= outputTolerance
}

// wholeNumber without leading zeros and plus, "" for what is none.
func wholeNumber(text string) string {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "+"), "-")
	if len(text)-len(digits) > 1 || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	switch digits = strings.TrimLeft(digits, "0"); {
	case digits == "":
		return "0"
	case text[0] == '-':
		return "-" + digits
	}
	return digits
}

// SameValue reports whether a function returned what it should: both are JSON values
// as encoding/json decodes them with UseNumber. Numbers are compared as in an output.
func SameValue(given, wanted any) bool {
	switch w := wanted.(type) {
	case json.Number:
		g, ok := given.(json.Number)
		return ok && sameNumber(g.String(), w.String())
	case []any:
		g, ok := given.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !SameValue(g[i], w[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		g, ok := given.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for k := range w {
			v, there := g[k]
			if !there || !SameValue(v, w[k]) {
				return false
			}
		}
		return true
	}
	return given == wanted
}

// Program is the code of a reply: its fenced blocks after its thinking, one behind
// the other. "" when it has none.
func Program(reply string) string {
	var blocks []string
	open, inside := "", false
	var block []string
	for line := range strings.Lines(afterThinking(reply)) {
		line = strings.TrimRight(line, "\r\n")
		fence := fenceOf(line)
		switch {
		case !inside && fence != "":
			open, inside, block = fence, true, nil
		case inside && fence != "" && strings.HasPrefix(fence, open) && strings.Trim(line, "` \t") == "":
			blocks, inside = append(blocks, strings.Join(block, "\n")), false
		case inside:
			block = append(block, line)
		}
	}
	return strings.TrimSpace(strings.Join(blocks, "\n"))
}

// fenceOf a line are its backticks, where it begins with three or more.
func fenceOf(line string) string {
	line = strings.TrimLeft(line, " \t")
	rest := strings.TrimLeft(line, "`")
	if n := len(line) - len(rest); n >= 3 {
		return line[:n]
	}
	return ""
}
