package docker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// message is one line of the engine's progress streams.
type message struct {
	Stream      string `json:"stream"` // text of a build
	Status      string `json:"status"` // what happens to a layer
	ID          string `json:"id"`     // the layer
	Error       string `json:"error"`
	ErrorDetail *struct {
		Message string `json:"message"`
	} `json:"errorDetail"`
	Detail struct {
		Current int64 `json:"current"`
		Total   int64 `json:"total"`
	} `json:"progressDetail"`
}

// readProgress reads a stream to its end. An error that the engine reports in
// the stream is its error. Lines go to progress: all of a build's text, and of
// a layer each new state and each further tenth of its bytes.
func readProgress(r io.Reader, each func(message), progress func(string)) error {
	d := json.NewDecoder(r)
	shown := map[string]string{} // by layer
	for {
		var m message
		switch err := d.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the engine's progress: %w", err)
		}
		each(m)
		if m.Error != "" || m.ErrorDetail != nil {
			text := m.Error
			if text == "" {
				text = m.ErrorDetail.Message
			}
			return errors.New(oneLine(text))
		}
		for line := range strings.SplitSeq(m.Stream, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				progress(line)
			}
		}
		if m.Status == "" {
			continue
		}
		state := m.Status
		if m.Detail.Total > 0 {
			state = fmt.Sprintf("%s %d%% of %s", m.Status, m.Detail.Current*10/m.Detail.Total*10, size(m.Detail.Total))
		}
		if m.ID == "" {
			progress(state)
		} else if shown[m.ID] != state {
			shown[m.ID] = state
			progress(m.ID + ": " + state)
		}
	}
}

func size(bytes int64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%d MB", bytes>>20)
	}
	return fmt.Sprintf("%d kB", (bytes+1023)>>10)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
