package task

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// row is one SWE-bench-style problem. Fields that stay nil were not given.
type row struct {
	InstanceID  *string  `json:"instance_id"`
	Repo        string   `json:"repo"`
	BaseCommit  *string  `json:"base_commit"`
	Statement   *string  `json:"problem_statement"`
	Patch       string   `json:"patch"`
	TestPatch   string   `json:"test_patch"`
	FailToPass  nameList `json:"FAIL_TO_PASS"`
	PassToPass  nameList `json:"PASS_TO_PASS"`
	Image       string   `json:"image"`
	ImageName   string   `json:"image_name"`
	DockerImage string   `json:"docker_image"`
	Workdir     string   `json:"workdir"`
	EvalScript  string   `json:"eval_script"`
	EvalType    string   `json:"eval_type"`
	LogParser   string   `json:"log_parser"`
	Version     any      `json:"version"` // a string, or in some datasets a number
	TestCmd     string   `json:"test_cmd"`
}

// nameList is a list of test names, or that list as JSON in a string.
type nameList struct {
	names []string
	given bool
}

func (l *nameList) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return nil
	}
	l.given = true
	var inner string
	if json.Unmarshal(data, &inner) == nil {
		if strings.TrimSpace(inner) == "" {
			return nil
		}
		data = []byte(inner)
	}
	if err := json.Unmarshal(data, &l.names); err != nil {
		return errors.New("must be a list of test names, or one written as a JSON string")
	}
	return nil
}

// maxRows bounds a dataset file, in bytes.
const maxRows = 4 << 30

// loadRows reads a .jsonl file (a row a line) or a .json file (a list of rows,
// an object of rows by id, or one row).
func loadRows(file string) ([]Instance, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxRows {
		return nil, fmt.Errorf("the file has %d bytes, more than %d; split it", info.Size(), int64(maxRows))
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	return parseRows(data, abs)
}

func parseRows(data []byte, origin string) ([]Instance, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // a byte order mark
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) == 0 {
		return nil, errors.New("the file is empty; it must hold a JSON row a line")
	}
	// An object that is valid as a whole is one value; of several lines with an
	// object each, it is not.
	if trimmed[0] == '[' || trimmed[0] == '{' && json.Valid(trimmed) {
		return parseDocument(trimmed, origin)
	}
	if trimmed[0] != '{' {
		return nil, errors.New("line 1: not a JSON row; give a Harbor task folder or a SWE-bench-style .jsonl or .json file")
	}
	var ins []Instance
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		in, err := parseRow(line, fmt.Sprintf("%s line %d", origin, number))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		ins = append(ins, in)
	}
	return ins, nil
}

// parseDocument reads one JSON value that holds all rows.
func parseDocument(data []byte, origin string) ([]Instance, error) {
	var rows []json.RawMessage
	labels := []string{}
	if data[0] == '[' {
		if err := json.Unmarshal(data, &rows); err != nil {
			return nil, jsonError(data, err)
		}
		for i := range rows {
			labels = append(labels, fmt.Sprintf("row %d", i+1))
		}
	} else {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, jsonError(data, err)
		}
		// One row, or rows by id: a row has fields that are no objects.
		if _, single := fields["instance_id"]; single || !allObjects(fields) {
			rows, labels = []json.RawMessage{data}, []string{"row 1"}
		} else {
			for _, id := range slices.Sorted(maps.Keys(fields)) {
				rows, labels = append(rows, fields[id]), append(labels, fmt.Sprintf("row %q", id))
			}
		}
	}
	if len(rows) == 0 {
		return nil, errors.New("the file holds no rows")
	}
	var ins []Instance
	for i, data := range rows {
		in, err := parseRow(data, origin+" "+labels[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", labels[i], err)
		}
		ins = append(ins, in)
	}
	return ins, nil
}

func allObjects(fields map[string]json.RawMessage) bool {
	for _, v := range fields {
		if !bytes.HasPrefix(bytes.TrimSpace(v), []byte("{")) {
			return false
		}
	}
	return len(fields) > 0
}

// jsonError names the line and, for a wrong type, the field.
func jsonError(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("field %q is a JSON %s; it must be a string", kind.Field, kind.Value)
	case errors.As(err, &kind):
		return fmt.Errorf("a JSON %s where a row (an object) must be", kind.Value)
	case errors.As(err, &syntax) && bytes.Count(data, []byte("\n")) > 1:
		return fmt.Errorf("line %d: broken JSON: %w", 1+bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n")), err)
	case errors.As(err, &syntax):
		return fmt.Errorf("broken JSON at byte %d: %w", syntax.Offset, err)
	}
	return err
}

// parseRow checks the fields that every row needs, then makes an instance of it.
func parseRow(data []byte, origin string) (Instance, error) {
	var r row
	if err := json.Unmarshal(data, &r); err != nil {
		// A custom decoder's error does not say which field it is about.
		if field := badList(data); field != "" {
			err = fmt.Errorf("field %q %w", field, err)
			return Instance{}, err
		}
		return Instance{}, jsonError(data, err)
	}
	for _, need := range []struct {
		field string
		value *string
	}{{"instance_id", r.InstanceID}, {"base_commit", r.BaseCommit}, {"problem_statement", r.Statement}} {
		if need.value == nil {
			return Instance{}, fmt.Errorf("field %q is missing; every SWE-bench row needs it", need.field)
		}
		if strings.TrimSpace(*need.value) == "" {
			return Instance{}, fmt.Errorf("field %q is empty; every SWE-bench row needs it", need.field)
		}
	}
	if !r.FailToPass.given {
		return Instance{}, errors.New(`field "FAIL_TO_PASS" is missing; every SWE-bench row needs it`)
	}
	if len(r.FailToPass.names)+len(r.PassToPass.names) == 0 {
		return Instance{}, errors.New(`field "FAIL_TO_PASS" is empty and so is "PASS_TO_PASS"; there is no test to grade by`)
	}
	return newRow(&r, origin)
}

// badList names the test list that cannot be decoded, "" when both can.
func badList(data []byte) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return ""
	}
	for _, name := range []string{"FAIL_TO_PASS", "PASS_TO_PASS"} {
		raw := fields[name]
		if raw != nil && new(nameList).UnmarshalJSON(raw) != nil {
			return name
		}
	}
	return ""
}

// rowVerifyLimit is the harness's limit for one evaluation.
const rowVerifyLimit = 1800 * time.Second
