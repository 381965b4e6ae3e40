package infer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// TokenRequest asks for the continuation of exact ids.
type TokenRequest struct {
	Prompt    []int32 // taken as it is: no template, nothing added, nothing cut
	Sampling  Sampling
	StopIDs   []int32 // end the reply, beside the model's own end of turn
	MaxTokens int     // what is left of the budget; always sent
	SessionID string  // sent as X-Session-ID: one per trajectory
	// Stream and Restart as in Request. Endpoints that stream no text deliver
	// it at the end.
	Stream  func(text string)
	Restart func()
}

// Protocols of Complete, as Capabilities names them.
const (
	byCompletions = "completions" // vLLM's /v1/completions
	byGenerate    = "generate"    // vLLM's /inference/v1/generate
	bySGLang      = "sglang"      // SGLang's /generate
	byTinker      = "tinker"      // asample of the Tinker API
)

// ErrNoComplete says that the endpoint was not found to continue token ids.
var ErrNoComplete = errors.New("endpoint does not continue token ids; vLLM, SGLang and SkyRL's Tinker server do")

// Complete samples the continuation of the prompt's ids by the protocol that
// Probe found. The reply holds the ids as they were sampled, with the one that
// ended the turn, and no parsed parts: Content, Reasoning and Calls are empty.
// Its PromptIDs are r.Prompt itself, not a copy.
// Its Raw is the text of all output ids with every marker, or "" where the
// endpoint gives no text at all. Its FinishReason is stop, length or abort;
// a prompt that does not fit is an Error of kind Overflow. A reply without ids
// is refused.
func (c *Client) Complete(ctx context.Context, r TokenRequest) (Reply, error) {
	return c.completeBy(ctx, *c.complete.Load(), r)
}

func (c *Client) completeBy(ctx context.Context, protocol string, r TokenRequest) (Reply, error) {
	try, err := c.tries(protocol, r)
	if err != nil {
		return Reply{}, err
	}
	streamed := false
	stream := r.Stream
	if stream != nil {
		stream = func(text string) {
			streamed = true
			r.Stream(text)
		}
	}
	reply, err := c.sample(ctx, stream, r.Restart, try)
	if err != nil {
		return Reply{}, err
	}
	if err := c.spell(ctx, &reply); err != nil {
		return Reply{}, err
	}
	if r.Stream != nil && !streamed && reply.Raw != "" {
		r.Stream(reply.Raw)
	}
	return reply, nil
}

// try makes one attempt at a reply, streamed when deliver is set.
type try func(ctx context.Context, deliver func(string)) (Reply, error)

// tries checks a request and gives what makes attempts at it.
func (c *Client) tries(protocol string, r TokenRequest) (try, error) {
	switch {
	case r.MaxTokens <= 0:
		return nil, c.noRoom(r.MaxTokens)
	case len(r.Prompt) == 0:
		return nil, c.fault(BadRequest, "a prompt of no token ids was to be continued", nil)
	case slices.Min(r.Prompt) < 0:
		return nil, c.fault(BadRequest, fmt.Sprintf("token id %d of the prompt is negative", slices.Min(r.Prompt)), nil)
	}
	switch protocol {
	case byCompletions, byGenerate, bySGLang:
		return func(ctx context.Context, deliver func(string)) (Reply, error) {
			k, err := c.tokenCall(protocol, r)
			if err != nil {
				return Reply{}, err
			}
			return c.attempt(ctx, k, deliver)
		}, nil
	case byTinker:
		sampling, err := c.tinkerSampling(r)
		f := &future{client: c, request: r, sampling: sampling}
		return f.attempt, err
	}
	return nil, fmt.Errorf("%w (%s)", ErrNoComplete, c.URL())
}

// tokenCall encodes a request. Each attempt has its own, for servers want
// another id for each.
func (c *Client) tokenCall(protocol string, r TokenRequest) (call, error) {
	switch protocol {
	case byGenerate:
		return c.generateCall(r)
	case bySGLang:
		return c.sglangCall(r)
	}
	return c.completionsCall(r)
}

// spell asks for the text of a reply that came without.
func (c *Client) spell(ctx context.Context, r *Reply) error {
	if r.Raw != "" || len(r.OutputIDs) == 0 {
		return nil
	}
	text, err := c.Detokenize(ctx, r.OutputIDs)
	if errors.Is(err, ErrNoTokenize) {
		return nil
	}
	r.Raw = text
	return err
}

// tokenPiece is what an answer to ids, or a piece of its stream, holds.
type tokenPiece struct {
	index       int
	text        string
	ids, prompt []int32
	named       []int32   // see builder
	logs        []float64 // NaN where there is no number
	sawLogs     bool
	finish      string
	stop        ending
	version     string // of the weights
}

// addTokens appends a piece of a reply to ids.
func (b *builder) addTokens(p *tokenPiece) {
	if p.index != 0 {
		return
	}
	if p.prompt != nil {
		b.prompt = p.prompt
	}
	if b.output == nil {
		b.output = p.ids
	} else {
		b.output = append(b.output, p.ids...)
	}
	b.sawLogs = b.sawLogs || p.sawLogs
	b.logs = append(b.logs, p.logs...)
	b.named = append(b.named, p.named...)
	if p.text != "" {
		b.raw.WriteString(p.text)
		b.tell(p.text)
	}
	b.ended(p)
}

// ended takes the finish of a piece, and the time when its tokens are the first.
func (b *builder) ended(p *tokenPiece) {
	if p.finish != "" {
		b.finish, b.stop = finishOf(p.finish), p.stop
		if b.finish != p.finish {
			b.stop = ending{p.finish, true}
		}
	}
	if b.first == 0 && (len(b.output) > 0 || b.raw.Len() > 0) {
		b.first = time.Since(b.start)
	}
}

// finishOf names a server's finish reason in the words of Complete. One that is
// not known, such as vLLM's repetition, means that the server ended the reply
// of itself.
func finishOf(reason string) string {
	switch reason {
	case "stop", "length", "abort", "error":
		return reason
	}
	return "stop"
}

// checkIDs settles the ids of a reply to ids: they were reported as such, or at
// least the logprobs name each of them, and both say the same. The prompt that
// is echoed is the one that was sent.
func (b *builder) checkIDs() string {
	if b.prompt != nil && !slices.Equal(b.prompt, b.sent) {
		return differ("the server read another prompt", b.sent, b.prompt)
	}
	b.prompt = b.sent
	switch {
	case b.output != nil:
		for i, id := range b.named {
			if i >= len(b.output) || id >= 0 && id != b.output[i] {
				return differ("logprobs are of other tokens than the ids", b.output, b.named)
			}
		}
	case len(b.named) > 0 && !slices.Contains(b.named, -1):
		b.output = b.named
	default:
		return "the reply holds no token ids"
	}
	return ""
}

// differ says where two lists part.
func differ(what string, ours, theirs []int32) string {
	at := 0
	for at < len(ours) && at < len(theirs) && ours[at] == theirs[at] {
		at++
	}
	return fmt.Sprintf("%s: %d ids and %d, different from position %d on", what, len(ours), len(theirs), at)
}
