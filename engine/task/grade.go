package task

import "rollbench/engine/task/testlog"

// grading is how the log of a row's evaluation becomes a reward.
type grading struct{ rules testlog.Rules }

// namedTests are those of a row that has a result.
func namedTests(result testlog.Grade) *Tests {
	if result.Broken || result.Invalid {
		return nil
	}
	return &Tests{FailToPass: Named{result.Fixed.Success, result.Fixed.Failure}, PassToPass: Named{result.Kept.Success, result.Kept.Failure}}
}

// rewardOf follows the SWE-bench harness, except that an evaluation which broke on
// its own has no reward, where the harness says unresolved.
func rewardOf(result testlog.Grade) (*float64, map[string]float64, string) {
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
