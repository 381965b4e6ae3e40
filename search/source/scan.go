package source

// Scan reads one file. The texts in the result are substrings of src, except
// where src must first be decoded (a coding cookie, CR line ends, a BOM).
// A path or text that no scanner knows gives a File without entities.
func Scan(path, src string) *File {
	lang := Detect(path, src)
	switch lang {
	case "python":
		return scanPython(src)
	case "go":
		return scanGo(path, src)
	case "javascript", "typescript":
		return scanJavaScript(path, lang, src)
	}
	return &File{Language: lang}
}
