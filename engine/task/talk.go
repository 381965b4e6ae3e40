package task

import (
	"strings"

	"rollbench/engine/task/rows"
)

// Message is one of those that a conversation begins with.
type Message struct{ Role, Content string }

// promptText is what the policy is asked: the text of prompt, or of its messages.
func promptText(r rows.Row) (string, error) {
	text, _, _, err := promptOf(r)
	return text, err
}

// promptColumns are where rows keep what the policy is asked.
var promptColumns = []string{"raw_prompt", "prompt", "messages", "question", "problem", "query"}

// promptOf a row: what its user messages say; what a system message at their
// beginning says; and all other messages, in their order and roles, where they are
// more than one of the user.
func promptOf(r rows.Row) (text, system string, talk []Message, err error) {
	for _, column := range promptColumns {
		switch prompt := r.Value(column).(type) {
		case nil:
			continue
		case []any:
			talk, err = messagesOf(r, column, prompt)
		default:
			text, err = r.Need(column, "it is what the policy is asked")
			talk = []Message{{"user", text}}
		}
		if err != nil {
			return "", "", nil, err
		}
		if talk[0].Role == "system" {
			system, talk = talk[0].Content, talk[1:]
		}
		if len(talk) == 0 || talk[len(talk)-1].Role != "user" {
			return "", "", nil, r.Wrong(column, "must end with a message of the user; it is what the policy answers")
		}
		if len(talk) == 1 {
			return talk[0].Content, system, nil, nil
		}
		return userText(talk), system, talk, nil
	}
	return "", "", nil, r.Wrong("prompt", "is missing; it is what the policy is asked")
}

func userText(talk []Message) string {
	var parts []string
	for _, m := range talk {
		if m.Role == "user" {
			parts = append(parts, m.Content)
		}
	}
	return strings.Join(parts, "\n\n")
}

// messagesOf a list that holds some text.
func messagesOf(r rows.Row, column string, list []any) (talk []Message, err error) {
	for i, one := range list {
		fields, ok := one.(map[string]any)
		if !ok {
			return nil, r.Wrong(column, "must be a text or a list of messages; its item %d is none", i+1)
		}
		m := rows.New(r.Origin, fields)
		role, err := m.Text("role")
		if err != nil {
			return nil, r.Wrong(column, "item %d: %w", i+1, err)
		}
		if role != "user" && role != "system" && role != "assistant" {
			return nil, r.Wrong(column, "item %d is of role %q; a conversation begins with messages of system, user and assistant", i+1, role)
		}
		content, err := contentOf(m)
		if err != nil {
			return nil, r.Wrong(column, "item %d: %w", i+1, err)
		}
		if strings.TrimSpace(content) != "" {
			talk = append(talk, Message{role, content})
		}
	}
	if len(talk) == 0 {
		return nil, r.Wrong(column, "holds no text; it is what the policy is asked")
	}
	return talk, nil
}

// contentOf a message: a text, or a list of parts that are texts.
func contentOf(m rows.Row) (string, error) {
	list, ok := m.Value("content").([]any)
	if !ok {
		return m.Text("content")
	}
	var parts []string
	for i, one := range list {
		fields, _ := one.(map[string]any)
		part := rows.New(m.Origin, fields)
		if kind, err := part.Text("type"); err != nil || kind != "text" {
			return "", m.Wrong("content", "has a part %d of type %q; a policy is shown texts only", i+1, kind)
		}
		text, err := part.Text("text")
		if err != nil {
			return "", m.Wrong("content", "part %d: %w", i+1, err)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n"), nil
}
