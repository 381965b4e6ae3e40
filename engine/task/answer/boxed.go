package answer

import "strings"

// Boxed is the content of the last \boxed{…} of a reply, or where there is none
// of the last \fbox{…}, with braces that match. Thinking does not count: the
// text up to the last </think> is not looked at. False when there is no box, or
// when the last one is not closed.
func Boxed(reply string) (string, bool) {
	reply = afterThinking(reply)
	at := strings.LastIndex(reply, `\boxed`)
	if at < 0 {
		at = strings.LastIndex(reply, `\fbox`)
	}
	if at < 0 {
		return "", false
	}
	open := strings.IndexByte(reply[at:], '{')
	if open < 0 {
		return "", false
	}
	reply = reply[at+open:]
	depth := 0
	for i := range len(reply) {
		switch reply[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				content := strings.TrimSpace(reply[1:i])
				return content, content != ""
			}
		}
	}
	return "", false
}

const thinkingEnd = "</think>"

func afterThinking(reply string) string {
	if at := strings.LastIndex(reply, thinkingEnd); at >= 0 {
		return reply[at+len(thinkingEnd):]
	}
	return reply
}
