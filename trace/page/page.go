package page

import (
	_ "embed" // for the parts of the page
	"encoding/json"
	"fmt"
	"html/template"
	"io"

	"github.com/goroce/goroce/internal/chartjs"
	"github.com/goroce/goroce/trace/analysis"
)

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
}).Parse(pageHTML))

// maxDrawn is how many flows have charts; the table has all.
const maxDrawn = 64

// view is what the template sees.
type view struct {
	*analysis.Report
	Columns []analysis.Column
	Data    template.JS
	Drawn   int
}

// flowData is what the script draws of a flow. Points are seconds and values.
type flowData struct {
	Name   string           `json:"name"`
	Limits []analysis.Share `json:"limits"`

	Sequence []analysis.Point `json:"sequence"`
	Again    []analysis.Point `json:"again"`
	Missing  []analysis.Point `json:"missing"`
	RTT      []analysis.Point `json:"rtt"`
	Target   []analysis.Point `json:"target"`
	Window   []analysis.Point `json:"window"`
	Flight   []analysis.Point `json:"flight"`
	Rate     []analysis.Point `json:"rate"`
	Goodput  []analysis.Point `json:"goodput"`
	Marked   []analysis.Point `json:"marked"`
	Notified []analysis.Point `json:"notified"`
}

// Write writes the page.
func Write(w io.Writer, r *analysis.Report) error {
	zero := r.Zero()
	var flows []flowData
	for _, f := range r.Flows[:min(len(r.Flows), maxDrawn)] {
		flows = append(flows, flowData{Name: f.Name, Limits: f.Shares(),
			Sequence: f.Sequence.Ranges(zero), Again: f.Again.Ranges(zero),
			Missing: f.Missing.Ranges(zero), RTT: f.RTT.Ranges(zero),
			Target: f.Target.Lasts(zero), Window: f.Window.Ranges(zero),
			Flight: f.Flight.Ranges(zero), Rate: f.Rate.Means(zero),
			Goodput: f.Goodput.Rates(zero), Marked: f.Marked.Sums(zero),
			Notified: f.Notified.Sums(zero)})
	}
	data, err := json.Marshal(flows) // escapes <, > and &: it cannot end the script
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	err = pageTemplate.Execute(w, view{r, analysis.Columns, template.JS(data), len(flows)})
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}
