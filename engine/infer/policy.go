package infer

import (
	"context"
	"encoding/json"
	"strings"
)

// What an endpoint says of the weights that it samples with and of the
// logprobs that it reports.

// PolicyVersion is the version of the weights as last seen, "" when unknown.
func (c *Client) PolicyVersion() string { return *c.version.Load() }

// AskPolicyVersion looks again where the probe has found the version. An
// endpoint that does not say it is not asked.
func (c *Client) AskPolicyVersion(ctx context.Context) error {
	route := *c.versionAt.Load()
	if route == "" {
		return nil
	}
	data, err := c.get(ctx, route)
	if err != nil {
		return err
	}
	version, err := readVersion(data)
	if err != nil {
		return c.fault(BadRequest, route+" gives no JSON of a version: "+oneLine(string(data), 160), err)
	}
	c.version.Store(&version)
	return nil
}

func readVersion(data []byte) (string, error) {
	var info struct {
		Version string `json:"weight_version"`
	}
	err := json.Unmarshal(data, &info)
	return info.Version, err
}

// probeVersion finds the route that names the version, where there is one.
func (c *Client) probeVersion(ctx context.Context, server string) {
	route, none := "/weight_info", ""
	switch server {
	case "sglang":
		route = "/get_model_info"
	case "vllm", "simulated":
	default:
		route = ""
	}
	c.versionAt.Store(&route)
	if err := c.AskPolicyVersion(ctx); err != nil || c.PolicyVersion() == "" {
		c.versionAt.Store(&none)
	}
}

// probeLogprobs finds out what the logprobs are of: raw (the model's own
// distribution) or processed (the one sampled from, after temperature and cuts).
// vLLM says it in development mode alone.
func (c *Client) probeLogprobs(ctx context.Context, caps *Capabilities) {
	mode := ""
	switch {
	case caps.Simulated:
		mode = "processed"
	case caps.Server == "vllm":
		var info struct {
			Config struct {
				Model struct {
					Mode string `json:"logprobs_mode"`
				} `json:"model_config"`
			} `json:"vllm_config"`
		}
		if data, err := c.get(ctx, "/server_info?config_format=json"); err == nil && json.Unmarshal(data, &info) == nil {
			mode = strings.TrimSuffix(info.Config.Model.Mode, "_logprobs")
		}
	}
	caps.LogprobsMode = mode
	c.mode.Store(&mode)
}

// sign a reply with who gave it. A version within the answer is that of its
// tokens; else it is the one seen last.
func (c *Client) sign(r *Reply) {
	r.Endpoint = c.URL()
	if r.Logprobs != nil {
		r.LogprobsMode = *c.mode.Load()
	}
	if r.PolicyVersion == "" {
		r.PolicyVersion = c.PolicyVersion()
	}
}
