package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// golang collects what go/parser found. Of a broken file that is what stands
// before and between its errors.
type golang struct {
	src      string
	set      *token.FileSet
	entities []Entity
	refs     []Ref
	types    map[string]int // types of the package in this file
	current  int
}

func scanGo(path, src string) *File {
	src = strings.TrimPrefix(src, "\ufeff")
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, path, src, parser.ParseComments|parser.SkipObjectResolution)
	out := &File{Language: "go", Broken: err != nil}
	if tree == nil {
		return out
	}
	g := &golang{src: src, set: set, types: map[string]int{}, current: -1}
	out.Doc = strings.TrimSpace(tree.Doc.Text())
	for _, decl := range tree.Decls {
		g.declare(decl)
	}
	g.attach()
	out.Entities, out.Refs = g.entities, g.refs
	out.order()
	return out
}

// line is that of pos in the text itself: "//line" says otherwise of others.
func (g *golang) line(pos token.Pos) int { return g.set.PositionFor(pos, false).Line }

func (g *golang) offset(pos token.Pos) int {
	return min(max(g.set.PositionFor(pos, false).Offset, 0), len(g.src))
}

func (g *golang) text(from, to token.Pos) string {
	a, b := g.offset(from), g.offset(to)
	return strings.TrimSpace(g.src[a:max(a, b)])
}

// add notes an entity and gives its index.
func (g *golang) add(kind Kind, name string, node ast.Node, doc *ast.CommentGroup, signature string) int {
	start := g.line(node.Pos())
	g.entities = append(g.entities, Entity{
		Kind: kind, Name: name, Parent: g.current, Start: start, End: max(start, g.line(node.End()-1)),
		Signature: signature, Doc: strings.TrimSpace(doc.Text()),
	})
	return len(g.entities) - 1
}

func (g *golang) declare(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		end := d.End()
		if d.Body != nil {
			end = d.Body.Pos()
		}
		id := g.add(Function, d.Name.Name, d, d.Doc, g.text(d.Pos(), end))
		if d.Recv != nil && len(d.Recv.List) > 0 {
			g.entities[id].Receiver = g.name(d.Recv.List[0].Type)
		}
		g.inside(id, d)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			g.spec(d, spec)
		}
	}
}

func (g *golang) spec(d *ast.GenDecl, spec ast.Spec) {
	var node ast.Node = spec
	alone := !d.Lparen.IsValid()
	if alone {
		node = d
	}
	switch s := spec.(type) {
	case *ast.ImportSpec:
		g.imports(s)
	case *ast.TypeSpec:
		doc := s.Doc
		if doc == nil && alone {
			doc = d.Doc
		}
		id := g.add(Class, s.Name.Name, node, doc, g.typeSignature(s, node))
		g.types[s.Name.Name] = id
		g.embedded(id, s.Type)
		g.inside(id, s)
	case *ast.ValueSpec:
		doc := s.Doc
		if doc == nil && alone {
			doc = d.Doc
		}
		first := len(g.entities)
		for _, name := range s.Names {
			if name.Name != "_" {
				g.add(Variable, name.Name, node, doc, "")
			}
		}
		id := -1
		if len(g.entities) > first {
			id = first
		}
		g.inside(id, s)
	}
}

// typeSignature is the declaration up to the brace of a struct or interface.
func (g *golang) typeSignature(s *ast.TypeSpec, node ast.Node) string {
	end := node.End()
	switch t := s.Type.(type) {
	case *ast.StructType:
		end = t.Fields.Opening
	case *ast.InterfaceType:
		end = t.Methods.Opening
	}
	return g.text(node.Pos(), end)
}

func (g *golang) imports(s *ast.ImportSpec) {
	r := Ref{Kind: Imports, From: -1, Name: strings.Trim(s.Path.Value, "\"`"), Line: g.line(s.Pos())}
	if s.Name != nil {
		r.As = s.Name.Name
		if r.As == "." {
			r.As, r.Target = "", "*"
		}
	}
	g.refs = append(g.refs, r)
}

// embedded notes what a struct or interface takes over from others.
func (g *golang) embedded(id int, t ast.Expr) {
	var fields *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		return
	}
	for _, f := range fields.List {
		if name := g.name(f.Type); len(f.Names) == 0 && name != "" {
			g.refs = append(g.refs, Ref{Kind: Inherits, From: id, Name: name, Line: g.line(f.Type.Pos())})
		}
	}
}

// inside notes the calls in node and the types that functions declare for
// themselves.
func (g *golang) inside(id int, node ast.Node) {
	outer := g.current
	g.current = id
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if name := g.name(n.Fun); name != "" {
				end := n.Lparen
				if !end.IsValid() {
					end = n.Fun.End()
				}
				g.refs = append(g.refs, Ref{Kind: Invokes, From: g.current, Name: name, Line: g.line(end)})
			}
		case *ast.DeclStmt:
			if d, ok := n.Decl.(*ast.GenDecl); ok && d.Tok == token.TYPE {
				for _, spec := range d.Specs {
					s, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					var node ast.Node = s
					if !d.Lparen.IsValid() {
						node = d
					}
					local := g.add(Class, s.Name.Name, node, d.Doc, g.typeSignature(s, node))
					g.embedded(local, s.Type)
				}
			}
		}
		return true
	})
	g.current = outer
}

// name is the dotted name of an expression, with a leading dot where it begins
// with something else than a name, "" if it has none.
func (g *golang) name(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		case *ast.SelectorExpr:
			return g.selector(x)
		default:
			return ""
		}
	}
}

func (g *golang) selector(s *ast.SelectorExpr) string {
	from := s.X.End()
	for x := s.X; ; {
		inner, ok := x.(*ast.SelectorExpr)
		if !ok {
			if id, ok := x.(*ast.Ident); ok {
				from = id.Pos()
			}
			break
		}
		x = inner.X
		from = x.End()
	}
	name := g.text(from, s.End())
	if strings.ContainsAny(name, " \t\r\n/") {
		// Its parts stand apart, with comments perhaps: only the last is sure.
		return "." + s.Sel.Name
	}
	return name
}

// attach gives methods their types, where those are in this file.
func (g *golang) attach() {
	for i := range g.entities {
		e := &g.entities[i]
		if e.Receiver == "" {
			continue
		}
		if parent, ok := g.types[e.Receiver]; ok {
			e.Parent = parent
		}
	}
}
