package docker

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"io"
	"strconv"
)

// The engine tells of a command's end seconds late while a child of the command
// holds its output open. So a command is wrapped in a shell that appends a
// marker and the exit code to the output: the code is known at once, and all
// that the command itself wrote is known to have come.

// newMarker is random, so that no output contains it by chance.
func newMarker() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: it ends the program instead
	return hex.EncodeToString(b[:])
}

// reporting wraps argv. The marker is written in two halves, so that a shell
// that quotes its script in an error does not report.
func reporting(marker string, argv []string) []string {
	half := len(marker) / 2
	script := `(exec "$@") 2>&1; printf '` + marker[:half] + "''" + marker[half:] + `%d;' $?`
	return append([]string{"/bin/sh", "-c", script, "sh"}, argv...)
}

// reportReader passes an output stream on to out without the report, whose
// exit code goes to code. Without a marker it passes on everything.
type reportReader struct {
	out    io.Writer
	marker []byte
	code   chan int // room for the one code

	held  []byte // what may be the beginning of the report
	found bool
}

func (r *reportReader) Write(p []byte) (int, error) {
	if len(r.marker) == 0 || r.found {
		return r.out.Write(p)
	}
	n := len(p)
	p = append(r.held, p...)
	r.held = nil
	keep := len(p)
	if i := bytes.Index(p, r.marker); i >= 0 {
		keep = i
		if end := bytes.IndexByte(p[i:], ';'); end >= 0 {
			code, err := strconv.Atoi(string(p[i+len(r.marker) : i+end]))
			if err == nil {
				rest := append(p[:i:i], p[i+end+1:]...)
				r.found = true
				// The output first: who knows the code knows that it is complete.
				err = r.pass(rest)
				r.code <- code
				return n, err
			}
		}
	} else {
		keep -= overlap(p, r.marker)
	}
	r.held = bytes.Clone(p[keep:])
	return n, r.pass(p[:keep])
}

// flush passes on what turned out to be no report.
func (r *reportReader) flush() error {
	held := r.held
	r.held = nil
	return r.pass(held)
}

func (r *reportReader) pass(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_, err := r.out.Write(p)
	return err
}

// overlap is the length of the longest proper prefix of marker that p ends with.
func overlap(p, marker []byte) int {
	for k := min(len(p), len(marker)-1); k > 0; k-- {
		if bytes.HasSuffix(p, marker[:k]) {
			return k
		}
	}
	return 0
}
