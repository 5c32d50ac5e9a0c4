package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/dialect"
	"github.com/goroce/goroce/bytetuning/intent"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// report is the HTML report of a search.
type report struct {
	Target, Tuner, StopReason string
	Telemetry                 string // "" for the target's own counters
	Seed                      uint64
	Evaluations, Skipped      int
	Rows                      []row
	Reasons                   []reason
	Changes                   []change
	Gain                      string
	Commands                  []commands
	Figures                   []template.HTML
	figures                   []figure.Figure
}

// row is a point with its measurement.
type row struct {
	Name, Energy, Throughput, Queue string
	Lost                            uint64
	Layers                          []layerRow
	Reason                          string
}

type layerRow struct {
	Name string
	bytetuning.Watermark
	XOFF string
}

// change is a parameter whose value differs between start and best.
type change struct{ Layer, Name, Start, Best string }

// commands are the configuration of the best point in a dialect.
type commands struct{ Dialect, Text string }

// changes lists the differences between two points.
func changes(layers []bytetuning.Layer, start, best bytetuning.Point) (all []change) {
	for i, l := range layers {
		a, b := start[i], best[i]
		for _, c := range []change{
			{l.Name, "Kmin", a.Kmin.String(), b.Kmin.String()},
			{l.Name, "Kmax", a.Kmax.String(), b.Kmax.String()},
			{l.Name, "Pmax", fmt.Sprint(a.Pmax), fmt.Sprint(b.Pmax)},
			{l.Name, "headroom", fmt.Sprint(a.Headroom), fmt.Sprint(b.Headroom)},
			{l.Name, "alpha", fmt.Sprint(a.Alpha), fmt.Sprint(b.Alpha)},
		} {
			if c.Start != c.Best {
				all = append(all, c)
			}
		}
	}
	return all
}

// gain describes the performance of the best point in relation to that of the start, "" if they are
// the same point.
func gain(o *bytetuning.Outcome) string {
	relative := func(best, start float64) string {
		if start <= 0 {
			return "unknown"
		}
		return format("%+.1f %%", 100*(best/start-1))
	}
	if o.Best.Equal(o.Start) {
		return ""
	}
	a, b := o.StartMeasurement, o.BestMeasurement
	return "throughput " + relative(float64(b.Throughput()), float64(a.Throughput())) + ", queue " +
		relative(float64(b.Queue()), float64(a.Queue()))
}

// kib formats a size that is computed, and so rarely a whole number of KiB.
func kib(b units.Bytes) string {
	return format("%.1f KiB", float64(b)/float64(units.KiB))
}

// configurations renders intents in every dialect. A dialect that cannot express one says why.
func configurations(intents []*intent.Intent) (all []commands) {
	for _, name := range dialect.Names() {
		d, err := dialect.Lookup(name)
		if err != nil {
			continue
		}
		var text strings.Builder
		for _, i := range intents {
			if len(i.Interfaces) == 0 {
				i.Interfaces = []string{"INTERFACE"}
			}
			if r, err := d.Render(i, dialect.Options{}); err != nil {
				fmt.Fprintf(&text, "%s: not expressible: %v\n", i.Name, err)
			} else {
				text.WriteString(r.Config)
			}
		}
		all = append(all, commands{d.Title, text.String()})
	}
	return all
}

// reason is a reason to skip points, with its count.
type reason struct {
	Text string
	N    int
}

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Parse(page))

func newReport(t *tuning, layers []bytetuning.Layer, evaluations []bytetuning.Evaluation,
	o *bytetuning.Outcome, objective *bytetuning.Objective, others []compared) *report {
	r := &report{Target: t.target, Tuner: t.tuner, StopReason: o.StopReason, Seed: t.seed,
		Evaluations: o.Evaluations, Skipped: o.Skipped}
	add := func(name string, p bytetuning.Point, m *bytetuning.Measurement, energy float64,
		why string) {
		x := row{Name: name, Reason: why}
		if m != nil {
			x.Energy = format("%.4f", energy)
			x.Throughput, x.Queue, x.Lost = throughput(m), cells(m), m.Lost
		}
		for i, w := range p {
			xoff := "unknown"
			if b := layers[i].XOFF(w); b > 0 {
				xoff = kib(b)
			}
			x.Layers = append(x.Layers, layerRow{layers[i].Name, w, xoff})
		}
		r.Rows = append(r.Rows, x)
	}
	r.Changes = changes(layers, o.Start, o.Best)
	r.Gain = gain(o)
	add("best", o.Best, o.BestMeasurement, o.BestEnergy, "")
	add("start", o.Start, o.StartMeasurement, o.StartEnergy, "")
	for _, c := range others {
		energy := 0.
		if c.Measurement != nil {
			energy = objective.Energy(c.Measurement)
		}
		add(c.Name, c.Point, c.Measurement, energy, c.Reason)
	}
	r.draw(evaluations, objective)
	return r
}

// draw makes the figures. Energies are computed with the final records of the search.
func (r *report) draw(evaluations []bytetuning.Evaluation, o *bytetuning.Objective) {
	var n, f, best, throughput, queue []float64
	skipped := map[string]int{}
	for i, e := range evaluations {
		if e.Measurement == nil {
			if skipped[e.Skipped]++; skipped[e.Skipped] == 1 {
				r.Reasons = append(r.Reasons, reason{Text: e.Skipped})
			}
			continue
		}
		energy := o.Energy(e.Measurement)
		top := energy
		if len(best) > 0 {
			top = max(top, best[len(best)-1])
		}
		n, f, best = append(n, float64(i+1)), append(f, energy), append(best, top)
		throughput = append(throughput, float64(e.Measurement.Throughput())/1e9)
		queue = append(queue, float64(e.Measurement.Queue())/float64(bytetuning.Cell))
	}
	for i := range r.Reasons {
		r.Reasons[i].N = skipped[r.Reasons[i].Text]
	}
	r.figures = []figure.Figure{
		figure.Points("energy", "Energy of each measurement", "measurement", "f").Add("measured", n,
			f).Add("best so far", n, best),
		figure.Points("throughput", "Throughput", "measurement",
			"throughput (Gb/s)").Add("measured", n, throughput),
		figure.Points("queue", "Queue", "measurement", "queue (cells)").Add("measured", n, queue),
		figure.Points("trade", "Throughput against queue", "queue (cells)",
			"throughput (Gb/s)").Add("measured", queue, throughput),
	}
}

// write writes the page and its figures to a directory.
func (r *report) write(dir string) error {
	for _, f := range r.figures {
		name, data, err := f.Encode()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
		r.Figures = append(r.Figures, template.HTML(data)) //nolint:gosec // our own SVG
	}
	f, err := os.Create(filepath.Join(dir, "report.html"))
	if err != nil {
		return err
	}
	if err := pageTemplate.Execute(f, r); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
