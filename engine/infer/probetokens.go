package infer

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// protocols that may continue ids, by what a probe has seen so far. A server
// that is not known and whose chat gives no ids is not asked: it may bill.
func (caps *Capabilities) protocols() []string {
	switch {
	case caps.Server == "sglang":
		return []string{bySGLang}
	case caps.Server == "vllm", caps.Simulated, caps.TokenIDs:
		return []string{byCompletions, byGenerate}
	}
	return nil
}

// probeComplete samples one token by each protocol until one gives ids.
func (c *Client) probeComplete(ctx context.Context, caps *Capabilities, prompt []int32) {
	if len(prompt) == 0 {
		prompt = []int32{1} // in every vocabulary
	}
	c.textless.Store(false)
	for _, protocol := range caps.protocols() {
		_, err := c.completeOne(ctx, protocol, prompt)
		if protocol == byGenerate && refusal(err) {
			c.textless.Store(true) // a server without a tokenizer refuses to give text
			_, err = c.completeOne(ctx, protocol, prompt)
		}
		if err != nil {
			continue
		}
		caps.Complete = protocol
		c.complete.Store(&protocol)
		c.stops.Store(protocol == byGenerate && c.hasRoute(ctx, "/abort_requests"))
		return
	}
	none := ""
	c.complete.Store(&none)
}

func (c *Client) completeOne(ctx context.Context, protocol string, prompt []int32) (Reply, error) {
	ctx, cancel := limited(ctx, probeChatLimit)
	defer cancel()
	return c.completeBy(ctx, protocol, TokenRequest{Prompt: prompt, MaxTokens: 1, SessionID: "probe"})
}

// refusal: the route is there and does not take the request.
func refusal(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == BadRequest && e.Status != http.StatusNotFound
}

// hasRoute tells a route for POST without calling it: GET is not allowed there.
func (c *Client) hasRoute(ctx context.Context, path string) bool {
	_, err := c.get(ctx, path)
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusMethodNotAllowed
}

// tinkerHealth asks whether a server of the Tinker API is there and well.
func (c *Client) tinkerHealth(ctx context.Context) error {
	data, err := c.get(ctx, "/api/v1/healthz")
	if err != nil {
		return err
	}
	var health struct {
		Status string `json:"status"`
	}
	if json.Unmarshal(data, &health) != nil || health.Status != "ok" {
		return c.fault(Unavailable, "/api/v1/healthz says: "+oneLine(string(data), 160), nil)
	}
	return nil
}

// probeTinker finds the model of a server of the Tinker API and samples one
// token. A path of weights, tinker://…, is in no list of models.
func (c *Client) probeTinker(ctx context.Context, caps *Capabilities) error {
	data, err := c.get(ctx, "/api/v1/get_server_capabilities")
	if err != nil {
		return err
	}
	var list struct {
		Models []struct {
			Name  string `json:"model_name"`
			Owner string `json:"owned_by"` // of the embedded endpoint alone
		} `json:"supported_models"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return c.fault(BadRequest, "get_server_capabilities gives no list of models: "+oneLine(string(data), 160), err)
	}
	for _, m := range list.Models {
		caps.Models = append(caps.Models, m.Name)
		caps.Simulated = caps.Simulated || m.Owner == simulatedOwner
	}
	if !strings.HasPrefix(c.Model(), "tinker://") {
		if _, err := c.settleModel(caps.Models); err != nil {
			return err
		}
	}
	caps.Server = "tinker"
	c.probeLogprobs(ctx, caps)
	c.server.Store(&caps.Server)
	reply, err := c.completeOne(ctx, byTinker, []int32{1})
	if err != nil {
		return err
	}
	protocol := byTinker
	c.complete.Store(&protocol)
	caps.Complete, caps.TokenIDs, caps.Logprobs = byTinker, true, reply.Logprobs != nil
	return nil
}
