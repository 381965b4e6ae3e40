package simulated

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// settings that chat and text requests share.
type settings struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens      *int     `json:"max_tokens"`
	MaxCompletion  *int     `json:"max_completion_tokens"`
	Temperature    *float64 `json:"temperature"`
	TopP           *float64 `json:"top_p"`
	TopK           *int     `json:"top_k"`
	MinP           *float64 `json:"min_p"`
	Seed           *int64   `json:"seed"`
	Stop           stopList `json:"stop"`
	ReturnTokenIDs bool     `json:"return_token_ids"`
	AsTokenIDs     bool     `json:"return_tokens_as_token_ids"`
	SkipSpecial    *bool    `json:"skip_special_tokens"`
	IncludeStop    bool     `json:"include_stop_str_in_output"`
	StopTokenIDs   []int32  `json:"stop_token_ids"`
	SessionID      string   `json:"session_id"`

	// Accepted only at the values that change nothing.
	N                 *int           `json:"n"`
	RepetitionPenalty *float64       `json:"repetition_penalty"`
	FrequencyPenalty  *float64       `json:"frequency_penalty"`
	PresencePenalty   *float64       `json:"presence_penalty"`
	LogitBias         map[string]any `json:"logit_bias"`
	MinTokens         int            `json:"min_tokens"`
	ResponseFormat    *struct {
		Type string `json:"type"`
	} `json:"response_format"`
	IgnoreEOS bool `json:"ignore_eos"`
}

// stopList is one string or a list of them.
type stopList []string

func (s *stopList) UnmarshalJSON(data []byte) error {
	var one *string
	if json.Unmarshal(data, &one) == nil {
		if one != nil {
			*s = stopList{*one}
		}
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("stop is neither text nor a list of texts: %w", err)
	}
	*s = list
	return nil
}

// check refuses what the policy cannot do rather than ignoring it: ignored, the
// logprobs would not be those of what was asked for.
func (s *settings) check() error {
	differs := func(p *float64, neutral float64) bool { return p != nil && *p != neutral }
	switch {
	case s.N != nil && *s.N != 1:
		return badRequest("n is %d: the simulated endpoint gives one reply a request", *s.N)
	case differs(s.RepetitionPenalty, 1), differs(s.FrequencyPenalty, 0), differs(s.PresencePenalty, 0), len(s.LogitBias) > 0:
		return badRequest("the simulated endpoint supports no penalties and no logit bias")
	case s.MinTokens > 0, s.IgnoreEOS:
		return badRequest("the simulated endpoint supports no min_tokens and ignore_eos")
	case s.ResponseFormat != nil && s.ResponseFormat.Type != "text":
		return badRequest("response_format %s: the simulated endpoint knows text only", s.ResponseFormat.Type)
	case s.Temperature != nil && *s.Temperature < 0:
		return badRequest("temperature is %v; it must not be negative", *s.Temperature)
	case s.TopP != nil && (*s.TopP <= 0 || *s.TopP > 1):
		return badRequest("top_p is %v; it must be above 0 and at most 1", *s.TopP)
	case s.MinP != nil && (*s.MinP < 0 || *s.MinP > 1):
		return badRequest("min_p is %v; it must be from 0 to 1", *s.MinP)
	case s.TopK != nil && *s.TopK < -1:
		return badRequest("top_k is %d; it must be -1, 0 or more", *s.TopK)
	}
	return nil
}

func (s *settings) sampling() sampling {
	set := sampling{temperature: 1, topP: 1}
	if s.Temperature != nil {
		set.temperature = *s.Temperature
	}
	if s.TopP != nil {
		set.topP = *s.TopP
	}
	if s.MinP != nil {
		set.minP = *s.MinP
	}
	if s.TopK != nil {
		set.topK = max(0, *s.TopK)
	}
	return set
}

// room is how many tokens a reply may have after this prompt.
func (s *Server) room(set *settings, prompt int, byDefault int) (int, error) {
	limit := s.opt.MaxModelLen
	asked := byDefault
	if set.MaxCompletion != nil {
		asked = *set.MaxCompletion
	} else if set.MaxTokens != nil {
		asked = *set.MaxTokens
	}
	switch {
	case prompt >= limit:
		return 0, overflow("This model's maximum context length is %d tokens. However, your request has %d input tokens. Please reduce the length of the input messages.", limit, prompt)
	case asked == 0 && byDefault == 0 && set.MaxCompletion == nil && set.MaxTokens == nil:
		return limit - prompt, nil
	case asked < 1:
		return 0, badRequest("max_tokens must be at least 1, got %d", asked)
	case prompt+asked > limit:
		return 0, overflow("'max_tokens' or 'max_completion_tokens' is too large: %d. This model's maximum context length is %d tokens and your request has %d input tokens.", asked, limit, prompt)
	}
	return asked, nil
}

