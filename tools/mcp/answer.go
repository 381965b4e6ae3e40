package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Answer is what a tool returned, as text.
type Answer struct {
	Text   string
	Failed bool // the tool says that it failed
	Anew   bool // the server was started or reached anew since the last call
}

// answer makes a text of a result: texts as they are, what is no text as a note of
// what it is, and the structured value where no text says the same.
func answer(r *sdk.CallToolResult) Answer {
	if r.NeedsInput() {
		return Answer{Failed: true, Text: "The tool asks for input by a person, and nobody is there to give it."}
	}
	var parts []string
	told := r.StructuredContent == nil
	for _, c := range r.Content {
		parts = append(parts, part(c))
		if t, ok := c.(*sdk.TextContent); ok && !told {
			var value any
			told = json.Unmarshal([]byte(t.Text), &value) == nil && reflect.DeepEqual(value, r.StructuredContent)
		}
	}
	if !told {
		text, err := json.Marshal(r.StructuredContent)
		if err != nil {
			text = fmt.Appendf(nil, "[a structured value that is no JSON: %v]", err)
		}
		parts = append(parts, string(text))
	}
	return Answer{Text: strings.Join(parts, "\n"), Failed: r.IsError}
}

func part(c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return fmt.Sprintf("[an image, %s, %d bytes: not shown]", kind(c.MIMEType), len(c.Data))
	case *sdk.AudioContent:
		return fmt.Sprintf("[audio, %s, %d bytes: not played]", kind(c.MIMEType), len(c.Data))
	case *sdk.ResourceLink:
		return fmt.Sprintf("[a resource, %s: %s%s]", kind(c.MIMEType), c.URI, named(c))
	case *sdk.EmbeddedResource:
		switch r := c.Resource; {
		case r == nil:
			return "[an empty resource]"
		case r.Blob != nil:
			return fmt.Sprintf("[the resource %s, %s, %d bytes: not shown]", r.URI, kind(r.MIMEType), len(r.Blob))
		default:
			return fmt.Sprintf("[the resource %s]\n%s", r.URI, r.Text)
		}
	}
	return fmt.Sprintf("[content of another kind, %T: not shown]", c)
}

func kind(mime string) string {
	if mime == "" {
		return "of unknown type"
	}
	return mime
}

func named(l *sdk.ResourceLink) string {
	if l.Name == "" || l.Name == l.URI {
		return ""
	}
	return " (" + l.Name + ")"
}
