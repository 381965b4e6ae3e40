package infer

import (
	"encoding/json"
	"testing"
)

func TestSamplingWith(t *testing.T) {
	read := func(text string) (s Sampling) {
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	const run = `{"temperature":1,"top_p":0.9,"top_k":20,"min_p":0.1,"repetition_penalty":1.1,"seed":7,"stop":["a","b"]}`
	for _, c := range []struct{ changed, want string }{
		{`{}`, run},
		{`{"temperature":0,"seed":8}`, `{"temperature":0,"top_p":0.9,"top_k":20,"min_p":0.1,"repetition_penalty":1.1,"seed":8,"stop":["a","b"]}`},
		{`{"top_p":0.5,"top_k":-1,"min_p":0,"repetition_penalty":1,"stop":["c"]}`, `{"temperature":1,"top_p":0.5,"top_k":-1,"min_p":0,"repetition_penalty":1,"seed":7,"stop":["c"]}`},
	} {
		base, changed := read(run), read(c.changed)
		got, err := json.Marshal(base.With(changed))
		if err != nil || string(got) != c.want {
			t.Errorf("with %s: %s, %v; want %s", c.changed, got, err, c.want)
		}
		if after, err := json.Marshal(base); err != nil || string(after) != run {
			t.Errorf("with %s: the run's settings became %s, %v", c.changed, after, err)
		}
	}
}
