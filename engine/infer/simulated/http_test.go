package simulated_test

import (
	"context"
	"testing"

	"rollbench/engine/infer"
	"rollbench/engine/infer/simulated"
)

// start a server without pacing.
func start(t *testing.T, opt simulated.Options) *simulated.Server {
	t.Helper()
	opt.Latency, opt.TokensPerSecond = -1, -1
	s, err := simulated.Start(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func client(t *testing.T, opt infer.Options) *infer.Client {
	t.Helper()
	c, err := infer.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestProbe(t *testing.T) {
	s := start(t, simulated.Options{})
	c := client(t, infer.Options{BaseURL: s.URL() + "/v1/"})
	caps, err := c.Probe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if caps.Server != "simulated" || !caps.Simulated || !caps.Chat || !caps.TokenIDs || !caps.Logprobs || !caps.Tokenize || !caps.Metrics || caps.MaxModelLen != 262144 {
		t.Errorf("capabilities %+v", caps)
	}
	if c.Model() != "simulated-policy" {
		t.Errorf("model %q", c.Model())
	}
}
