package compose

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// words splits a command line as a shell does, without running anything.
func words(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	in, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'' && c != '\'', quote == '"' && c != '"' && c != '\\':
			word.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\':
			i++
			if i == len(line) {
				return nil, errors.New("it ends with a backslash")
			}
			if quote == '"' && !strings.ContainsRune("\"\\$`", rune(line[i])) {
				word.WriteByte('\\')
			}
			word.WriteByte(line[i])
			in = true
		case c == '\'' || c == '"':
			quote, in = c, true
		case strings.IndexByte(" \t\r\n", c) >= 0:
			if in {
				out, in = append(out, word.String()), false
				word.Reset()
			}
		default:
			word.WriteByte(c)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("its %c has no end", quote)
	}
	if in {
		out = append(out, word.String())
	}
	return out, nil
}

// maxWait bounds times of health checks.
const maxWait = time.Hour

func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxWait {
		return 0, fmt.Errorf("%q is no time from 0 to %v; write such as 1m30s", text, maxWait)
	}
	return d, nil
}

// units of sizes; all are powers of 1024.
var units = map[string]float64{"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20,
	"g": 1 << 30, "gb": 1 << 30, "t": 1 << 40, "tb": 1 << 40, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}

// megabytes of a size such as 512m; at least one.
func megabytes(text string) (int, error) {
	number := strings.TrimRight(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz")
	unit, known := units[strings.ToLower(text)[len(number):]]
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !known || !(n > 0) || n*unit > 1<<50 {
		return 0, fmt.Errorf("%q is no size; write such as 512m or 2g", text)
	}
	return max(int(n*unit/(1<<20)), 1), nil
}

// maxPorts bounds a range of ports.
const maxPorts = 1000

// ports are the ports inside the container that an entry speaks of, in the short
// form [[ADDRESS:]PUBLISHED:]PORT[-PORT][/PROTOCOL].
func ports(text string) ([]string, error) {
	bad := fmt.Errorf("%q is no port; write such as 8080, 80:8080 or 53/udp", text)
	inside, protocol, has := strings.Cut(text, "/")
	if !has {
		protocol = "tcp"
	}
	inside = inside[strings.LastIndexByte(inside, ':')+1:]
	first, last, ranged := strings.Cut(inside, "-")
	if !ranged {
		last = first
	}
	from, err1 := strconv.ParseUint(first, 10, 16)
	to, err2 := strconv.ParseUint(last, 10, 16)
	if errors.Join(err1, err2) != nil || from == 0 || to < from || to-from >= maxPorts || protocol == "" {
		return nil, bad
	}
	var out []string
	for p := from; p <= to; p++ {
		out = append(out, fmt.Sprintf("%d/%s", p, protocol))
	}
	return out, nil
}

// dotEnv reads lines of KEY=VALUE. A value in single quotes is taken as it is; in
// others variables are filled in. A key alone has no value (has is false).
func dotEnv(data string, expand func(string) (string, error), each func(key, value string, has bool)) error {
	for number, line := 0, ""; data != ""; {
		number++
		line, data, _ = strings.Cut(data, "\n")
		line = strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(line, "\ufeff")), "export ")
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, has := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if key == "" || strings.ContainsAny(key, " \t'\"") {
			return fmt.Errorf("line %d: it is not KEY=VALUE", number)
		}
		value, literal, err := envValue(strings.TrimSpace(value))
		if err == nil && !literal {
			value, err = expand(value)
		}
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", number, key, err)
		}
		each(key, value, has)
	}
	return nil
}

// envValue takes quotes and remarks away.
func envValue(text string) (value string, literal bool, err error) {
	if text == "" || text[0] != '\'' && text[0] != '"' {
		if i := strings.Index(text, " #"); i >= 0 {
			text = strings.TrimSpace(text[:i])
		}
		return text, false, nil
	}
	var out strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == text[0]:
			return out.String(), c == '\'', nil
		case c == '\\' && text[0] == '"' && i+1 < len(text):
			i++
			if plain, ok := map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\\': '\\'}[text[i]]; ok {
				out.WriteByte(plain)
				continue
			}
			out.WriteString(text[i-1 : i+1])
		default:
			out.WriteByte(c)
		}
	}
	return "", false, fmt.Errorf("its %c has no end", text[0])
}
