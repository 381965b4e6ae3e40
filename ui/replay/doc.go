// Package replay plays a recorded run as if it happened now.
//
// In: the sessions.Reader of a recording, the wall clock, and what a person asks for
// (speed, pause, skips). Out: a sessions.Reader whose events, trajectories, turns,
// gauges and series are those of a moving moment of the run, and that moment as a
// clock. Whoever reads it cannot tell it from a run that another process writes.
package replay
