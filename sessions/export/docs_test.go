package export

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollbench/sessions"
)

func readDocs(t *testing.T) string {
	text, err := os.ReadFile("../../docs/exports.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The table of keys in docs/exports.md is the keys of a row, in order.
func TestDocumentedKeys(t *testing.T) {
	table, _, _ := strings.Cut(readDocs(t), "An example")
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		documented = append(documented, m[1])
	}
	_, lines, _ := workedExample(t).export(Options{Prompt: "delta"})
	var written []string
	dec := json.NewDecoder(strings.NewReader(lines[0]))
	for depth, isKey := 0, true; ; {
		token, err := dec.Token()
		if err != nil {
			break
		}
		switch delim, ok := token.(json.Delim); {
		case ok && (delim == '{' || delim == '['):
			depth++
			isKey = depth == 1
			continue
		case ok:
			depth--
		case depth == 1 && isKey:
			written = append(written, token.(string))
			isKey = false
			continue
		}
		isKey = depth == 1
	}
	if !slices.Equal(documented, written) {
		t.Errorf("documented %v\nwritten    %v", documented, written)
	}
}

// The table of finish reasons in docs/exports.md is the code's.
func TestDocumentedFinishReasons(t *testing.T) {
	_, table, _ := strings.Cut(readDocs(t), "## Finish reasons")
	yes := map[bool]string{true: "yes", false: "no"}
	for _, reason := range sessions.FinishReasons() {
		rule := reason.Rule()
		reward := "absent"
		switch {
		case rule.Reward && rule.Evaluated:
			reward = "verifier's"
		case rule.Reward:
			reward = "0"
		}
		row := fmt.Sprintf("(?m)^\\| `%s` \\| [^|]+ \\| %s \\| %s \\| %s \\|$", reason, yes[rule.Evaluated], yes[rule.Masked], reward)
		if !regexp.MustCompile(row).MatchString(table) {
			t.Errorf("docs/exports.md has no row like %s", row)
		}
	}
}

// Every count of FILE.meta.json is documented.
func TestDocumentedCounts(t *testing.T) {
	_, table, _ := strings.Cut(readDocs(t), "## FILE.meta.json")
	encoded, err := json.Marshal(Meta{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(string(encoded), -1) {
		if !strings.Contains(table, "`"+m[1]+"`") {
			t.Errorf("docs/exports.md says nothing of %s", m[1])
		}
	}
}
