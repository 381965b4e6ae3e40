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

// The tables of keys in docs/exports.md are the keys of the rows, in order.
func TestDocumentedKeys(t *testing.T) {
	r := workedExample(t)
	for _, format := range []string{"transitions", "skyrl", "verl", "tinker", "chat"} {
		run := r
		if format == "chat" {
			run = dialogue(t)
		}
		_, section, _ := strings.Cut(readDocs(t), "\n## "+format+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		var documented []string
		for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(section, -1) {
			documented = append(documented, m[1])
		}
		lines, _ := run.rows(format, Options{})
		if written := keysIn(lines[0]); !slices.Equal(documented, written) {
			t.Errorf("%s: documented %v\nwritten    %v", format, documented, written)
		}
	}
	var columns []string
	for _, c := range verlColumns {
		columns = append(columns, c.Name)
	}
	if lines, _ := r.rows("verl", Options{}); !slices.Equal(columns, keysIn(lines[0])) {
		t.Errorf("Parquet columns %v, keys %v", columns, keysIn(lines[0]))
	}
}

// keysIn are the keys of a JSON object, in order.
func keysIn(line string) (keys []string) {
	dec := json.NewDecoder(strings.NewReader(line))
	for depth, isKey := 0, true; ; {
		token, err := dec.Token()
		if err != nil {
			return keys
		}
		switch delim, ok := token.(json.Delim); {
		case ok && (delim == '{' || delim == '['):
			depth++
			isKey = depth == 1
			continue
		case ok:
			depth--
		case depth == 1 && isKey:
			keys = append(keys, token.(string))
			isKey = false
			continue
		}
		isKey = depth == 1
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
