package tidy

import (
	"go/ast"
	"testing"
)

// maxExported limits the exported identifiers of packages: constants, variables, types, functions,
// and methods of exported types.
var maxExported = map[string]int{
	"transport":      150, // what libibverbs has, in docs/verbs.md, is most of it
	"transport/wire": 250,
}

// TestExportedIdentifiers: the packages of maxExported stay small.
func TestExportedIdentifiers(t *testing.T) {
	count := map[string]int{}
	for _, f := range sources(t) {
		if !f.test() && maxExported[f.dir()] > 0 {
			count[f.dir()] += exportedIdentifiers(f)
		}
	}
	for dir, most := range maxExported {
		if n := count[dir]; n == 0 || n > most {
			t.Errorf("%s exports %d identifiers, want 1 to %d", dir, n, most)
		}
	}
}

func exportedIdentifiers(f *file) (n int) {
	for _, d := range f.syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && exportedReceiver(d) {
				n++
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				n += exportedNames(s)
			}
		}
	}
	return n
}

func exportedNames(s ast.Spec) (n int) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			n++
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() {
				n++
			}
		}
	}
	return n
}
