// Command api writes the API reference of the site: a Markdown page for each package that other
// modules may import, from its doc comments. It imports Go's parser alone.
//
//	go run ./site/api DIR
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is what `go list -json` says of a package.
type listed struct {
	Dir, ImportPath, Name string
	GoFiles, CgoFiles     []string
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: api DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

// write writes a page for each public package to a directory, and an index of them.
func write(dir string) error {
	out, err := exec.Command("go", "list", "-json=Dir,ImportPath,Name,GoFiles,CgoFiles",
		"./...").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	index := bytes.NewBufferString("# API reference\n\n| package | synopsis |\n|---|---|\n")
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if l.Name == "main" || !public(l.ImportPath) {
			continue
		}
		p, fset, err := l.parse()
		if err != nil {
			return err
		}
		name := file(l.ImportPath)
		text, err := page(p, fset)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name+".md"), text, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(index, "| [%s](./%s.md) | %s |\n", l.ImportPath, name,
			strings.ReplaceAll(p.Synopsis(p.Doc), "|", `\|`))
	}
	return os.WriteFile(filepath.Join(dir, "index.md"), index.Bytes(), 0o644)
}

const module = "github.com/goroce/goroce"

// public reports whether a package is for other modules: not internal, nor part of a program.
func public(path string) bool {
	for part := range strings.SplitSeq(strings.TrimPrefix(path, module), "/") {
		switch part {
		case "internal", "bench", "lab", "test", "examples", "site", "cmd":
			return false
		}
	}
	return true
}

// parse returns the documentation of a package for this platform.
func (l *listed) parse() (*doc.Package, *token.FileSet, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range append(l.GoFiles, l.CgoFiles...) {
		if ok, err := build.Default.MatchFile(l.Dir, name); err != nil || !ok {
			continue
		}
		f, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, l.ImportPath)
	return p, fset, err
}

// page returns the page of a package.
func page(p *doc.Package, fset *token.FileSet) ([]byte, error) {
	b := new(bytes.Buffer)
	fmt.Fprintf(b, "# %s\n\n```go\nimport %q\n```\n\n", p.Name, p.ImportPath)
	w := writer{b, p, fset, nil}
	w.comment(p.Doc)
	w.values("Constants", p.Consts)
	w.values("Variables", p.Vars)
	if len(p.Funcs) > 0 {
		b.WriteString("\n## Functions\n")
	}
	w.funcs("###", p.Funcs)
	for _, t := range p.Types {
		fmt.Fprintf(b, "\n## type %s\n\n", t.Name)
		w.declaration(t.Decl, t.Doc)
		w.values("", append(t.Consts, t.Vars...))
		w.funcs("###", append(t.Funcs, t.Methods...))
	}
	return b.Bytes(), w.err
}

// writer writes the parts of a page.
type writer struct {
	*bytes.Buffer
	p    *doc.Package
	fset *token.FileSet
	err  error
}

func (w *writer) values(title string, values []*doc.Value) {
	if len(values) > 0 && title != "" {
		fmt.Fprintf(w, "\n## %s\n\n", title)
	}
	for _, v := range values {
		w.declaration(v.Decl, v.Doc)
	}
}

func (w *writer) funcs(level string, funcs []*doc.Func) {
	for _, f := range funcs {
		name := f.Name
		if f.Recv != "" {
			name = fmt.Sprintf("(%s) %s", f.Recv, f.Name)
		}
		fmt.Fprintf(w, "\n%s %s\n\n", level, name)
		f.Decl.Body = nil
		w.declaration(f.Decl, f.Doc)
	}
}

// declaration writes a declaration and its comment.
func (w *writer) declaration(decl ast.Node, text string) {
	w.WriteString("```go\n")
	if err := format.Node(w, w.fset, decl); err != nil && w.err == nil {
		w.err = err
	}
	w.WriteString("\n```\n\n")
	w.comment(text)
}

// comment writes a comment, with links to the pages of the packages that it names.
func (w *writer) comment(text string) {
	printer := w.p.Printer()
	printer.DocLinkURL = func(l *comment.DocLink) string {
		switch {
		case l.ImportPath == "":
			return "#" + strings.ToLower(l.Name)
		case !strings.HasPrefix(l.ImportPath, module):
			return "https://pkg.go.dev/" + l.ImportPath
		case !public(l.ImportPath):
			return "https://" + l.ImportPath
		}
		return "./" + file(l.ImportPath) + ".md"
	}
	w.Write(printer.Markdown(w.p.Parser().Parse(text)))
}

// file returns the name of a package's page, without its extension.
func file(path string) string {
	if path == module {
		return "goroce"
	}
	return strings.ReplaceAll(strings.TrimPrefix(path, module+"/"), "/", "-")
}
