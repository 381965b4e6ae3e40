package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"
)

//go:embed think.md
var thinkText string

var thinkParameters = json.RawMessage(`{
  "type": "object",
  "properties": {
    "thought": {"type": "string", "description": "The thought to write down."}
  },
  "required": ["thought"]
}`)

// think has no effect: the thought stands in the record as the call's argument.
type think struct{}

func (think) Spec() Spec {
	return Spec{Name: "think", Description: strings.TrimSpace(thinkText), Parameters: thinkParameters}
}

func (think) Run(context.Context, map[string]any) (Result, error) {
	return Result{Text: "Your thought has been logged.", Status: OK}, nil
}

func (think) Close() error { return nil }
