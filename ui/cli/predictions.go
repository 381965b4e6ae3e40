package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rollbench/engine/task/rows"
)

// prediction is a row of the SWE-bench harness.
type prediction struct {
	Instance string `json:"instance_id"`
	Model    string `json:"model_name_or_path"`
	Patch    string `json:"model_patch"` // "" for none
}

func (a *app) predictionsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "predictions",
		Short: "Patches as the SWE-bench harness has them: write those of a run, grade a file of them",
		Example: `  rollbench predictions export latest -o predictions.jsonl
  rollbench predictions grade predictions.jsonl --tasks rows.jsonl --report report.json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return bad(errors.New("export or grade? see rollbench predictions --help"))
		},
	}
	c.AddCommand(a.predictionsExportCommand(), a.predictionsGradeCommand())
	return c
}

// readPredictions takes a file as the harness does: JSON lines, a list, or an
// object by id.
func readPredictions(path string) ([]prediction, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out, err := parsePredictions(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: there is no prediction in it", path)
	}
	return out, nil
}

func parsePredictions(data []byte) (out []prediction, err error) {
	seen := map[string]string{}
	add := func(place, key string, text json.RawMessage) error {
		p, err := parsePrediction(key, text)
		if err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		if before, twice := seen[p.Instance]; twice {
			return fmt.Errorf("%s: %q was predicted before, in %s; keep one of them", place, p.Instance, before)
		}
		seen[p.Instance] = place
		out = append(out, p)
		return nil
	}
	if err := rows.Exact(data); err != nil { // what is read of it would be another patch
		return nil, err
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	var list []json.RawMessage
	if bytes.HasPrefix(data, []byte("[")) {
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, fmt.Errorf("it is no JSON list: %w", err)
		}
		for i, text := range list {
			if err := add(fmt.Sprintf("item %d", i+1), "", text); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err == nil && object["instance_id"] == nil {
		return out, eachKey(data, func(key string, text json.RawMessage) error { return add(fmt.Sprintf("key %q", key), key, text) })
	}
	for i, text := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if err := add(fmt.Sprintf("line %d", i+1), "", text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// eachKey of an object in its order: of a map a key that is there twice would be lost.
func eachKey(data []byte, do func(key string, text json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var text json.RawMessage
		if err := d.Decode(&text); err != nil {
			return err
		}
		if err := do(fmt.Sprint(key), text); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func parsePrediction(key string, text json.RawMessage) (p prediction, err error) {
	var row struct {
		Instance *string         `json:"instance_id"`
		Model    string          `json:"model_name_or_path"`
		Patch    json.RawMessage `json:"model_patch"`
	}
	if err := json.Unmarshal(text, &row); err != nil {
		return p, fmt.Errorf("it is no prediction, {instance_id, model_name_or_path, model_patch}: %w", err)
	}
	switch {
	case row.Instance == nil && key == "":
		return p, errors.New(`"instance_id" is missing`)
	case row.Instance == nil:
		row.Instance = &key
	case key != "" && *row.Instance != key:
		return p, fmt.Errorf(`"instance_id" is %q`, *row.Instance)
	}
	p.Instance, p.Model = *row.Instance, row.Model
	if row.Patch == nil {
		return p, fmt.Errorf(`%q has no "model_patch"; null or "" stands for no patch`, p.Instance)
	}
	var patch *string
	if err := json.Unmarshal(row.Patch, &patch); err != nil {
		return p, fmt.Errorf(`"model_patch" of %q must be a text or null`, p.Instance)
	}
	if patch != nil {
		p.Patch = *patch
	}
	return p, nil
}

// patchIn a prediction: without what stands before the first "diff --git", and
// with a line break at its end. CRLF becomes LF only where the patch as a whole was
// written so, its own header too: in a patch of a file with such lines they belong
// to the file. Blank text is no patch.
func patchIn(p prediction) []byte {
	text := p.Patch
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if at := strings.Index("\n"+text, "\ndiff --git "); at >= 0 {
		text = text[at:]
	}
	if first, _, cut := strings.Cut(text, "\n"); cut && strings.HasSuffix(first, "\r") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return []byte(text)
}

// writePredictions, one a line, without the escapes that HTML needs.
func writePredictions(w io.Writer, all []prediction) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, p := range all {
		if err := e.Encode(p); err != nil {
			return err
		}
	}
	return nil
}

// modelsOf predictions, sorted.
func modelsOf(all []prediction) (names []string) {
	for _, p := range all {
		if p.Model != "" {
			names = append(names, p.Model)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
