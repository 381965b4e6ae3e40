package task

import "rollbench/engine/task/testlog"

// grading is how the log of a row's evaluation becomes a reward.
type grading struct{ rules testlog.Rules }

// grade follows the SWE-bench harness, except that an evaluation which broke on
// its own has no reward, where the harness says unresolved.
func (g *grading) grade(log string) (*float64, map[string]float64, string) {
	result := g.rules.Grade(log)
	note := result.Note
	if result.Infra.Sure {
		note += " (a sign of a broken environment: " + result.Infra.Reason + ")"
	}
	reward := new(float64)
	switch {
	case result.Broken:
		return nil, nil, "verifier could not run: " + note
	case result.Invalid:
		return reward, nil, note
	case result.Resolved():
		*reward = 1
	}
	return reward, map[string]float64{"fail_to_pass": result.Fixed.Value(), "pass_to_pass": result.Kept.Value()}, note
}
