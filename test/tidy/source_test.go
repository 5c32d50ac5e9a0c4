package tidy

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the module's directory, from this package's.
const root = "../.."

// module is the module's path.
const module = "github.com/goroce/goroce"

// A file is one source file of the module, parsed.
type file struct {
	name   string // slash-separated, from the module's directory
	text   []byte
	syntax *ast.File
	set    *token.FileSet
}

func (f *file) test() bool { return strings.HasSuffix(f.name, "_test.go") }

// dir returns the directory of the file's package, "." for the root package.
func (f *file) dir() string { return filepath.ToSlash(filepath.Dir(f.name)) }

// lines returns the source line by line.
func (f *file) lines() []string { return strings.Split(string(f.text), "\n") }

// line returns the number of the line of a position.
func (f *file) line(p token.Pos) int { return f.set.Position(p).Line }

var load = sync.OnceValues(func() ([]*file, error) {
	var files []*file
	err := walk(".go", func(name string, text []byte) error {
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, &file{name: name, text: text, syntax: syntax, set: set})
		return nil
	})
	return files, err
})

// walk calls visit with every file of the module that has a suffix, but those of testdata, of
// dot directories and of what was built.
func walk(suffix string, visit func(name string, text []byte) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if name == "." {
				return nil
			}
			if base := d.Name(); base[0] == '.' || base == "testdata" || base == "node_modules" ||
				name == "bin" || name == "site/content" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, suffix) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return visit(name, bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	})
}

// sources returns every Go file of the module and of its examples.
func sources(t *testing.T) []*file {
	t.Helper()
	files, err := load()
	require.NoError(t, err)
	require.Greater(t, len(files), 500, "the module is not at %s", root)
	return files
}
