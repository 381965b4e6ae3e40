package simulated

import (
	"encoding/json"
	"slices"
	"strings"
)

// conversation is what the policy sees: the prompt's ids read back, so chat
// requests and prompts of bare ids lead to the same state.
type conversation struct {
	tools []toolSpec
	task  string // everything said before the first reply
	turns []exchange
}

// exchange is one reply and what followed it.
type exchange struct {
	reply   reply
	results []string // of the calls, in order
	users   []string
}

type toolSpec struct {
	name   string
	params map[string]property
	needed []string
}

type property struct {
	Type string   `json:"type"`
	Enum []string `json:"enum"`
}

func (t toolSpec) has(param string) bool {
	_, ok := t.params[param]
	return ok
}

// tool by one of its names.
func (c *conversation) tool(names ...string) (toolSpec, bool) {
	for _, t := range c.tools {
		if slices.Contains(names, t.name) {
			return t, true
		}
	}
	return toolSpec{}, false
}

// readConversation splits a prompt at its markers. Ids that are no chat are
// the task's text.
func readConversation(ids []int32) conversation {
	var c conversation
	for len(ids) > 0 {
		start := slices.Index(ids, idStart)
		if start < 0 {
			if len(c.turns) == 0 {
				c.task += decode(ids)
			}
			break
		}
		ids = ids[start+1:]
		end := slices.Index(ids, idEnd)
		if end < 0 {
			break // the generation prompt
		}
		c.add(ids[:end])
		ids = ids[end+1:]
	}
	return c
}

func (c *conversation) add(turn []int32) {
	head := slices.IndexFunc(turn, func(id int32) bool { return id == '\n' || id > 255 })
	if head < 0 {
		return
	}
	role, body := decode(turn[:head]), turn[head+1:]
	switch {
	case role == "system":
		text := decode(body)
		c.readTools(text)
		c.note(text, true)
	case role == "assistant":
		c.turns = append(c.turns, exchange{reply: parseReply(body)})
	case slices.Contains(turn, idResult):
		c.addResults(turn)
	default:
		c.note(decode(body), false)
	}
}

func (c *conversation) note(text string, system bool) {
	if n := len(c.turns); n > 0 {
		c.turns[n-1].users = append(c.turns[n-1].users, text)
	} else if !system {
		c.task += text + "\n"
	}
}

func (c *conversation) addResults(turn []int32) {
	n := len(c.turns)
	if n == 0 {
		return
	}
	for {
		from, to := slices.Index(turn, idResult), slices.Index(turn, idResultEnd)
		if from < 0 || to < from {
			return
		}
		text := decode(turn[from+1 : to])
		text = strings.TrimSuffix(strings.TrimPrefix(text, "\n"), "\n")
		c.turns[n-1].results = append(c.turns[n-1].results, text)
		turn = turn[to+1:]
	}
}

// readTools takes the last list in a system turn: the template puts it there.
func (c *conversation) readTools(text string) {
	at := strings.LastIndex(text, toolsOpen)
	if at < 0 {
		return
	}
	list, _, _ := strings.Cut(text[at+len(toolsOpen):], toolsClose)
	for line := range strings.Lines(list) {
		var t struct {
			Function struct {
				Name       string `json:"name"`
				Parameters struct {
					Properties map[string]json.RawMessage `json:"properties"`
					Required   []string                   `json:"required"`
				} `json:"parameters"`
			} `json:"function"`
		}
		if json.Unmarshal([]byte(line), &t) != nil || t.Function.Name == "" {
			continue // a system prompt may hold such lines of its own
		}
		spec := toolSpec{name: t.Function.Name, needed: t.Function.Parameters.Required, params: map[string]property{}}
		for name, raw := range t.Function.Parameters.Properties {
			var p property
			if err := json.Unmarshal(raw, &p); err != nil {
				p = property{} // a type list or a mixed enum: only its presence matters
			}
			spec.params[name] = p
		}
		c.tools = append(c.tools, spec)
	}
}
