package task

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rollbench/sandbox"
)

// maxReward bounds the files that a reward is read from: 1 MiB.
const maxReward = 1 << 20

// readReward takes the reward that test.sh left in dir: reward.json (an object, whose
// numbers are metrics, or a bare number) before reward.txt (a number), as Harbor does
// since it knows metrics. The object's "reward" is the score, or its only number; where
// it has none, reward.txt decides. A missing or invalid file means that the verifier
// gave no reward: absent, with a note, and not 0. What ctrf.json counts are parts, too.
func readReward(ctx context.Context, sb sandbox.Sandbox, dir string, v *Verdict) error {
	var files [3][]byte
	var notes []string
	for i, name := range []string{"reward.json", "reward.txt", "ctrf.json"} {
		data, problem, err := readResult(ctx, sb, dir+"/"+name)
		if err != nil {
			return err
		}
		files[i] = data
		if problem != "" && name != "ctrf.json" {
			notes = append(notes, "/logs/verifier/"+name+" "+problem)
		}
	}
	v.Parts = countsOf(files[2])
	for i, parse := range []func([]byte) (*float64, map[string]float64, string){parseRewardJSON, parseRewardText} {
		if files[i] == nil {
			continue
		}
		reward, parts, problem := parse(files[i])
		for name, value := range parts {
			if v.Parts == nil {
				v.Parts = map[string]float64{}
			}
			v.Parts[name] = value
		}
		if reward != nil {
			v.Reward = reward
			return nil
		}
		notes = append(notes, problem)
	}
	if len(notes) == 0 {
		notes = []string{"verifier wrote neither /logs/verifier/reward.txt nor reward.json"}
	}
	v.Note = strings.Join(notes, "; ")
	return nil
}

// readResult reads a file that tests have written, nil where there is none. It comes
// through the sandbox's archive, and not by a program in it, which the policy may have
// put there. problem says why it cannot be used.
func readResult(ctx context.Context, sb sandbox.Sandbox, file string) (data []byte, problem string, err error) {
	stream, err := sb.CopyOut(ctx, file)
	switch {
	case errors.Is(err, sandbox.ErrNotExist):
		return nil, "", nil
	case errors.Is(err, sandbox.ErrTooLarge):
		return nil, fmt.Sprintf("is larger than %d bytes", maxReward), nil
	case err != nil:
		return nil, "", err
	}
	defer stream.Close()
	in := tar.NewReader(stream)
	head, err := in.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, "", nil
	case err != nil:
		return nil, "", fmt.Errorf("read %s: %w", file, err)
	case head.Typeflag != tar.TypeReg:
		return nil, "is no regular file", nil
	case head.Size > maxReward:
		return nil, fmt.Sprintf("is larger than %d bytes", maxReward), nil
	}
	data = make([]byte, head.Size)
	if _, err = io.ReadFull(in, data); err != nil {
		return nil, "", fmt.Errorf("read %s: %w", file, err)
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), "", nil
}

// decimal is a number as Python's float reads it, but for its names of no number.
var decimal = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

func parseRewardText(data []byte) (*float64, map[string]float64, string) {
	text := strings.TrimSpace(string(data))
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !decimal.MatchString(text) || math.IsInf(n, 0) {
		return nil, nil, fmt.Sprintf("/logs/verifier/reward.txt holds %s, not a number", excerpt(data))
	}
	return &n, nil, ""
}

func parseRewardJSON(data []byte) (*float64, map[string]float64, string) {
	var number *float64
	if err := json.Unmarshal(data, &number); err == nil && number != nil {
		return number, nil, ""
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return nil, nil, fmt.Sprintf("/logs/verifier/reward.json holds %s, not an object of numbers", excerpt(data))
	}
	numbers := map[string]float64{}
	for name, value := range object {
		if n, is := value.(float64); is {
			numbers[name] = n
		}
	}
	reward, isNumber := numbers["reward"]
	_, given := object["reward"]
	if !given && len(numbers) == 1 {
		for _, reward = range numbers {
			return &reward, numbers, ""
		}
	}
	delete(numbers, "reward")
	switch {
	case isNumber:
		return &reward, numbers, ""
	case len(numbers) == 0:
		return nil, nil, "/logs/verifier/reward.json has no numbers"
	case given: // a metric beside it does not stand in for it
		return nil, numbers, `/logs/verifier/reward.json has no number under "reward"`
	}
	return nil, numbers, fmt.Sprintf(`/logs/verifier/reward.json has no number under "reward", and more than one: %s`, someNames(numbers))
}

// someNames of metrics, for a message.
func someNames(numbers map[string]float64) string {
	names := slices.Sorted(maps.Keys(numbers))
	more := ""
	if len(names) > 5 {
		names, more = names[:5], ", …"
	}
	return strings.Join(names, ", ") + more
}

// countsOf the summary of a report in the Common Test Report Format, nil without one.
func countsOf(report []byte) map[string]float64 {
	var r struct {
		Results struct {
			Summary map[string]any `json:"summary"`
		} `json:"results"`
	}
	if json.Unmarshal(report, &r) != nil {
		return nil
	}
	var parts map[string]float64
	for _, name := range []string{"tests", "passed", "failed", "skipped"} {
		if n, is := r.Results.Summary[name].(float64); is && n >= 0 {
			if parts == nil {
				parts = map[string]float64{}
			}
			parts[name] = n
		}
	}
	return parts
}

// excerpt is a short quotation for a message.
func excerpt(data []byte) string {
	data = bytes.TrimSpace(data)
	if len(data) > 40 {
		return strconv.Quote(string(data[:40])) + "…"
	}
	return strconv.Quote(string(data))
}