func overflow(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, "BadRequestError", fmt.Sprintf(format, args...), "input_tokens"}
}

type chatBody struct {
	settings
	Messages     []message         `json:"messages"`
	Tools        []json.RawMessage `json:"tools"`
	ToolChoice   json.RawMessage   `json:"tool_choice"`
	Logprobs     bool              `json:"logprobs"`
	TopLogprobs  int               `json:"top_logprobs"`
	Generate     *bool             `json:"add_generation_prompt"`
	Continue     bool              `json:"continue_final_message"`
	ChatTemplate string            `json:"chat_template"`
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request, fault Fault) error {
	var body chatBody
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	if err := s.checkModel(body.Model); err != nil {
		return err
	}
	if err := body.check(); err != nil {
		return err
	}
	prompt, err := render(body.Messages, body.Tools, true)
	if err != nil {
		return badRequest("%v", err)
	}
	return s.serve(w, r, job{settings: &body.settings, form: chatForm, prompt: prompt, logprobs: body.Logprobs, fault: fault})
}

func (b *chatBody) check() error {
	switch choice := string(b.ToolChoice); {
	case len(b.Messages) == 0:
		return badRequest("messages is empty")
	case choice == `"none"`:
		b.Tools = nil
	case choice != "" && choice != "null" && choice != `"auto"`:
		return badRequest("tool_choice %s: the simulated endpoint knows auto and none", choice)
	}
	switch {
	case b.TopLogprobs != 0:
		return badRequest("top_logprobs is %d: the simulated endpoint gives the sampled token's logprob only", b.TopLogprobs)
	case b.Continue, b.Generate != nil && !*b.Generate, b.ChatTemplate != "":
		return badRequest("the simulated endpoint has one chat template and always begins a new reply")
	}
	return b.settings.check()
}

type completionBody struct {
	settings
	Prompt   promptText `json:"prompt"`
	Logprobs *int       `json:"logprobs"`
	Echo     bool       `json:"echo"`
}

// promptText is a text or a list of token ids.
type promptText idList

func (p *promptText) UnmarshalJSON(data []byte) error {
	var text string
	if data[0] == '"' && json.Unmarshal(data, &text) == nil {
		*p = appendText(nil, text, allMarkers)
		return nil
	}
	if err := (*idList)(p).UnmarshalJSON(data); err != nil {
		return fmt.Errorf("prompt is neither text nor a list of token ids: %w", err)
	}
	return nil
}

// idList is a list of ids.
type idList []int32

// UnmarshalJSON reads by hand, for prompts hold tens of thousands of ids. What
// is no plain list is left to the standard decoder.
func (l *idList) UnmarshalJSON(data []byte) error {
	out := make([]int32, 0, bytes.Count(data, []byte{','})+1)
	id, digits := int32(0), 0
	for i, b := range data {
		switch {
		case b-'0' <= 9 && digits < 9 && i > 0:
			id, digits = id*10+int32(b-'0'), digits+1
		case (b == ',' || b == ']') && digits > 0:
			out = append(out, id)
			id, digits = 0, 0
		case i == 0 && b == '[', b == ' ' && digits == 0:
		default:
			return json.Unmarshal(data, (*[]int32)(l))
		}
	}
	*l = out
	return nil
}

func (s *Server) completions(w http.ResponseWriter, r *http.Request, fault Fault) error {
	var body completionBody
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	switch {
	case body.Echo:
		return badRequest("echo: the simulated endpoint has no logprobs of prompts")
	case body.Logprobs != nil && *body.Logprobs > 0:
		return badRequest("logprobs is %d: the simulated endpoint gives the sampled token's logprob only (0)", *body.Logprobs)
	}
	if err := s.checkTokens(&body.settings, body.Prompt); err != nil {
		return err
	}
	return s.serve(w, r, job{settings: &body.settings, form: textForm, prompt: body.Prompt, logprobs: body.Logprobs != nil, fault: fault})
}

// checkTokens of a request that continues ids.
func (s *Server) checkTokens(set *settings, prompt []int32) error {
	if err := s.checkModel(set.Model); err != nil {
		return err
	}
	if err := checkIDs(prompt); err != nil {
		return err
	}
	if len(prompt) == 0 {
		return badRequest("prompt is empty")
	}
	return set.check()
}
