package task

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"rollbench/sandbox"
)

// readReward takes the reward that test.sh left in dir: reward.txt (a number)
// first, then reward.json (an object of numbers, whose "reward" is the score,
// or a bare number). The object's other numbers are parts in either case. A
// missing or invalid file means that the verifier gave no reward: absent, with
// a note, and not 0.
func readReward(ctx context.Context, sb sandbox.Sandbox, dir string, v *Verdict) error {
	text, err := readIfThere(ctx, sb, dir+"/reward.txt")
	if err != nil {
		return err
	}
	object, err := readIfThere(ctx, sb, dir+"/reward.json")
	if err != nil {
		return err
	}
	if text == nil && object == nil {
		v.Note = "verifier wrote neither /logs/verifier/reward.txt nor reward.json"
		return nil
	}
	var problem string
	if object != nil {
		v.Reward, v.Parts, problem = parseRewardJSON(object)
	}
	if text != nil {
		v.Reward, problem = parseRewardText(text)
	}
	v.Note = problem
	return nil
}

func readIfThere(ctx context.Context, sb sandbox.Sandbox, file string) ([]byte, error) {
	data, err := sb.ReadFile(ctx, file)
	if errors.Is(err, sandbox.ErrNotExist) {
		return nil, nil
	}
	if err == nil && data == nil {
		data = []byte{}
	}
	return data, err
}

func parseRewardText(data []byte) (*float64, string) {
	n, err := strconv.ParseFloat(strings.TrimSpace(string(data)), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return nil, fmt.Sprintf("/logs/verifier/reward.txt holds %s, not a number", excerpt(data))
	}
	return &n, ""
}

func parseRewardJSON(data []byte) (*float64, map[string]float64, string) {
	var number *float64
	if err := json.Unmarshal(data, &number); err == nil && number != nil {
		return number, nil, ""
	}
	var object map[string]*float64
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return nil, nil, fmt.Sprintf("/logs/verifier/reward.json holds %s, not an object of numbers", excerpt(data))
	}
	reward := object["reward"]
	delete(object, "reward")
	parts := map[string]float64{}
	for name, value := range object {
		if value != nil {
			parts[name] = *value
		}
	}
	if reward == nil {
		return nil, parts, `/logs/verifier/reward.json has no number under "reward"`
	}
	return reward, parts, ""
}

// excerpt is a short quotation for a message.
func excerpt(data []byte) string {
	data = bytes.TrimSpace(data)
	if len(data) > 40 {
		return strconv.Quote(string(data[:40])) + "…"
	}
	return strconv.Quote(string(data))
}
