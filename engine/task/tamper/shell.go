package tamper

import (
	"path"
	"regexp"
	"strings"
)

// command is a simple command of a script.
type command struct {
	words  []string
	writes []string // files that its output goes to
	text   string
}

// maxNesting bounds scripts in scripts; maxScript what is read of one, in bytes.
const (
	maxNesting = 3
	maxScript  = 64 << 10
)

var substitution = regexp.MustCompile("\\$\\(([^()]*)\\)|`([^`]*)`")

// commands of a script, those within substitutions and `sh -c` too. It knows as much
// of the shell's grammar as tells commands from texts: what is quoted, or stands in a
// here-document, is no command.
func commands(script string, depth int) []command {
	script = withoutHeredocs(script[:min(len(script), maxScript)])
	var out []command
	for _, c := range simple(script) {
		c.words = unwrap(c.words)
		if len(c.words) == 0 && len(c.writes) == 0 {
			continue
		}
		out = append(out, c)
		if depth >= maxNesting {
			continue
		}
		if inner := shellArgument(c.words); inner != "" {
			out = append(out, commands(inner, depth+1)...)
		}
		for _, w := range c.words {
			for _, m := range substitution.FindAllStringSubmatch(w, -1) {
				out = append(out, commands(m[1]+m[2], depth+1)...)
			}
		}
	}
	return out
}

// shellArgument is the script of `bash -c SCRIPT`, "" for other commands.
func shellArgument(words []string) string {
	if len(words) < 3 {
		return ""
	}
	switch path.Base(words[0]) {
	case "sh", "bash", "dash", "zsh":
		for i, w := range words[1 : len(words)-1] {
			if strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.HasSuffix(w, "c") {
				return words[i+2]
			}
		}
	case "eval":
		return strings.Join(words[1:], " ")
	}
	return ""
}

var assignment = regexp.MustCompile(`^\w+=`)

// unwrap takes off what only starts another command: env A=b, timeout 5, sudo, xargs.
func unwrap(words []string) []string {
	for len(words) > 0 {
		w := words[0]
		switch {
		case assignment.MatchString(w):
		case w == "sudo" || w == "env" || w == "command" || w == "nohup" || w == "time" || w == "exec" || w == "xargs" || w == "then" || w == "do" || w == "else" || w == "if" || w == "while" || w == "!" || w == "{":
			for len(words) > 1 && strings.HasPrefix(words[1], "-") {
				words = words[1:]
			}
		case w == "timeout" || w == "nice":
			for len(words) > 1 && (strings.HasPrefix(words[1], "-") || words[1] != "" && words[1][0] >= '0' && words[1][0] <= '9') {
				words = words[1:]
			}
		default:
			return words
		}
		words = words[1:]
	}
	return nil
}

var heredoc = regexp.MustCompile(`<<-?\s*(?:'([^'\n]+)'|"([^"\n]+)"|\\?([\w.-]+))`)

// withoutHeredocs drops the bodies of here-documents.
func withoutHeredocs(script string) string {
	var b strings.Builder
	end := ""
	for line := range strings.Lines(script) {
		if end != "" {
			if strings.Trim(line, " \t\r\n") == end {
				end = ""
			}
			continue
		}
		if m := heredoc.FindStringSubmatch(line); m != nil && !strings.Contains(line, "<<<") {
			end = m[1] + m[2] + m[3]
			line = strings.Replace(line, m[0], "", 1)
		}
		b.WriteString(line)
	}
	return b.String()
}

// simple splits a script at what separates commands.
func simple(script string) []command {
	l := &lexer{}
	for i := 0; i < len(script); i++ {
		i = l.next(script, i)
	}
	l.endCommand()
	return l.out
}

type lexer struct {
	out     []command
	now     command
	word    strings.Builder
	inWord  bool
	toFile  bool // the next word is where output goes
	comment bool
}

// next reads what begins at i and returns where its last byte is.
func (l *lexer) next(s string, i int) int {
	c := s[i]
	if l.comment && c != '\n' {
		return i
	}
	l.comment = false
	switch {
	case c == '\\' && i+1 < len(s):
		if s[i+1] != '\n' {
			l.put(s[i+1 : i+2])
		}
		return i + 1
	case c == '\'' || c == '"':
		return l.quoted(s, i)
	case c == '#' && !l.inWord:
		l.comment = true
	case c == ' ' || c == '\t' || c == '\r':
		l.endWord()
	case c == '&' && i+1 < len(s) && s[i+1] == '>': // &>file
	case c == '>':
		if l.inWord && strings.Trim(l.word.String(), "0123456789") == "" { // 2>file
			l.word.Reset()
			l.inWord = false
		}
		l.endWord()
		for i+1 < len(s) && (s[i+1] == '>' || s[i+1] == '|') {
			i++
		}
		if i+1 < len(s) && s[i+1] == '&' { // 2>&1
			for i+1 < len(s) && strings.IndexByte("&0123456789-", s[i+1]) >= 0 {
				i++
			}
			return i
		}
		l.toFile = true
	case strings.IndexByte(";|&\n()`", c) >= 0:
		l.endCommand()
	default:
		l.put(s[i : i+1])
	}
	return i
}

func (l *lexer) quoted(s string, i int) int {
	quote := s[i]
	l.put("")
	for i++; i < len(s) && s[i] != quote; i++ {
		if quote == '"' && s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\"\\$`\n", s[i+1]) >= 0 {
			i++
		}
		l.word.WriteByte(s[i])
	}
	return i
}

func (l *lexer) put(text string) {
	l.inWord = true
	l.word.WriteString(text)
}

func (l *lexer) endWord() {
	if !l.inWord {
		return
	}
	if l.toFile {
		l.now.writes = append(l.now.writes, l.word.String())
	} else {
		l.now.words = append(l.now.words, l.word.String())
	}
	l.word.Reset()
	l.inWord, l.toFile = false, false
}

func (l *lexer) endCommand() {
	l.endWord()
	l.toFile = false
	if len(l.now.words)+len(l.now.writes) > 0 {
		l.now.text = strings.Join(l.now.words, " ")
		for _, w := range l.now.writes {
			l.now.text += " > " + w
		}
		l.out = append(l.out, l.now)
	}
	l.now = command{}
}
