package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"
)

//go:embed finish.md
var finishText string

var finishParameters = json.RawMessage(`{
  "type": "object",
  "properties": {
    "message": {"type": "string", "description": "What was done, and anything that is still open."}
  }
}`)

// finish ends the trajectory.
type finish struct{ limit int } // characters of its message

func (finish) Spec() Spec {
	return Spec{Name: "finish", Description: strings.TrimSpace(finishText), Parameters: finishParameters}
}

func (f finish) Run(_ context.Context, args map[string]any) (Result, error) {
	message, _ := args["message"].(string)
	text, cut := cutMiddle(Clean([]byte(message)), f.limit, "\n[... %d characters are cut here ...]\n")
	result := Result{Text: text, Status: OK, Finish: true, Dropped: int64(cut)}
	if cut > 0 {
		result.Full = bounded([]byte(message))
	}
	return result, nil
}

func (finish) Close() error { return nil }
