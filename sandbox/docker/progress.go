package docker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
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

// readProgress reads a stream to its end. An error that the engine reports in the
// stream is its error. Each message goes to each, each line of a build's text to
// progress, but for ids.
func readProgress(r io.Reader, each func(message), progress func(string)) error {
	d := json.NewDecoder(r)
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
			if line = strings.TrimSpace(line); line != "" && !idOnly.MatchString(line) {
				progress(line)
			}
		}
	}
}

// idOnly are the lines of a build that tell nothing but the id of a layer or container.
var idOnly = regexp.MustCompile(`^(---> |---> Running in |Removing intermediate container |Successfully built )[0-9a-f]{12}$`)

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
