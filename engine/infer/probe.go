package infer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// probeLimit bounds each question of a probe; the one-token chat may wait in
// the server's queue and has longer.
const (
	probeLimit     = 5 * time.Second
	probeChatLimit = time.Minute
)

// simulatedOwner is how the embedded endpoint names itself in /v1/models.
const simulatedOwner = "rollbench-simulated"

type modelList struct {
	Data []struct {
		ID          string `json:"id"`
		OwnedBy     string `json:"owned_by"`
		MaxModelLen *int   `json:"max_model_len"`
		Meta        *struct {
			Context *int `json:"n_ctx_train"` // llama.cpp
		} `json:"meta"`
	} `json:"data"`
}

// Probe asks the endpoint what it is and what it supports, with one call of
// one token for each way to get a reply. It fails when the endpoint is down or
// has no such model. It chooses the model when none was named and the server
// has exactly one.
func (c *Client) Probe(ctx context.Context) (Capabilities, error) {
	caps, err := c.probe(ctx)
	if err == nil {
		c.errors.Store(0) // what it does not support was no failure of a call
	}
	return caps, err
}

func (c *Client) probe(ctx context.Context) (Capabilities, error) {
	var caps Capabilities
	owner, err := c.probeModels(ctx, &caps)
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusNotFound && c.tinkerHealth(ctx) == nil {
		err := c.probeTinker(ctx, &caps)
		return caps, err
	}
	if err != nil {
		return caps, err
	}
	// vLLM lists its models even when its engine has died.
	var sick *Error
	if err := c.Health(ctx); errors.As(err, &sick) && sick.Status >= 500 {
		return caps, err
	}
	c.probeServer(ctx, &caps, owner)
	server := caps.Server
	c.server.Store(&server)
	c.oldLimit.Store(server != "openai")
	caps.Metrics = c.probeMetrics(ctx)
	c.probeVersion(ctx, server)
	c.probeLogprobs(ctx, &caps)
	// The answer must be a list of ids, whatever the status says. Some servers
	// take text alone; what a run needs is messages rendered.
	if ids, err := c.Tokenize(ctx, []Message{{Role: "user", Content: "a"}}, nil, true); err == nil && len(ids) > 0 {
		caps.Tokenize = true
	}
	ids, err := c.probeChat(ctx, &caps)
	if err != nil {
		return caps, err
	}
	c.probeComplete(ctx, &caps, ids)
	return caps, nil
}

// probeModels lists the models and settles which one is used.
func (c *Client) probeModels(ctx context.Context, caps *Capabilities) (owner string, err error) {
	data, err := c.get(ctx, "/v1/models")
	if err != nil {
		var e *Error
		if errors.As(err, &e) && e.Status == http.StatusNotFound {
			e.Message = "no /v1/models there; is it an OpenAI-compatible server?"
		}
		return "", err
	}
	var list modelList
	if err := json.Unmarshal(data, &list); err != nil {
		text, _ := errorText(data)
		return "", c.fault(BadRequest, "/v1/models is not a list of models; is it an OpenAI-compatible server? It said: "+oneLine(text, 160), err)
	}
	for _, m := range list.Data {
		caps.Models = append(caps.Models, m.ID)
	}
	model, err := c.settleModel(caps.Models)
	if err != nil {
		return "", err
	}
	for _, m := range list.Data {
		if m.ID != model {
			continue
		}
		owner = m.OwnedBy
		if m.MaxModelLen != nil {
			caps.MaxModelLen = *m.MaxModelLen
		} else if m.Meta != nil && m.Meta.Context != nil {
			caps.MaxModelLen = *m.Meta.Context
		}
	}
	return owner, nil
}

// settleModel takes the only model, or sees that the one asked for is served.
func (c *Client) settleModel(served []string) (string, error) {
	model := c.Model()
	switch {
	case len(served) == 0:
		return "", c.fault(BadRequest, "it serves no model", nil)
	case model == "" && len(served) > 1:
		return "", c.fault(BadRequest, "it serves several models; choose one with --model: "+strings.Join(served, ", "), nil)
	case model == "":
		model = served[0]
		c.model.Store(&model)
	case !slices.Contains(served, model):
		return "", c.fault(BadRequest, fmt.Sprintf("it has no model %q; it serves: %s (choose with --model)", model, strings.Join(served, ", ")), nil)
	}
	return model, nil
}

