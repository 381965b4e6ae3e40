package infer

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Shapes on the wire, of vLLM and SGLang alike. A pointer or a nil slice tells
// an absent key from a zero.

type wireMessage struct {
	Role             string     `json:"role"`
	Content          string     `json:"content"`
	Reasoning        string     `json:"reasoning,omitempty"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	ToolCalls        []wireCall `json:"tool_calls,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"`
	Name             string     `json:"name,omitempty"`
}

type wireCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type wireTool struct {
	Type     string       `json:"type"`
	Function wireToolSpec `json:"function"`
}

type wireToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type wireRequest struct {
	Model    string        `json:"model,omitempty"`
	Messages []wireMessage `json:"messages"`
	Tools    []wireTool    `json:"tools,omitempty"`
	Sampling
	MaxTokens            int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens  int            `json:"max_completion_tokens,omitempty"`
	Logprobs             bool           `json:"logprobs,omitempty"`
	ReturnTokenIDs       bool           `json:"return_token_ids,omitempty"`
	ReturnPromptTokenIDs bool           `json:"return_prompt_token_ids,omitempty"`
	Template             map[string]any `json:"chat_template_kwargs,omitempty"`
	Stream               bool           `json:"stream,omitempty"`
	StreamOptions        *streamOptions `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// answer is a whole reply, and a chunk of a stream.
type answer struct {
	Error          json.RawMessage `json:"error"`
	Object         string          `json:"object"`  // "error" in SGLang's flat form
	Problem        string          `json:"message"` // of the flat form
	Model          string          `json:"model"`
	Choices        []choice        `json:"choices"`
	PromptTokenIDs tokenIDs        `json:"prompt_token_ids"`
	Usage          *usage          `json:"usage"`
}

type choice struct {
	Index          int       `json:"index"`
	Message        piece     `json:"message"`
	Delta          piece     `json:"delta"`
	Logprobs       *logprobs `json:"logprobs"`
	FinishReason   string    `json:"finish_reason"`
	TokenIDs       tokenIDs  `json:"token_ids"`
	PromptTokenIDs tokenIDs  `json:"prompt_token_ids"`

	StopReason  json.RawMessage `json:"stop_reason"`  // vLLM
	MatchedStop json.RawMessage `json:"matched_stop"` // SGLang
}

// stopped is what ended the reply, by either name.
func (c *choice) stopped() (e ending) {
	for _, raw := range []json.RawMessage{c.StopReason, c.MatchedStop} {
		if s := (scanner{data: raw}); e.by == "" {
			e = s.ending()
		}
	}
	return e
}

// piece is a message or the next part of one.
type piece struct {
	Content          string      `json:"content"`
	Reasoning        string      `json:"reasoning"`
	ReasoningContent string      `json:"reasoning_content"`
	ToolCalls        []callPiece `json:"tool_calls"`
}

func (p piece) reasoning() string {
	if p.Reasoning != "" {
		return p.Reasoning
	}
	return p.ReasoningContent
}

type callPiece struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type logprobs struct {
	Content []tokenLogprob `json:"content"`
}

type tokenLogprob struct {
	Token   string   `json:"token"`
	Logprob *float64 `json:"logprob"`
	Bytes   []int    `json:"bytes"`
}

type usage struct {
	PromptTokens     *int          `json:"prompt_tokens"`
	CompletionTokens *int          `json:"completion_tokens"`
	Details          *usageDetails `json:"prompt_tokens_details"`
}

type usageDetails struct {
	CachedTokens *int `json:"cached_tokens"`
}

// tokenIDs is a list of ids that decodes in one pass: prompts hold tens of
// thousands of them. null stays nil; an empty list is not nil.
type tokenIDs []int32

// UnmarshalJSON accepts null or a list of integers from 0 to 2³¹−1.
func (t *tokenIDs) UnmarshalJSON(data []byte) error {
	s := scanner{data: data}
	*t = s.ids()
	return s.end()
}

// toWire renders messages for a server; newer vLLM reads thinking under
// "reasoning", others under "reasoning_content".
func toWire(messages []Message, server string) []wireMessage {
	out := make([]wireMessage, len(messages))
	for i, m := range messages {
		w := wireMessage{Role: m.Role, Content: m.Content, ToolCallID: m.ToolCallID, Name: m.Name}
		switch server {
		case "sglang", "llama.cpp", "openai":
			w.ReasoningContent = m.Reasoning
		default:
			w.Reasoning = m.Reasoning
		}
		for _, c := range m.ToolCalls {
			w.ToolCalls = append(w.ToolCalls, wireCall{c.ID, "function", wireFunction{c.Name, c.Arguments}})
		}
		out[i] = w
	}
	return out
}

func toolsToWire(tools []Tool) []wireTool {
	var out []wireTool
	for _, t := range tools {
		out = append(out, wireTool{"function", wireToolSpec(t)})
	}
	return out
}

// encode as JSON without escaping <, > and &: prompts are full of them.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return b.Bytes(), nil
}
