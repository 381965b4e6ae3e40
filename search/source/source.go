// Package source reads what the files of a repository define and refer to.
//
// In: a path and the bytes of a file. Out: a File, whose texts are substrings of
// the source, so that it costs little beside the source itself. It never fails:
// of a broken file it gives what can be read. It knows neither an index nor
// queries.
package source

// Kind is what an Entity is.
type Kind uint8

// The kinds of entities.
const (
	Directory Kind = iota + 1
	Module         // a file
	Class          // class, struct, interface, trait, enum; a named type
	Function       // also a method: an entity whose Parent is a Class; a macro
	Variable       // of a module or a package
)

// Entity is one definition. Lines count from 1, both ends included, as CPython's
// ast has them: Start is the line of "def" or "class", in other languages of the
// first modifier ("export", "public", "template <…>"); decorators, annotations and
// attributes are above it.
type Entity struct {
	Kind   Kind
	Name   string
	Parent int // index in File.Entities of what it is defined in, -1: the file itself
	Start  int
	End    int
	// Decorated is the line of the first decorator, 0: none.
	Decorated int
	Signature string // "def f(a, b=1) -> int" as written, without its end of line
	Doc       string // docstring or the comment that documents it, without quotes
	// Receiver names the type of a method that is defined outside of it (Go, Rust,
	// C++). Its Parent is that type, before or after it, if it is in this file.
	Receiver string
}

// RefKind is how a file speaks of something.
type RefKind uint8

// The kinds of references.
const (
	Imports   RefKind = iota + 1 // Name is the module, Target what is taken from it
	Invokes                      // a call: Name as written, "self.save", "models.Q"
	Inherits                     // a base class: Name as written
	Decorates                    // a decorator: Name as written
)

// Ref is one reference.
type Ref struct {
	Kind RefKind
	// From is the innermost entity it stands in, -1: the file itself. What stands in
	// a decorator belongs to what is decorated.
	From int
	// Name is dotted, as written ("a.b", "A::new", "p->f"). With a leading dot it is
	// a member of the value of an expression: ".join" in "', '.join(x)".
	Name string
	// Of an import: Target is what is taken from the module ("": the module itself,
	// "*": everything), As its name here ("": its own), Level the leading dots.
	// Of an Inherits: As is the type that inherits, if it is not in this file.
	Target string
	As     string
	Level  int
	Line   int
}

// File is what one file holds, in the order of its lines.
type File struct {
	Language string // "python", "go", …; "": text
	Entities []Entity
	Refs     []Ref
	Doc      string // of the module
	// Broken says that a part could not be read as the language.
	Broken bool
}
