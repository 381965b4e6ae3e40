package source

import "strings"

// extensions maps what follows the last dot of a name to its language.
var extensions = map[string]string{
	"py": "python", "pyi": "python", "pyw": "python", "wsgi": "python",
	"go":   "go",
	"java": "java", "rs": "rust",
	"c": "c", "h": "c", "cc": "c++", "cpp": "c++", "cxx": "c++", "c++": "c++",
	"hh": "c++", "hpp": "c++", "hxx": "c++", "h++": "c++", "ipp": "c++", "inl": "c++", "tcc": "c++", "cu": "c++", "cuh": "c++",
	"js": "javascript", "jsx": "javascript", "mjs": "javascript", "cjs": "javascript",
	"ts": "typescript", "tsx": "typescript", "mts": "typescript", "cts": "typescript",
}

// interpreters maps the program of a "#!" line to its language.
var interpreters = map[string]string{
	"python": "python", "pypy": "python", "node": "javascript", "bun": "javascript", "deno": "typescript",
}

// Detect tells a file's language by its extension, else by its "#!" line. "" is
// text, or a language that no scanner knows.
func Detect(path, src string) string {
	base := path[strings.LastIndexByte(path, '/')+1:]
	if dot := strings.LastIndexByte(base, '.'); dot > 0 {
		if lang, known := extensions[strings.ToLower(base[dot+1:])]; known {
			return lang
		}
		// "deploy-1.2" may be a script all the same.
	}
	return shebang(src)
}

// shebang reads "#!/usr/bin/env -S python3 -u" and its like.
func shebang(src string) string {
	if !strings.HasPrefix(src, "#!") {
		return ""
	}
	line, _, _ := strings.Cut(src[2:min(len(src), 256)], "\n")
	for _, word := range strings.Fields(line) {
		program := word[strings.LastIndexByte(word, '/')+1:]
		if program == "env" || strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		return interpreters[strings.TrimRight(program, "0123456789.")]
	}
	return ""
}