// probeServer tells which program answers. A route that is missing only means
// that it is another one.
func (c *Client) probeServer(ctx context.Context, caps *Capabilities, owner string) {
	var info struct {
		Version    string `json:"version"`
		MaxTotal   *int   `json:"max_total_num_tokens"`
		ContextLen *int   `json:"context_length"`
		ModelPath  string `json:"model_path"`
	}
	ask := func(path string) bool {
		data, err := c.get(ctx, path)
		return err == nil && json.Unmarshal(data, &info) == nil
	}
	switch {
	case owner == simulatedOwner:
		caps.Server, caps.Simulated = "simulated", true
		if !ask("/version") && ask("/get_server_info") {
			caps.Server = "sglang" // what it was told to look like
		}
	case owner == "llamacpp":
		caps.Server = "llama.cpp"
	case owner != "sglang" && ask("/version") && info.Version != "":
		caps.Server = "vllm"
	case ask("/get_server_info") && (info.Version != "" || info.ModelPath != ""), ask("/get_model_info") && info.ModelPath != "":
		caps.Server = "sglang"
		if caps.MaxModelLen == 0 && info.ContextLen != nil {
			caps.MaxModelLen = *info.ContextLen
		}
	case owner == "vllm" || owner == "sglang":
		caps.Server = owner
	default:
		caps.Server = "openai"
	}
	caps.Version = info.Version
}

func (c *Client) probeMetrics(ctx context.Context) bool {
	data, err := c.get(ctx, "/metrics")
	if err != nil {
		return false
	}
	_, known := readMetrics(data)
	return known
}

// probeChat samples one token to see what comes back with it, asking for less
// when the server refuses the extra fields. ids are the prompt's, where given.
func (c *Client) probeChat(ctx context.Context, caps *Capabilities) (ids []int32, err error) {
	ctx, cancel := limited(ctx, probeChatLimit)
	defer cancel()
	r := Request{Messages: []Message{{Role: "user", Content: "Hi"}}, MaxTokens: 1, SessionID: "probe"}
	var first error
	turned := false
	for extras := extrasAll; extras <= extrasNone; extras++ {
		c.extras.Store(extras)
		reply, err := c.Chat(ctx, r)
		var e *Error
		if errors.As(err, &e) && e.Kind == BadRequest && !turned && strings.Contains(e.Message, "max_") {
			turned = true // it wants the other name of the token limit
			c.oldLimit.Store(!c.oldLimit.Load())
			extras--
			continue
		}
		if errors.As(err, &e) && e.Kind == BadRequest && extras < extrasNone {
			if first == nil {
				first = err
			}
			continue
		}
		if err != nil {
			c.extras.Store(extrasAll)
			if first != nil {
				return nil, first // what was wrong with the whole request says more
			}
			return nil, err
		}
		if !c.oldLimit.Load() && reply.OutputTokens > r.MaxTokens {
			c.oldLimit.Store(true) // it takes the newer name and does not heed it
		}
		caps.Chat = true
		caps.TokenIDs = len(reply.PromptIDs) > 0 && len(reply.OutputIDs) > 0
		caps.Logprobs = len(reply.Logprobs) > 0
		return reply.PromptIDs, nil
	}
	return nil, first
}

// Health says whether the endpoint answers. Servers without /health are asked
// for their models.
func (c *Client) Health(ctx context.Context) error {
	if *c.server.Load() == "tinker" {
		return c.tinkerHealth(ctx)
	}
	_, err := c.get(ctx, "/health")
	var e *Error
	if errors.As(err, &e) && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) {
		_, err = c.get(ctx, "/v1/models")
	}
	return err
}

// get reads one small answer, without retries: a probe wants to know now.
func (c *Client) get(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := limited(ctx, probeLimit)
	defer cancel()
	req, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	data, err := c.exchange(req, 16<<20)
	return bytes.TrimSpace(data), err
}

// unknownModel tells a 404 for a model from a 404 for a route.
func unknownModel(text string) bool {
	return strings.Contains(strings.ToLower(text), "model")
}
