package engine

import (
	"bytes"
	"testing"

	"rollbench/sessions"
	"rollbench/sessions/export"
)

// A fork behind every kind of change, interrupted and resumed, in every format with
// tokens: what trains is what the policy sampled in that very trajectory and nobody
// chose for it, and the ids of the prefix are the parent's.
func TestForkOfEveryInterventionExported(t *testing.T) {
	call := []sessions.Call{{Name: "execute_bash", Arguments: looks}}
	for name, act := range map[string]func(s *sat){
		"edit":    func(s *sat) { s.must(s.EditCall(s.key, 0, "execute_bash", looks)); s.intervenes("edit") },
		"replace": func(s *sat) { s.must(s.Write(s.key, "I look.", call)); s.intervenes("replace") },
		"pick": func(s *sat) {
			s.must(s.Resample(s.key, 1))
			s.seen(sessions.KindResampled, 1)
			s.held(sessions.AfterReply)
			s.must(s.Pick(s.key, 2))
			s.seen(sessions.KindPicked, 1)
		},
		"edit the observation": func(s *sat) {
			s.into(sessions.AfterTool)
			s.must(s.EditObservation(s.key, 0, "nothing"))
			s.intervenes("edit_observation")
		},
		"run": func(s *sat) { s.must(s.RunByHand(s.key, "echo > byhand", false)); s.intervenes("run") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sit(t, nil)
			act(s)
			s.must(s.Step(s.key, "over"))
			s.until("turn 1 is over", func() bool {
				return len(s.events(sessions.KindTurnDone)) == 1 && s.row(0).HeldAt == sessions.BeforeModel
			})
			children := []sessions.Key{child(1), child(2)}
			s.must(s.Fork(s.key, 2, ForkOptions{N: 2, Hold: true, Differs: DifferGo}))
			for _, key := range children {
				s.until("the child is held", func() bool { return s.rowOf(key).State == sessions.Held })
				s.must(s.Step(key, "into"))
				s.until("it has replied", func() bool { return s.rowOf(key).HeldAt == sessions.AfterReply })
			}
			s.stopped()
			s.toEndOf()
			own := map[sessions.Key]int{}
			for _, key := range append(children, s.key) {
				if row := s.rowOf(key); row.State != sessions.Done || row.Attempt != 1 || row.Breaks != 0 {
					t.Errorf("%s is %s, attempt %d, %d breaks", key, row.State, row.Attempt, row.Breaks)
				}
				for _, turn := range s.turnsOf(key) {
					if turn.Source == sessions.FromModel && turn.Version == 1 && !turn.Superseded && turn.Origin == nil {
						own[key] += len(turn.OutputIDs)
					}
				}
			}
			all := own[s.key] + own[children[0]] + own[children[1]]
			for format, want := range map[string][2]int{"transitions": {3, all}, "skyrl": {3, all}, "verl": {3, all}, "verl-parquet": {3, all},
				"tinker": {2, all - own[s.key]}} { // which takes no group of one
				sum, err := export.Write(t.Context(), &bytes.Buffer{}, format, s.store, export.Options{IncludeIntervened: true})
				s.must(err)
				if got := [2]int{sum.Trajectories, sum.TrainTokens}; got != want || sum.Broken != 0 {
					t.Errorf("%s: trajectories and tokens that train are %v, want %v, %d broken", format, got, want, sum.Broken)
				}
			}
		})
	}
}
