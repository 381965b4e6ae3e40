package task

import (
	"encoding/json"
	"fmt"
	"strings"

	"rollbench/engine/task/answer"
	"rollbench/engine/task/rows"
)

// program is a question whose answer is a program in Python: its tests decide, as
// those of SkyRL-Agent's coder1, of verl's code sets and of LiveCodeBench do.
type program struct {
	prefix string // stands before the code, of tests that are code
	// One of these. asserts run behind the code; script and pytest are files that
	// import it as solution; cases are what it is called with, or reads and prints.
	asserts, script, pytest string
	cases                   []programCase
	function                string // that cases call, "" for a program that reads and prints
	reference               string // code that must pass, "" when none is known
}

// programCase is an input and what must come of it: texts of stdin and stdout, or
// the arguments of a call and its result, as rows.Decode decodes them.
type programCase struct {
	in, out string
	args    []any
	result  any
	text    string // the result as the row has it, where that is a text
}

// returned reports whether a call returned what it should, or the only element of it.
// Where a text could be a number as well, the row does not say which is meant.
func (c programCase) returned(got any) bool {
	want, list := c.result.([]any)
	_, number := c.result.(json.Number)
	return answer.SameValue(got, c.result) || list && len(want) == 1 && answer.SameValue(got, want[0]) || number && got == c.text
}

// programRow takes the tests out of a row's ground truth.
func programRow(r rows.Row) (*program, error) {
	p := &program{}
	if extra, given, err := r.Object("extra_info"); err != nil {
		return nil, err
	} else if given {
		if p.prefix, err = extra.Text("prefix"); err != nil {
			return nil, err
		}
		if p.reference, err = extra.Text("reference"); err != nil {
			return nil, err
		}
	}
	model, column, err := truthColumn(r)
	if err != nil {
		return nil, err
	}
	// Tests that are values of the table, and none in a text, are made alike.
	value := model.Value("ground_truth")
	text, ok := value.(string)
	if !ok {
		data, err := json.Marshal(value)
		if err != nil {
			return nil, r.Wrong(column+".ground_truth", "%w", err)
		}
		text = string(data)
	}
	if value, err = rows.Decode([]byte(text)); err != nil {
		return nil, r.Wrong(column+".ground_truth", "must be tests as JSON: %v", err)
	}
	switch tests := value.(type) {
	case map[string]any:
		err = p.readTests(tests)
	case []any:
		err = p.readList(tests)
	default:
		err = fmt.Errorf("holds no tests")
	}
	if err != nil {
		return nil, r.Wrong(column+".ground_truth", "%s", err.Error())
	}
	return p, nil
}

// testKeys are the names of tests, in the order in which they count.
const testKeys = `"functional", "solution_file", "pytest", "assert_case", or "inputs" and "outputs"`

func (p *program) readTests(tests map[string]any) error {
	for _, one := range []struct {
		name string
		into *string
	}{{"functional", &p.asserts}, {"solution_file", &p.script}, {"pytest", &p.pytest}} {
		if text, ok := tests[one.name].(string); ok && strings.TrimSpace(text) != "" {
			*one.into = text
			return nil
		}
	}
	if list, ok := tests["assert_case"].([]any); ok && len(list) > 0 {
		for _, one := range list {
			text, ok := one.(string)
			if !ok {
				return fmt.Errorf(`must have texts in its "assert_case"`)
			}
			p.asserts += text + "\n"
		}
		return nil
	}
	inputs, given := tests["inputs"].([]any)
	outputs, also := tests["outputs"].([]any)
	if !given || !also {
		return fmt.Errorf("has none of %s", testKeys)
	}
	if len(inputs) != len(outputs) || len(inputs) == 0 {
		return fmt.Errorf("has %d inputs and %d outputs; each case needs both", len(inputs), len(outputs))
	}
	p.function, _ = tests["fn_name"].(string)
	for i := range inputs {
		if err := p.add(inputs[i], outputs[i]); err != nil {
			return fmt.Errorf("case %d: %w", i+1, err)
		}
	}
	return nil
}

// readList takes the cases of LiveCodeBench: {input, output, testtype, metadata}.
func (p *program) readList(list []any) error {
	for i, one := range list {
		test, ok := one.(map[string]any)
		if !ok {
			return fmt.Errorf("case %d is no object of input and output", i+1)
		}
		if kind, _ := test["testtype"].(string); kind == "functional" {
			about, _ := test["metadata"].(map[string]any)
			p.function, _ = about["func_name"].(string)
			if p.function == "" {
				return fmt.Errorf("case %d is functional and has no metadata.func_name: nothing says what it calls", i+1)
			}
		}
		if err := p.add(test["input"], test["output"]); err != nil {
			return fmt.Errorf("case %d: %w", i+1, err)
		}
	}
	if len(list) == 0 {
		return fmt.Errorf("holds no tests")
	}
	return nil
}

func (p *program) add(input, output any) error {
	if p.function != "" {
		args, err := argumentsOf(input)
		text, _ := output.(string)
		p.cases = append(p.cases, programCase{args: args, result: resultOf(output), text: text})
		return err
	}
	in, okIn := linesOf(input)
	out, okOut := linesOf(output)
	if !okIn || !okOut {
		return fmt.Errorf(`must be texts of stdin and stdout; calls of a function need "fn_name"`)
	}
	p.cases = append(p.cases, programCase{in: in, out: out})
	return nil
}

// linesOf is a text, or one as a list of its lines.
func linesOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []any:
		var lines []string
		for _, one := range v {
			line, ok := one.(string)
			if !ok {
				return "", false
			}
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
		return strings.Join(lines, "\n") + "\n", true
	}
	return "", false
}

// argumentsOf a call: a list, or a line of JSON for each.
func argumentsOf(v any) (args []any, err error) {
	switch v := v.(type) {
	case []any:
		return v, nil
	case string:
		for line := range strings.Lines(v) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			one, err := rows.Decode([]byte(line))
			if err != nil {
				return nil, fmt.Errorf("the argument %.40q is no JSON: %w", line, err)
			}
			args = append(args, one)
		}
		return args, nil
	}
	return nil, fmt.Errorf("must have its arguments as a list")
}

// resultOf a call: a value, or one as JSON in a text.
func resultOf(v any) any {
	if text, ok := v.(string); ok {
		if inner, err := rows.Decode([]byte(text)); err == nil {
			return inner
		}
	}
	return v
}

// right is a reply that must pass, "" when none is known.
func (p *program) right() string {
	switch {
	case strings.TrimSpace(p.reference) == "":
		return ""
	case answer.Program(p.reference) != "":
		return p.reference
	}
	return "```python\n" + strings.TrimRight(p.reference, "\n") + "\n```"
}
