package search

// weighting are the numbers of the ranking. They were searched for on the histories of
// seven repositories together, and checked on three others; docs/search.md says how.
type weighting struct {
	k1      float64 // saturation of a word's count in a document
	k3      float64 // saturation of a word's count in the question
	lengthB float64 // how much a document's length counts
	nameB   float64 // how much a name's length counts
	fileB   float64 // how much a file's length counts
	fileK1  float64

	name, signature, doc float64 // fields, beside 1 for the body

	exactName  float64 // a word of the question is the whole name of an entity
	exactOwner float64 // … of the class of a method
	exactFile  float64 // … of a file, or of a directory
	exactDir   float64

	title    float64 // words of the title, beside 1 for those of prose
	code     float64 // words of code blocks
	inline   float64 // words in backticks
	output   float64 // words of tracebacks and of what programs printed
	symbol   float64 // words that have the form of code: a_b, aB, a.b, a()
	whole    float64 // an identifier as a whole, beside its parts
	phrase   float64 // words in a row taken as one identifier
	file     float64 // share of the file's score in that of its documents
	owner    float64 // share of the score of the class around it
	frame    float64 // a traceback's frame is in the document: share of the most possible
	named    float64 // the path of the file stands in the question: likewise
	callee   float64 // share that what a good document calls gets of its score
	caller   float64 // share that what calls a good document gets of its score
	fromTest float64 // share that what a good test calls gets of its score
	nested   float64 // factor for functions inside functions
	test     float64 // factor for test files
	aside    float64 // factor for what stands in folders of documentation or examples
	made     float64 // factor for generated files
	class    float64 // factor for classes
	module   float64 // factor for the text of a file outside classes and functions
	common   float64 // share of the documents beyond which a word tells nothing
	maxWork  int     // words of a question that count at most
}

var weights = weighting{
	k1: 0.6, k3: 8, lengthB: 0.125, nameB: 0.3, fileB: 0.25, fileK1: 1.5,
	name: 2, signature: 0.75, doc: 0.25,
	exactName: 0.5, exactOwner: 0.25, exactFile: 1.33, exactDir: 0.67,
	title: 3, code: 0.7, inline: 2, output: 0.3, symbol: 1.5, whole: 0.56, phrase: 0.5,
	file: 0.57, owner: 0.05, callee: 0.11, caller: 0.05, fromTest: 0.1, nested: 0.9, frame: 0.1, named: 0.2,
	test: 0.3, aside: 0.6, made: 0.5, class: 0.9, module: 0.7,
	common: 0.25, maxWork: 300,
}
