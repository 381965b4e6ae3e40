package simulated

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Answers are appended by hand: prompts hold tens of thousands of ids, and each
// token's entry but for its logprob is always the same.

var tokenHeads, idHeads = func() (byText, byID [idCount]string) {
	for id := range idCount {
		text := tokenText(id)
		var bytes []string
		for i := range len(text) {
			bytes = append(bytes, strconv.Itoa(int(text[i])))
		}
		tail := `,"bytes":[` + strings.Join(bytes, ",") + `],"top_logprobs":[],"logprob":`
		byText[id] = `{"token":` + string(quoted(text)) + tail
		byID[id] = fmt.Sprintf(`{"token":"token_id:%d"`, id) + tail
	}
	return byText, byID
}()

// quoted is text as a JSON string, with bytes that are no UTF-8 replaced.
func quoted(text string) []byte {
	data, err := json.Marshal(strings.ToValidUTF8(text, "\uFFFD"))
	if err != nil {
		panic("simulated: a string cannot be encoded: " + err.Error()) // strings always can
	}
	return data
}

// appendIDs as a JSON list.
func appendIDs(out []byte, ids []int32) []byte {
	out = append(out, '[')
	for i, id := range ids {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(id), 10)
	}
	return append(out, ']')
}

// envelope of an answer or a chunk, up to its choices.
func (s *Server) envelope(out []byte, j job, o sampled, object string) []byte {
	out = append(out, `{"id":"`+o.id+`","object":"`+object+`","created":`...)
	out = strconv.AppendInt(out, o.created, 10)
	out = append(out, `,"model":`...)
	out = append(out, quoted(s.opt.Model)...)
	return append(out, `,"choices":[`...)
}

func (j job) object(chunk bool) string {
	switch {
	case j.form == textForm:
		return "text_completion"
	case chunk:
		return "chat.completion.chunk"
	}
	return "chat.completion"
}

func (j job) idsWanted() bool { return j.ReturnTokenIDs && !j.fault.NoTokenIDs }

// tokens adds logprobs and ids of [from, to) and the finish, inside a choice.
func (j job) tokens(out []byte, o sampled, from, to int) []byte {
	out = append(out, `,"logprobs":`...)
	switch {
	case !j.logprobs || j.fault.NoLogprobs:
		out = append(out, "null"...)
	case j.form == chatForm:
		out = j.chatLogprobs(out, o, from, to)
	default:
		out = j.textLogprobs(out, o, from, to)
	}
	out = append(out, `,"finish_reason":`...)
	if to == len(o.ids) {
		out = append(out, `"`+o.finish+`"`...)
	} else {
		out = append(out, "null"...)
	}
	out = append(out, `,"stop_reason":`...)
	if to == len(o.ids) {
		out = o.stopReason(out)
	} else {
		out = append(out, "null"...)
	}
	if j.idsWanted() {
		out = appendIDs(append(out, `,"token_ids":`...), o.ids[from:to])
	}
	return out
}

// stopReason is the stop text or the stop id that struck, else null.
func (o sampled) stopReason(out []byte) []byte {
	switch {
	case o.stopID:
		return strconv.AppendInt(out, int64(o.ids[len(o.ids)-1]), 10)
	case o.stop != "":
		return append(out, quoted(o.stop)...)
	}
	return append(out, "null"...)
}

// chatLogprobs has one object a token.
func (j job) chatLogprobs(out []byte, o sampled, from, to int) []byte {
	heads := &tokenHeads
	if j.AsTokenIDs {
		heads = &idHeads
	}
	out = append(out, `{"content":[`...)
	for i := from; i < to; i++ {
		if i > from {
			out = append(out, ',')
		}
		out = append(out, heads[o.ids[i]]...)
		out = append(strconv.AppendFloat(out, o.logprobs[i], 'g', -1, 64), '}')
	}
	return append(out, `]}`...)
}

// textLogprobs has parallel lists; offsets count bytes of the reply's text.
func (j job) textLogprobs(out []byte, o sampled, from, to int) []byte {
	offset := 0
	for _, id := range o.ids[:from] {
		offset += len(tokenText(id))
	}
	var texts, numbers, offsets, top []byte
	for i := from; i < to; i++ {
		if i > from {
			texts, numbers = append(texts, ','), append(numbers, ',')
			offsets, top = append(offsets, ','), append(top, ',')
		}
		text := quoted(tokenText(o.ids[i]))
		if j.AsTokenIDs {
			text = fmt.Appendf(nil, `"token_id:%d"`, o.ids[i])
		}
		texts = append(texts, text...)
		numbers = strconv.AppendFloat(numbers, o.logprobs[i], 'g', -1, 64)
		offsets = strconv.AppendInt(offsets, int64(offset), 10)
		top = append(append(append(top, '{'), text...), ':')
		top = append(strconv.AppendFloat(top, o.logprobs[i], 'g', -1, 64), '}')
		offset += len(tokenText(o.ids[i]))
	}
	return fmt.Appendf(out, `{"tokens":[%s],"token_logprobs":[%s],"text_offset":[%s],"top_logprobs":[%s]}`, texts, numbers, offsets, top)
}

// usage of the whole call.
func (j job) usage(out []byte, o sampled) []byte {
	n, m := len(j.prompt), len(o.ids)+j.fault.CountOff
	return fmt.Appendf(out, `"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`, n, m, n+m, o.cached)
}

