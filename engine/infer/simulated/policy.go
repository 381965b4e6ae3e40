package simulated

import "math"

// Behaviour is the policy's character: probabilities from 0 to 1. The zero
// value takes the defaults in brackets, which solve about half of the tasks.
type Behaviour struct {
	Right     float64 // that a first attempt is right in all its edits [0.30]
	Fix       float64 // that failing tests lead to the right edit [0.35]
	Test      float64 // that tests are run before finishing [0.80]
	Quit      float64 // that it gives up, at each step before its first edit [0.02]
	Malformed float64 // that a call is malformed, each turn [0.04]
}

// DefaultBehaviour gives mixed outcomes.
var DefaultBehaviour = Behaviour{Right: 0.30, Fix: 0.35, Test: 0.80, Quit: 0.02, Malformed: 0.04}

// act is a kind of next action.
type act int

const (
	look act = iota // search or view
	rightEdit
	wrongEdit
	runTests
	finish
	acts // their number
)

// weights of the kinds.
type weights [acts]float64

// plan is the distribution over kinds of action in a state. It sums to 1.
func (b Behaviour) plan(s *state) weights {
	switch {
	case s.left == 1 || s.hurry && len(s.turns) > 0:
		return mix(weights{finish: 0.9, look: 0.1})
	case !s.task.solvable():
		// Explored and given up: likelier to end with every look.
		end := min(1, float64(max(0, s.looks-1))*0.3)
		return mix(weights{finish: end, look: 1 - end})
	case s.blocked():
		return mix(weights{finish: 0.6, look: 0.4})
	case !s.attempted():
		return b.beforeEdit(s)
	}
	return b.afterEdit(s)
}

// lookChance by the number of looks so far: at least one, seldom over four.
var lookChance = []float64{1, 0.75, 0.4, 0.15, 0.05}

func (b Behaviour) beforeEdit(s *state) weights {
	looking := lookChance[min(s.looks, len(lookChance)-1)]
	for i := range s.edits {
		if s.edits[i].touched() {
			looking = 0.1 // within a change of several edits
		}
	}
	right := b.right(s)
	rest := 1 - looking
	p := weights{look: looking, rightEdit: rest * right, wrongEdit: rest * (1 - right), finish: b.Quit}
	if s.task.TestCommand != "" && s.testRuns == 0 && s.looks > 0 {
		p[runTests] = 0.15 // to see them fail first
	}
	return mix(p)
}

// right is the chance for one edit, such that all of them together are right
// with the chance asked for.
func (b Behaviour) right(s *state) float64 {
	return math.Pow(b.Right, 1/float64(max(1, len(s.edits))))
}

func (b Behaviour) afterEdit(s *state) weights {
	switch {
	case s.tests == untested && s.task.TestCommand != "":
		return mix(weights{runTests: b.Test, finish: (1 - b.Test) * 0.7, look: (1 - b.Test) * 0.3})
	case s.tests == failed && !s.done():
		rest := 1 - b.Fix
		return mix(weights{rightEdit: b.Fix, wrongEdit: rest * 0.2, look: rest * 0.2, finish: rest * 0.6})
	case s.tests == failed:
		return mix(weights{finish: 0.7, look: 0.2, runTests: 0.1})
	}
	return mix(weights{finish: 0.9, look: 0.1})
}

// blocked: an edit or the script keeps failing, so that trying on is idle.
func (s *state) blocked() bool {
	for i := range s.edits {
		if s.edits[i].failed >= 2 {
			return true
		}
	}
	return len(s.edits) == 0 && s.script == failed
}

// mix scales weights to a sum of 1.
func mix(p weights) weights {
	sum := 0.0
	for _, w := range p {
		sum += w
	}
	for a := range p {
		p[a] /= sum
	}
	return p
}
