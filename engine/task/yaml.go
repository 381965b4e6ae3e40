package task

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"rollbench/engine/task/rows"
)

// parseYAML reads a file that holds a map, as a row.
func parseYAML(file, text string) (rows.Row, error) {
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		message := strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: ")
		return rows.Row{}, fmt.Errorf("%s: %s", file, strings.TrimPrefix(message, "unmarshal errors: "))
	}
	if len(fields) == 0 {
		return rows.Row{}, fmt.Errorf("%s: it holds no fields", file)
	}
	for name, value := range fields {
		fields[name] = plainYAML(value)
	}
	return rows.New(file, fields), nil
}

// plainYAML turns what only YAML knows into the values of rows.
func plainYAML(value any) any {
	switch v := value.(type) {
	case int:
		return int64(v)
	case uint64:
		return float64(v)
	case time.Time:
		return v.Format(time.RFC3339)
	case []any:
		for i := range v {
			v[i] = plainYAML(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plainYAML(v[name])
		}
	case map[any]any:
		out := map[string]any{}
		for name, inner := range v {
			out[fmt.Sprint(name)] = plainYAML(inner)
		}
		return out
	}
	return value
}
