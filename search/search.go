// Package search is an index of the source of a repository, and queries on it.
//
// In: paths and bytes of files, and later changes. Out: hits, and answers that a model
// reads. It knows no sandbox, no disk but the cache it is given, and no tool.
//
// A Base is the index of one commit: immutable, and shared by everyone who looks at
// that commit. A View is a Base with the changes of one trajectory on top:
//
//	base := search.Build(files)                // []search.File{{Path: "pkg/a.py", Content: …}}
//	view := base.View()
//	err := view.Update("pkg/a.py", []byte("…")) // an edit: visible to the next query
//	err = view.Remove("pkg/b.py")
//
//	answer := view.Query(search.Query{Terms: []string{"QuerySet.in_bulk"}})
//	answer.Text                                // best first, never empty
//	answer.Hints                               // at most three: the next queries worth asking
//
//	hits, err := view.Hits(search.Query{Terms: []string{"crash when a file has no name"}, Limit: 10})
//
// A Store keeps the indexes of many commits within a budget of memory, and the least
// used ones on disk.
//
// A term of a query is, by its form:
//
//	in_bulk                    a name; misspelt names find the nearest ones
//	QuerySet.in_bulk           a dotted name
//	query.py:QuerySet.in_bulk  a name in a file; the id of an entity has this form
//	django/db/models/query.py  a file, or a directory
//	get_*_display              names by a glob
//	callers:QuerySet.in_bulk   a relation: callers, calls, subclasses, bases, overrides,
//	                           overridden, importers, imports, members, tests
//	empty file name crashes    anything else: free text, ranked
//
// docs/search.md has the whole language.
package search

// Query is one question. The zero values of its filters let everything through.
type Query struct {
	// Terms are asked one by one; the answer has them in this order.
	Terms []string
	// Lines are lines of the one file that Path names: found are the entities around them.
	Lines []int
	// Path is a path, a directory or a glob. Nothing outside it is ever found.
	Path string
	// Kind is one of Kinds.
	Kind string
	// Pattern is code with holes: "raise $E", "def $F($$$): … raise $E".
	Pattern string
	// Limit is how many hits each term may have; 0: as many as are useful.
	Limit int
	// MaxChars is how long the text of the answer may be; 0: DefaultMaxChars.
	MaxChars int
}

// DefaultMaxChars limits an answer when the query does not.
const DefaultMaxChars = 10_000

// Kinds are the kinds that a query may ask for: "test" is any entity of a test file,
// "text" a line of any file.
var Kinds = []string{"class", "function", "method", "variable", "file", "directory", "test", "text"}

// Hit is one thing found.
type Hit struct {
	Path string `json:"path"`
	// Kind is one of Kinds but "test".
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Qualified is the name with what it is defined in: "QuerySet.in_bulk"; Path of a
	// file or directory.
	Qualified string `json:"qualified"`
	// Start and End are the first and last line, from 1, decorators not counted; 0 of
	// a directory.
	Start int     `json:"start"`
	End   int     `json:"end"`
	Score float64 `json:"score"`

	where at
	test  bool
	line  int    // the line asked for, or that of a reference; 0: none
	note  string // why it is here: "possible" of an unresolved call
}

// ID is what a query finds exactly this hit by.
func (h Hit) ID() string {
	if h.Kind == "file" || h.Kind == "directory" || h.Kind == "text" || h.Qualified == "" {
		return h.Path
	}
	return h.Path + ":" + h.Qualified
}

// Answer is what a model reads. Text ends without a hint: whoever shortens the text
// adds the Hints after that, so that they are never cut off; String does it unshortened.
type Answer struct {
	Text  string
	Hints []Hint
	// Found is how many hits there were, also those that Text leaves out.
	Found int
}

// Hint is one further query worth asking.
type Hint struct {
	Query Query
	Text  string // one line: the query as a call would have it, and what it shows
}

func (a Answer) String() string {
	text := a.Text
	for _, h := range a.Hints {
		text += "\n" + h.Text
	}
	return text
}
