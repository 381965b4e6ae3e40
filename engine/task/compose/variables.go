package compose

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// variables fills $VAR, ${VAR} and its forms with -, ?, + into values, as
// compose-spec's interpolation has it; $$ is a dollar sign.
type variables struct {
	look  func(name string) (string, bool)
	unset func(name string) // told of names that have no value and no default
	size  int               // bytes made so far
}

// fill the scalars below a node.
func (v *variables) fill(file string, n *node) error {
	switch n.kind {
	case yaml.ScalarNode:
		text, err := v.expand(n.text, 0)
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", file, n.line, err)
		}
		n.text = text
	case yaml.SequenceNode:
		for _, item := range n.items {
			if err := v.fill(file, item); err != nil {
				return err
			}
		}
	case yaml.MappingNode:
		for _, key := range n.keys {
			if err := v.fill(file, n.fields[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *variables) expand(text string, depth int) (string, error) {
	if depth > maxDepth {
		return "", fmt.Errorf("variables are nested more than %d deep", maxDepth)
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			break
		}
		value, after, err := v.one(rest, depth)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
		if v.size+out.Len() > maxText {
			return "", fmt.Errorf("its variables make more than %d bytes", maxText)
		}
		text = after
	}
	v.size += out.Len()
	return out.String(), nil
}

// one is the value of what follows a dollar sign, and what comes after it.
func (v *variables) one(rest string, depth int) (value, after string, err error) {
	if after, ok := strings.CutPrefix(rest, "$"); ok {
		return "$", after, nil
	}
	if inside, ok := strings.CutPrefix(rest, "{"); ok {
		end := closing(inside)
		if end < 0 {
			return "", "", fmt.Errorf("%q has ${ without }", short("$"+rest))
		}
		value, err := v.braced(inside[:end], depth)
		return value, inside[end+1:], err
	}
	n := nameLength(rest)
	if n == 0 {
		return "", "", fmt.Errorf("%q: after $ comes a variable's name; write $$ for a dollar sign", short("$"+rest))
	}
	return v.plain(rest[:n]), rest[n:], nil
}

// braced is the inside of ${…}.
func (v *variables) braced(inside string, depth int) (string, error) {
	n := nameLength(inside)
	name, how := inside[:n], inside[n:]
	if name == "" {
		return "", fmt.Errorf("%q names no variable", short("${"+inside+"}"))
	}
	if how == "" {
		return v.plain(name), nil
	}
	value, set := v.look(name)
	how, colon := strings.CutPrefix(how, ":")
	if colon && value == "" {
		set = false
	}
	sign, word := how[:min(1, len(how))], how[min(1, len(how)):]
	switch {
	case sign == "-" && set, sign == "?" && set:
		return value, nil
	case sign == "+" && !set:
		return "", nil
	case sign == "-", sign == "+":
		return v.expand(word, depth+1)
	case sign == "?":
		return "", fmt.Errorf("variable %s is not set: %s", name, short(word))
	}
	return "", fmt.Errorf("%q: after the name may come -, :-, ?, :?, + or :+", short("${"+inside+"}"))
}

func (v *variables) plain(name string) string {
	value, set := v.look(name)
	if !set {
		v.unset(name)
	}
	return value
}

// closing is where the } of a ${ is, whose inside text is given; -1 without one.
func closing(text string) int {
	open := 1
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '$' && i+1 < len(text) && text[i+1] == '{':
			open++
			i++
		case text[i] == '}':
			if open--; open == 0 {
				return i
			}
		}
	}
	return -1
}

func nameLength(s string) int {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9' {
			continue
		}
		return i
	}
	return len(s)
}

func short(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}
