package infer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxEvent bounds one event of a stream, bytes: the first may hold a whole
// prompt's ids.
const maxEvent = 64 << 20

// events splits a server-sent event stream. Comments, event names and ids are
// skipped; lines end in LF or CRLF.
type events struct {
	r    *bufio.Reader
	data []byte
}

func newEvents(r io.Reader) *events { return &events{r: bufio.NewReaderSize(r, 16<<10)} }

// next is the data of the next event, valid until the call after it. io.EOF:
// the stream ended between two events. An event cut before its blank line is
// lost, as the protocol says: io.ErrUnexpectedEOF.
func (e *events) next() ([]byte, error) {
	e.data = e.data[:0]
	some := false
	for {
		line, err := e.line()
		if err != nil {
			if err == io.EOF && (some || len(line) > 0) {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if len(line) == 0 {
			if some {
				return e.data, nil
			}
			continue
		}
		value, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		value = bytes.TrimPrefix(value, []byte(" "))
		if some {
			e.data = append(e.data, '\n')
		}
		if len(e.data)+len(value) > maxEvent {
			return nil, fmt.Errorf("an event of the stream is longer than %d bytes", maxEvent)
		}
		e.data = append(e.data, value...)
		some = true
	}
}

// line without its end. At the end of the stream the unended rest comes with io.EOF.
func (e *events) line() ([]byte, error) {
	line, err := e.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) <= maxEvent {
			line, err = e.r.ReadSlice('\n')
			long = append(long, line...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, fmt.Errorf("a line of the stream is longer than %d bytes", maxEvent)
		}
		line = long
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), err
}

// streamed reads a reply piece by piece. The stream is whole only when a
// finish reason and [DONE] have both come. The idle limit counts from the first
// token on: before it a request may wait in the server's queue.
func (c *Client) streamed(req *http.Request, build *builder, read func([]byte, *builder) error, cancel context.CancelCauseFunc) error {
	req.Header.Set("Accept", "text/event-stream")
	res, err := c.http.Do(req)
	if err != nil {
		return c.failed(req.Context(), err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return c.refused(req.Context(), res)
	}
	var idle *time.Timer
	defer func() {
		if idle != nil {
			idle.Stop()
		}
	}()
	in := newEvents(io.LimitReader(res.Body, maxAnswer))
	for {
		data, err := in.next()
		if err != nil {
			return c.failed(req.Context(), fmt.Errorf("stream broken: %w", err))
		}
		if idle != nil {
			idle.Reset(c.opt.IdleLimit)
		}
		if string(data) == "[DONE]" {
			if build.finish == "" {
				return c.fault(Unavailable, "the stream ended without a finish reason", nil)
			}
			return nil
		}
		if err := c.unreadable("a piece of the stream is not JSON: %s", read(data, build)); err != nil {
			return err
		}
		if idle == nil && build.first > 0 {
			idle = time.AfterFunc(c.opt.IdleLimit, func() { cancel(LimitReached{Idle: true, After: c.opt.IdleLimit}) })
		}
	}
}
