package transport

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// owners are the parts of a queue pair: the fields of QueuePair that hold them, and their types.
var owners = map[string]string{"snd": "sender", "loss": "lossRecovery", "cong": "congestion",
	"rcv": "receiver", "adm": "admission"}

// TestOwnersKeepTheirState checks that only the methods of a part touch the part's fields.
func TestOwnersKeepTheirState(t *testing.T) {
	fset, fields := token.NewFileSet(), map[string]map[string]bool{}
	files := map[string]*ast.File{}
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || name == "owners_unsafe.go" {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		require.NoError(t, err)
		files[name] = f
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				if st, ok := s.Type.(*ast.StructType); ok {
					fields[s.Name.Name] = fieldNames(st)
				}
			}
			return true
		})
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, d := range files[name].Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if part, ok := sel.X.(*ast.SelectorExpr); ok {
					owner := owners[part.Sel.Name]
					if fields[owner][sel.Sel.Name] && receiverOf(d) != owner {
						t.Errorf("%v: %s.%s may only be used by the %s", fset.Position(sel.Pos()),
							part.Sel.Name, sel.Sel.Name, owner)
					}
				}
				return true
			})
		}
	}
}

func fieldNames(st *ast.StructType) map[string]bool {
	names := map[string]bool{}
	for _, f := range st.Fields.List {
		for _, n := range f.Names {
			names[n.Name] = true
		}
	}
	return names
}

// receiverOf returns the type of which a declaration is a method, or "" for anything else.
func receiverOf(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	if !ok || f.Recv == nil {
		return ""
	}
	typ := f.Recv.List[0].Type
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	id, ok := typ.(*ast.Ident)
	if !ok {
		return ""
	}
	return id.Name
}
