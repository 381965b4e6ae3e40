// Package compare lays trajectories of a group beside each other, and two runs.
//
// In: what a sessions.Reader gives of them: rows, turns without their token
// arrays (those are read only to find where ids part), events. Out: plain
// values: the calls of trajectories aligned with each other, the first turn
// where they part, what each used its tools for, and a report of two runs whose
// differences carry the intervals they are known to.
//
// Nothing here draws, and nothing is written.
package compare
