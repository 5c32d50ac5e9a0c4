package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/goroce/goroce/internal/chartjs"
	"github.com/goroce/goroce/lab/claims"
)

// Page is the content of the HTML page.
type Page struct {
	Papers []*Paper
	Count  Count
}

// Paper is the experiments of a paper.
type Paper struct {
	claims.Paper
	Experiments []*Experiment
}

// Count counts claims by their marks, and those that differ from the committed verdicts.
type Count struct{ Passed, Failed, NotJudged, Differ int }

func (c *Count) add(d Count) {
	c.Passed += d.Passed
	c.Failed += d.Failed
	c.NotJudged += d.NotJudged
	c.Differ += d.Differ
}

// add appends an experiment.
func (p *Page) add(c *claims.Catalogue, e *Experiment) {
	last := len(p.Papers) - 1
	if last < 0 || p.Papers[last].Name != e.Paper() {
		paper := &Paper{Paper: claims.Paper{Name: e.Paper()}}
		for _, known := range c.Papers() {
			if known.Name == e.Paper() {
				paper.Paper = known
			}
		}
		p.Papers = append(p.Papers, paper)
		last++
	}
	p.Papers[last].Experiments = append(p.Papers[last].Experiments, e)
	p.Count.add(e.Count)
}

// Experiments counts the experiments of the page.
func (p *Page) Experiments() int {
	n := 0
	for _, paper := range p.Papers {
		n += len(paper.Experiments)
	}
	return n
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"css":    func() template.CSS { return template.CSS(pageCSS) },
	"charts": func() template.JS { return chartjs.Script },
	"js":     func() template.JS { return template.JS(pageJS) },
	"anchor": func(id string) string { return strings.ReplaceAll(id, "/", "-") },
}).Parse(pageHTML))

// WriteHTML writes the page. It refers to files of the experiments beside it: see Write.
func (p *Page) WriteHTML(w io.Writer) error {
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
