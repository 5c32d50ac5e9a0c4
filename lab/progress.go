package main

import (
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/goroce/goroce/lab/runner"
)

// progress shows the progress of a run: a bar on a terminal, a line for each job elsewhere.
type progress struct {
	w         io.Writer
	bar       *progressbar.ProgressBar // on a terminal
	total     int
	done      int
	skipped   int
	fractions map[string]float64 // of the jobs that run
}

// fine is the resolution of the bar: steps of a job.
const fine = 1000

func newProgress(w io.Writer, terminal bool, plans []*runner.Plan, shard runner.Shard) *progress {
	p := &progress{w: w, fractions: map[string]float64{}}
	place := 0
	for _, plan := range plans {
		for range plan.Tasks {
			if shard.Has(place) {
				p.total++
			}
			place++
		}
	}
	if terminal {
		p.bar = progressbar.NewOptions(p.total*fine, progressbar.OptionSetWriter(w),
			progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())
	}
	return p
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// event handles an event of the runner, which makes one call at a time.
func (p *progress) event(e runner.Event) {
	name := e.Task.String()
	if e.Done {
		p.done++
		delete(p.fractions, name)
		p.line(e)
	} else {
		p.fractions[name] = e.Fraction
	}
	if p.bar != nil {
		steps := float64(p.done)
		for _, f := range p.fractions {
			steps += f
		}
		p.bar.Describe(fmt.Sprintf("%d/%d jobs", p.done, p.total))
		p.bar.Set(int(steps * fine))
	}
}

// line prints how a job ended.
func (p *progress) line(e runner.Event) {
	switch {
	case e.Skipped:
		p.skipped++
	case e.Err != nil:
		p.say("[%d/%d] %s: failed", p.done, p.total, e.Task)
	case p.bar == nil:
		p.say("[%d/%d] %s: %.1f s", p.done, p.total, e.Task, e.Seconds)
	}
}

func (p *progress) say(format string, args ...any) {
	if p.bar != nil {
		p.bar.Clear()
	}
	fmt.Fprintf(p.w, format+"\n", args...)
}

func (p *progress) close() {
	if p.bar != nil {
		p.bar.Exit()
	}
	if p.skipped > 0 {
		fmt.Fprintf(p.w, "done before: %d of %d\n", p.skipped, p.total)
	}
}
