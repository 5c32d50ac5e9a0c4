package tidy

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// TestPackageDoc: the comment of a package stands in its doc.go, that of a program in main.go.
func TestPackageDoc(t *testing.T) {
	type place struct{ name, want, file string }
	packages := map[string]*place{}
	for _, f := range sources(t) {
		if f.test() && f.dir() != "test/tidy" {
			continue
		}
		p := packages[f.dir()]
		if p == nil {
			p = &place{name: f.syntax.Name.Name, want: "doc.go"}
			packages[f.dir()] = p
		}
		if f.syntax.Doc != nil {
			p.file = f.name[strings.LastIndexByte(f.name, '/')+1:]
		}
	}
	for dir, p := range packages {
		switch ok := p.file == p.want || p.name == "main" && p.file == "main.go"; {
		case p.file == "":
			t.Errorf("%s: package %s has no comment", dir, p.name)
		case !ok:
			t.Errorf("%s: the comment of package %s stands in %s; want %s", dir, p.name, p.file,
				p.want)
		}
	}
}

// wellKnown are methods whose interface says what they do: fmt.Stringer, error.
var wellKnown = map[string]bool{"String": true, "Error": true}

// TestGodoc: every exported identifier has a doc comment that begins with its name.
func TestGodoc(t *testing.T) {
	for _, f := range sources(t) {
		if f.test() || f.syntax.Name.Name == "main" {
			continue
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && !wellKnown[d.Name.Name] && exportedReceiver(d) {
					checkDoc(t, f, d.Pos(), d.Name.Name, d.Doc)
				}
			case *ast.GenDecl:
				checkDeclaration(t, f, d)
			}
		}
	}
}

// exportedReceiver reports whether a function has no receiver, or one of an exported type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

// checkDeclaration checks types, and constants and variables: these may share the comment of
// their group.
func checkDeclaration(t *testing.T, f *file, d *ast.GenDecl) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if doc == nil {
				doc = d.Doc
			}
			if s.Name.IsExported() {
				checkDoc(t, f, s.Pos(), s.Name.Name, doc)
			}
		case *ast.ValueSpec:
			grouped := d.Lparen.IsValid() && d.Doc != nil
			for _, n := range s.Names {
				if n.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil && !grouped {
					t.Errorf("%s:%d: %s %s has no comment", f.name, f.line(n.Pos()), d.Tok, n.Name)
				}
			}
			if one := len(s.Names) == 1 && !d.Lparen.IsValid() && d.Tok != token.IMPORT; one &&
				s.Names[0].IsExported() {
				checkDoc(t, f, s.Pos(), s.Names[0].Name, d.Doc)
			}
		}
	}
}

func checkDoc(t *testing.T, f *file, at token.Pos, name string, doc *ast.CommentGroup) {
	if doc == nil {
		t.Errorf("%s:%d: %s has no comment", f.name, f.line(at), name)
		return
	}
	words := strings.Fields(strings.TrimPrefix(doc.Text(), "Deprecated: "))
	for len(words) > 1 && (words[0] == "A" || words[0] == "An" || words[0] == "The") {
		words = words[1:]
	}
	if len(words) == 0 || strings.TrimRight(words[0], ",.:;") != name {
		t.Errorf("%s:%d: the comment of %s does not begin with its name", f.name, f.line(at), name)
	}
}
