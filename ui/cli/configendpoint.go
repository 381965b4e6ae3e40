package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"rollbench/engine"
)

// document is the configuration as TOML has it: [endpoint] is one table, or a
// list of them.
type document struct {
	*config
	Endpoint toml.Primitive `toml:"endpoint"`
}

// misplaced is what is wrong with a text, with its place.
type misplaced struct{ error }

// endpoints takes what a text says of them. One table sets its keys in every
// endpoint there is; one with a url leaves a single endpoint. A list replaces
// what was there.
func (c *config) endpoints(meta *toml.MetaData, given toml.Primitive, text, place string) error {
	var shape any
	if err := meta.PrimitiveDecode(given, &shape); err != nil {
		return err
	}
	if table, ok := shape.(map[string]any); ok {
		if _, ok := table["url"]; ok && len(c.Endpoints) > 0 {
			c.Endpoints = c.Endpoints[:1:1]
		}
		if len(c.Endpoints) == 0 {
			c.Endpoints = make(engine.Endpoints, 1)
		}
		for i := range c.Endpoints {
			if err := meta.PrimitiveDecode(given, &c.Endpoints[i]); err != nil {
				return err
			}
		}
		return nil
	}
	n := tables(shape)
	if n == 0 {
		return misplaced{fmt.Errorf("%s: endpoint is a table: write [endpoint] with url = \"…\", or [[endpoint]] once for each", onLine(place, lineOf(text, toml.Key{"endpoint"})))}
	}
	c.Endpoints = slices.Repeat(engine.Endpoints{c.server}, n)
	return meta.PrimitiveDecode(given, &c.Endpoints)
}

// checkEndpoints says where in the text the first is that is wrong.
func (c *config) checkEndpoints(text, place string) error {
	at, err := c.Endpoints.Check()
	if err == nil || strings.HasPrefix(place, "--set") { // its text may hold a password
		return err
	}
	return fmt.Errorf("%s: %w", onLine(place, lineOfEndpoint(text, at)), err)
}

// tables counts the tables of a list, 0 when it is none.
func tables(list any) int {
	switch list := list.(type) {
	case []map[string]any:
		return len(list)
	case []any:
		for _, v := range list {
			if _, ok := v.(map[string]any); !ok {
				return 0
			}
		}
		return len(list)
	}
	return 0
}

// lineOfEndpoint is the line where the endpoint begins, counted from 0.
func lineOfEndpoint(text string, at int) int {
	for i, line := range strings.Split(text, "\n") {
		inner, ok := strings.CutPrefix(strings.TrimSpace(line), "[[")
		if name, _, closed := strings.Cut(inner, "]]"); !ok || !closed || strings.TrimSpace(name) != "endpoint" {
			continue
		}
		if at == 0 {
			return i + 1
		}
		at--
	}
	return lineOf(text, toml.Key{"endpoint"})
}
