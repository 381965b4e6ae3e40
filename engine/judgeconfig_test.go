package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rollbench/engine/task"
)

// judgeServer answers questions with the replies in turn, the last one again and
// again, and keeps what it was asked.
type judgeServer struct {
	*httptest.Server
	mu      sync.Mutex
	replies []string // "429", "slow", "broken", "cut: …", or the text of a reply
	asked   []map[string]any
	keys    []string
	now     int
	most    int // questions at once
}

func startJudge(t *testing.T, replies ...string) *judgeServer {
	s := &judgeServer{replies: replies}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func (s *judgeServer) answer(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	err := json.NewDecoder(r.Body).Decode(&body)
	s.mu.Lock()
	reply := s.replies[min(len(s.asked), len(s.replies)-1)]
	s.asked, s.keys = append(s.asked, body), append(s.keys, r.Header.Get("Authorization"))
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.now--; s.mu.Unlock() }()
	finish := "stop"
	switch {
	case err != nil || r.URL.Path != "/v1/chat/completions":
		http.Error(w, "not a question", http.StatusBadRequest)
		return
	case reply == "429":
		http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
		return
	case reply == "slow":
		<-r.Context().Done()
		return
	case reply == "broken":
		fmt.Fprint(w, `{"choices":[{"message":`)
		return
	case strings.HasPrefix(reply, "cut: "):
		finish = "length"
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"model": "judge-1", "choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": map[string]any{"role": "assistant", "content": reply}}}})
}

func judgeOf(s *judgeServer) Judge {
	return Judge{URL: s.URL + "/v1", Model: "judge-1", MaxTokens: 100, Timeout: Duration(5 * time.Second), Retries: 1, Parallel: 2}
}

// question loads one BrowseComp row, which only a judge can grade.
func question(t *testing.T, ask task.Asker) *task.Instance {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	row := `{"id":"q1","prompt":"Capital of France?","reward_model":{"ground_truth":{"target":["Paris"]}},"data_source":"browsecomp_plus"}`
	if err := os.WriteFile(file, []byte(row), 0o644); err != nil {
		t.Fatal(err)
	}
	ins, err := task.Load(file, task.Options{Ask: ask})
	if err != nil {
		t.Fatal(err)
	}
	return &ins[0]
}

// A judge over HTTP: a decision is a reward; whatever is none, after a bounded number
// of tries, leaves it absent with a note. What it said is the verifier's log.
func TestJudgeOverHTTP(t *testing.T) {
	yes, no := `{"extracted_final_answer":"Paris","reasoning":"same","correct":"yes","confidence":90}`, `{"correct":"no"}`
	for name, c := range map[string]struct {
		replies []string
		reward  string
		asked   int
		note    string
		log     string
	}{
		"yes":                  {[]string{yes}, "1", 1, "browsecomp judge: correct", "judge: " + yes},
		"no":                   {[]string{no}, "0", 1, "browsecomp judge: not correct", "judge: " + no},
		"malformed, then yes":  {[]string{"I think so.", yes}, "1", 2, "browsecomp judge: correct", "judge: I think so."},
		"malformed":            {[]string{"I think so."}, "absent", 2, `reply cannot be used: it has no "correct"`, "judge: I think so."},
		"neither yes nor no":   {[]string{`{"correct":"maybe"}`}, "absent", 2, "must be yes or no", `judge: {"correct":"maybe"}`},
		"busy, then yes":       {[]string{"429", yes}, "1", 2, "browsecomp judge: correct", "judge: "},
		"busy":                 {[]string{"429"}, "absent", 2, "slow down", "slow down"},
		"slow":                 {[]string{"slow"}, "absent", 1, "verifier could not run: ask the browsecomp judge: ", "verifier could not run"},
		"broken HTTP":          {[]string{"broken"}, "absent", 2, "verifier could not run: ask the browsecomp judge: ", "verifier could not run"},
		"cut, though it reads": {[]string{"cut: " + yes}, "absent", 2, "cut after judge.max_tokens = 100", "judge: cut: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startJudge(t, c.replies...)
			j := judgeOf(s)
			if name == "slow" {
				j.Timeout = Duration(50 * time.Millisecond)
			}
			v, err := question(t, j.Asker("k-1")).VerifyAnswer(t.Context(), nil, "It is Paris.")
			if err != nil {
				t.Fatal(err)
			}
			reward := "absent"
			if v.Reward != nil {
				reward = fmt.Sprint(*v.Reward)
			}
			if reward != c.reward || !strings.Contains(v.Note, c.note) || !strings.Contains(string(v.Log), c.log) || strings.Contains(string(v.Log)+v.Note, "k-1") {
				t.Errorf("reward %s, note %q, log %q", reward, v.Note, v.Log)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.asked) != c.asked {
				t.Errorf("asked %d times, want %d", len(s.asked), c.asked)
			}
			q := s.asked[0]
			_, logprobs := q["logprobs"]
			_, ids := q["return_token_ids"]
			if q["model"] != "judge-1" || q["temperature"] != 0.0 || q["max_completion_tokens"] != 100.0 || logprobs || ids || s.keys[0] != "Bearer k-1" {
				t.Errorf("asked %v with %q", q, s.keys[0])
			}
		})
	}
}

// A judge that nobody answers for is named by its own key.
func TestJudgeUnreachable(t *testing.T) {
	s := startJudge(t)
	j := judgeOf(s)
	j.Retries = 0
	s.Close()
	v, err := question(t, j.Asker("")).VerifyAnswer(t.Context(), nil, "Paris")
	if want := "start the server, or name another with judge.endpoint"; err != nil || v.Reward != nil || !strings.Contains(v.Note, want) || strings.Contains(v.Note, "--endpoint") {
		t.Errorf("%+v, %v; want no reward and %q", v, err, want)
	}
}

// max_parallel holds for all questions together, and a cancelled one is no verdict.
func TestJudgePlaces(t *testing.T) {
	s := startJudge(t, `{"correct":"yes"}`)
	in := question(t, judgeOf(s).Asker(""))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if v, err := in.VerifyAnswer(t.Context(), nil, "Paris"); err != nil || v.Reward == nil || *v.Reward != 1 {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
	wg.Wait()
	if s.most > 2 || len(s.asked) != 8 {
		t.Errorf("%d at once, %d asked", s.most, len(s.asked))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := in.VerifyAnswer(ctx, nil, "Paris"); !errors.Is(err, context.Canceled) || v.Reward != nil {
		t.Errorf("cancelled: %+v, %v", v, err)
	}
}

func TestJudgeConfig(t *testing.T) {
	good := Judge{URL: "http://localhost:1", Model: "m", MaxTokens: 1, Timeout: 1, Parallel: 1}
	for want, change := range map[string]func(*Judge){
		"":                   func(*Judge) {},
		"judge.endpoint is ": func(j *Judge) { j.URL = "" },
		"judge.model is missing: name the model that judge.endpoint serves": func(j *Judge) { j.Model = "" },
		"judge.endpoint: ":    func(j *Judge) { j.URL = "localhost" },
		"judge.temperature":   func(j *Judge) { j.Temperature = -1 },
		"judge.timeout":       func(j *Judge) { j.Timeout = 0 },
		"judge.retries":       func(j *Judge) { j.Retries = -1 },
		"judge.max_tokens":    func(j *Judge) { j.MaxTokens = 0 },
		"judge.max_parallel ": func(j *Judge) { j.Parallel = 0 },
	} {
		j := good
		change(&j)
		err := j.check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if (Judge{}).check() != nil || (Judge{}).Asker("") != nil {
		t.Error("none is one")
	}
}