// whole answer, not streamed.
func (s *Server) whole(j job, o sampled) []byte {
	switch j.form {
	case generateForm:
		return s.generated(j, o, 0, len(o.ids), true)
	case sglangForm:
		return j.sglang(o, len(o.ids))
	case tinkerForm:
		return j.sequence(o)
	}
	out := s.envelope(make([]byte, 0, 4*len(j.prompt)+100*len(o.ids)+1024), j, o, j.object(false))
	if j.form == chatForm {
		out = append(out, `{"index":0,"message":{"role":"assistant","content":`...)
		if o.reply.content == "" && len(o.reply.calls) > 0 {
			out = append(out, "null"...)
		} else {
			out = append(out, quoted(o.reply.content)...)
		}
		if o.reply.reasoning != "" {
			out = append(append(out, `,"reasoning":`...), quoted(o.reply.reasoning)...)
		}
		if len(o.reply.calls) > 0 {
			out = append(out, `,"tool_calls":[`...)
			for i, c := range o.reply.calls {
				if i > 0 {
					out = append(out, ',')
				}
				out = fmt.Appendf(out, `{"id":"%s-call-%d","type":"function","function":{"name":%s,"arguments":%s}}`, o.id, i, quoted(c.name), quoted(c.arguments))
			}
			out = append(out, ']')
		}
		out = append(out, '}')
	} else {
		out = append(append(out, `{"index":0,"text":`...), quoted(j.spelled(o, 0, len(o.ids)))...)
	}
	out = j.tokens(out, o, 0, len(o.ids))
	if j.idsWanted() && j.form == textForm {
		out = appendIDs(append(out, `,"prompt_token_ids":`...), j.prompt)
	}
	out = append(out, `}],`...)
	if j.idsWanted() && j.form == chatForm {
		out = append(appendIDs(append(out, `"prompt_token_ids":`...), j.prompt), ',')
	}
	return append(j.usage(out, o), '}')
}

// spelled is the text of a reply to ids: the end of the turn is a special token
// and hidden unless asked for, and so is the stop text.
func (j job) spelled(o sampled, from, to int) string {
	shown := len(o.shown)
	if j.IncludeStop && (o.stop != "" || j.SkipSpecial != nil && !*j.SkipSpecial) {
		shown = len(o.ids)
	}
	return decode(o.ids[min(from, shown):min(to, shown)])
}

// firstChunk of a stream: the role, and the prompt's ids.
func (s *Server) firstChunk(j job, o sampled) []byte {
	if j.form == generateForm || j.form == sglangForm {
		return nil
	}
	out := s.envelope([]byte("data: "), j, o, j.object(true))
	if j.form == chatForm {
		out = append(out, `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
		if j.idsWanted() {
			out = appendIDs(append(out, `,"prompt_token_ids":`...), j.prompt)
		}
		return append(out, "}\n\n"...)
	}
	out = append(out, `{"index":0,"text":"","logprobs":null,"finish_reason":null`...)
	if j.idsWanted() {
		out = appendIDs(append(out, `,"prompt_token_ids":`...), j.prompt)
	}
	return append(out, "}]}\n\n"...)
}

// chunk of the tokens [from, to).
func (s *Server) chunk(j job, o sampled, from, to int) []byte {
	switch j.form {
	case generateForm:
		return event(s.generated(j, o, from, to, false))
	case sglangForm:
		return event(j.sglang(o, to)) // each repeats what came before
	}
	out := s.envelope([]byte("data: "), j, o, j.object(true))
	if j.form == chatForm {
		out = append(append(out, `{"index":0,"delta":`...), o.delta(from, to)...)
	} else {
		out = append(append(out, `{"index":0,"text":`...), quoted(j.spelled(o, from, to))...)
	}
	return append(j.tokens(out, o, from, to), "}]}\n\n"...)
}

// delta of a chat: the parts of the reply whose tokens are in [from, to).
func (o sampled) delta(from, to int) []byte {
	type function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
	type callDelta struct {
		Index    int      `json:"index"`
		ID       string   `json:"id,omitempty"`
		Type     string   `json:"type,omitempty"`
		Function function `json:"function"`
	}
	var d struct {
		Reasoning string      `json:"reasoning,omitempty"`
		Content   string      `json:"content,omitempty"`
		Calls     []callDelta `json:"tool_calls,omitempty"`
	}
	for _, p := range o.reply.parts {
		a, b := max(from, p.from), min(to, p.to)
		if a >= b {
			continue
		}
		text := decode(o.ids[a:b])
		switch p.kind {
		case reasoningText:
			d.Reasoning += text
		case contentText:
			d.Content += text
		case callText:
			c := callDelta{Index: p.call, Function: function{Arguments: text}}
			if a == p.from {
				c.ID, c.Type = fmt.Sprintf("%s-call-%d", o.id, p.call), "function"
				c.Function.Name = o.reply.calls[p.call].name
			}
			d.Calls = append(d.Calls, c)
		}
	}
	data, err := json.Marshal(d)
	if err != nil {
		panic("simulated: a delta cannot be encoded: " + err.Error()) // it holds strings and numbers only
	}
	return data
}

// usageChunk has no choices, as clients expect of the one with the usage.
func (s *Server) usageChunk(j job, o sampled) []byte {
	if j.form == generateForm {
		return event(append(j.usage([]byte(`{"request_id":"`+o.id+`","choices":[],`), o), '}'))
	}
	out := s.envelope([]byte("data: "), j, o, j.object(true))
	return append(j.usage(append(out, "],"...), o), "}\n\n"...)
}
