package mcp

import (
	"cmp"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// secretName is how a variable is called that holds a secret; those of headers all do.
var secretName = regexp.MustCompile(`(?i)token|key|secret|pass|auth|credential`)

// shortest is the length in bytes from which on a value is looked for: a shorter one
// would be found in words that are none.
const shortest = 6

// Hide replaces the secrets that the server was given by the names of their variables:
// a server may print them, in an error say, and what it prints is stored and learnt from.
func (s Server) Hide(text string) string {
	type secret struct{ value, name string }
	var all []secret
	add := func(name, value string) {
		if len(value) >= shortest {
			all = append(all, secret{value, name})
		}
	}
	for _, name := range s.Headers {
		value := os.Getenv(name)
		add(name, value)
		if words := strings.Fields(value); len(words) > 1 { // "Bearer TOKEN"
			add(name, words[len(words)-1])
		}
	}
	for _, name := range s.Env {
		if secretName.MatchString(name) {
			add(name, os.Getenv(name))
		}
	}
	if u, err := url.Parse(s.URL); err == nil {
		add("…", u.RawQuery)
	}
	slices.SortFunc(all, func(a, b secret) int {
		return cmp.Or(cmp.Compare(len(b.value), len(a.value)), cmp.Compare(a.name, b.name))
	})
	for _, x := range all {
		text = strings.ReplaceAll(text, x.value, "["+x.name+"]")
	}
	return text
}

// hiding is an error whose text has no secrets.
type hiding struct {
	error
	text string
}

func (h hiding) Error() string { return h.text }
func (h hiding) Unwrap() error { return h.error }
