package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The test binary is an MCP server on its standard streams when it is told so.
func TestMain(m *testing.M) {
	switch os.Getenv("ROLLBENCH_TEST_ROLE") {
	case "server":
		if err := testServer(context.Background()).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "chatty": // prints what is no message, then goes on as a server would
		fmt.Println("listening on standard streams")
		select {}
	case "endless": // a message that never ends
		fmt.Print(`{"jsonrpc":"2.0","id":1,"result":"`)
		for {
			if _, err := fmt.Print(strings.Repeat("x", 1<<16)); err != nil {
				os.Exit(1)
			}
		}
	case "mute": // reads nothing and says nothing
		select {}
	case "holder":
		hold()
	}
	os.Exit(m.Run())
}

const noParameters = `{"type": "object", "properties": {}}`

// testServer has a tool for each thing that can happen. The slow one ends with
// life at the latest.
func testServer(life context.Context) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	count := new(atomic.Int64)
	add := func(name, schema string, do func(context.Context, map[string]any) (*sdk.CallToolResult, error)) {
		s.AddTool(&sdk.Tool{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(schema)},
			func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				var args map[string]any
				if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
					return nil, err
				}
				return do(ctx, args)
			})
	}
	say := func(name string, do func() string) {
		add(name, noParameters, func(context.Context, map[string]any) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: do()}}}, nil
		})
	}
	add("echo", echoSchema, func(_ context.Context, args map[string]any) (*sdk.CallToolResult, error) {
		text, err := json.Marshal(args)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, err
	})
	say("count", func() string { return fmt.Sprint(count.Add(1)) })
	say("long", func() string { return "head" + strings.Repeat("x", 100000) + "tail" })
	say("colours", func() string { return "\x1b[31mred\x1b[0m\x07 \x1b]0;title\x07end" })
	say("nothing", func() string { return "" })
	say("environment", func() string { return strings.Join(os.Environ(), "\n") })
	say("crash", func() string {
		fmt.Fprintln(os.Stderr, "no more \x1b[31mdisk")
		os.Exit(3)
		return ""
	})
	say("stop", func() string { // it stands still and reads nothing any more
		if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
			return err.Error()
		}
		<-life.Done() // the stop comes when it comes
		return "went on"
	})
	say("child", func() string { // leaves a process that holds the file open
		c := exec.Command("sleep", "1000")
		f, err := os.OpenFile(os.Getenv("ROLLBENCH_TEST_FIFO"), os.O_WRONLY, 0)
		if err == nil {
			c.Stdout, c.Stderr = f, f
			err = c.Start()
		}
		return fmt.Sprint(err)
	})
	say("grow", func() string {
		s.AddTool(&sdk.Tool{Name: "grown", InputSchema: json.RawMessage(noParameters)}, nil)
		return "grown"
	})
	add("slow", noParameters, func(ctx context.Context, _ map[string]any) (*sdk.CallToolResult, error) {
		select {
		case <-ctx.Done():
		case <-life.Done():
		}
		return nil, errors.New("given up")
	})
	add("fail", noParameters, func(context.Context, map[string]any) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no such issue"}}}, nil
	})
	add("refuse", noParameters, func(context.Context, map[string]any) (*sdk.CallToolResult, error) {
		return nil, errors.New("out of order")
	})
	add("rich", noParameters, func(context.Context, map[string]any) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{StructuredContent: map[string]any{"n": 1, "s": "<&"}, Content: []sdk.Content{
			&sdk.TextContent{Text: "one"}, &sdk.ImageContent{Data: []byte("abc"), MIMEType: "image/png"}, &sdk.AudioContent{Data: []byte("abcd"), MIMEType: "audio/wav"},
			&sdk.ResourceLink{URI: "file:///a", Name: "a.txt", MIMEType: "text/plain"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///b", Text: "bee"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///c", MIMEType: "x/y", Blob: []byte{1, 2}}},
		}}, nil
	})
	add("structured", noParameters, func(context.Context, map[string]any) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{StructuredContent: map[string]any{"n": 1}, Content: []sdk.Content{&sdk.TextContent{Text: `{ "n": 1 }`}}}, nil
	})
	return s
}

// echoSchema is written as the usual generators write it.
const echoSchema = `{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": false, "required": ["text", "cursor"],
  "properties": {"text": {"type": "string", "minLength": 1}, "n": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null},
    "cursor": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "level": {"allOf": [{"$ref": "#/definitions/Level"}]}, "points": {"type": "array", "items": {"$ref": "#/definitions/Point"}}},
  "definitions": {"Level": {"type": "string", "enum": ["low", "high"]}, "Point": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}}}`
