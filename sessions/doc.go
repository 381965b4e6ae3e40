// Package sessions is what happened: the events of a run, its turns and
// transitions, the SQLite store that keeps them and the reduction that turns
// events into the state of each trajectory.
//
// In: Write values (events, a turn, a patch, an eval log) committed together.
// Out: everything anyone reads about a run, live or finished: Since(seq),
// Trajectories(), Turns(). The ui and the exports read nothing else.
//
// An event is visible only after it is committed. Every fact of a trajectory
// has one writer: its own loop. One process writes a run (a file lock); others
// open it read-only.
package sessions
