package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// conn is one connection to a server.
type conn struct {
	session *sdk.ClientSession
	process *process // nil for HTTP
	carrier *carrier // nil for a process
	over    chan struct{}
	killed  atomic.Bool // the process, because it did not even read
}

// dial connects, until ctx ends. changed is called when the server says that its
// list of tools has changed.
func (s Server) dial(ctx context.Context, changed func()) (*conn, error) {
	c := &conn{over: make(chan struct{})}
	var transport sdk.Transport
	var err error
	if s.URL != "" {
		if c.carrier, err = newCarrier(s); err != nil {
			return nil, err
		}
		// No standing stream: hundreds of trajectories would hold one each, and what
		// comes on it besides replies is not used.
		transport = &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: c.carrier.client(), MaxRetries: 2, DisableStandaloneSSE: true}
	} else {
		if c.process, err = startProcess(s); err != nil {
			return nil, err
		}
		transport = &sdk.IOTransport{Reader: c.process.stdout, Writer: c.process.stdin}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "rollbench", Version: s.Client}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{}, // no roots, no sampling: nobody is there to answer
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed() },
	})
	free := c.unstick(ctx)
	c.session, err = client.Connect(ctx, transport, nil)
	free()
	if err != nil {
		err = c.why(ctx, err)
		return nil, errors.Join(err, c.close())
	}
	go func() {
		defer close(c.over)
		_ = c.session.Wait() // why it ended is told by the call it ended in
	}()
	return c, nil
}

// unstick kills a program that does not even read its input some time after ctx
// has ended: writing to it heeds no context. The function it returns ends the
// watch.
func (c *conn) unstick(ctx context.Context) (free func()) {
	if c.process == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		limit := time.NewTimer(grace)
		defer limit.Stop()
		select {
		case <-done:
		case <-limit.C:
			c.killed.Store(true)
			c.process.kill()
		}
	}()
	return func() { close(done) }
}

// why is an error in words a person can use.
func (c *conn) why(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c.process == nil {
		return err
	}
	// The SDK gives up a server whose output it cannot read, which the server often dies of.
	_, cause, _ := strings.Cut(err.Error(), "client is closing: ")
	for _, unread := range []string{"invalid character", "trailing data", "maximum line length"} { // it has no types for them
		if strings.Contains(cause, unread) {
			return fmt.Errorf("what it printed is no message of the protocol: %s", cause)
		}
	}
	// The end of its output is seen before the end of itself.
	c.process.waits()
	if fate := c.process.fate(); fate != "" {
		return errors.New(fate)
	}
	return err
}

// gone reports whether the connection has ended.
func (c *conn) gone() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

func (c *conn) call(ctx context.Context, tool string, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	defer c.unstick(ctx)()
	return c.session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
}

// maxTools bounds what one server may list.
const maxTools = 512

// list asks for all tools.
func (c *conn) list(ctx context.Context) ([]Tool, error) {
	defer c.unstick(ctx)()
	var out []Tool
	for t, err := range c.session.Tools(ctx, nil) {
		if err != nil {
			return nil, c.why(ctx, fmt.Errorf("list its tools: %w", err))
		}
		if len(out) == maxTools {
			return nil, fmt.Errorf("it lists more than %d tools", maxTools)
		}
		schema, err := json.Marshal(t.InputSchema)
		if err != nil {
			return nil, fmt.Errorf("parameters of its tool %q: %w", t.Name, err)
		}
		out = append(out, Tool{Name: t.Name, Description: described(t), Parameters: schema})
	}
	return out, nil
}

func described(t *sdk.Tool) string {
	switch {
	case t.Description != "":
		return t.Description
	case t.Title != "":
		return t.Title
	case t.Annotations != nil:
		return t.Annotations.Title
	}
	return ""
}

// close the connection and end the program behind it. How the session ended is
// of no use any more: pipes are closed below it, and an HTTP server that does not
// hear of the end forgets the session by itself.
func (c *conn) close() error {
	if c.process != nil {
		closeAll(c.process.stdin) // first, so that nothing can wait on it
	}
	if c.session != nil {
		_ = c.session.Close()
		<-c.over
	}
	if c.carrier != nil {
		c.carrier.next.CloseIdleConnections()
	}
	if c.process != nil {
		return c.process.stop()
	}
	return nil
}
