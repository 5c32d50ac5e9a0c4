package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/internal/hostsense"
)

// Widths of the columns.
const (
	nameWidth   = 20
	figureWidth = 42
	barWidth    = 34
)

// report is the JSON document.
type report struct {
	CPU      string    `json:"cpu"`
	Kernel   string    `json:"kernel"`
	CPUs     []int     `json:"cpus"`
	Rounds   int       `json:"rounds"`
	Deadline float64   `json:"deadline_s"`
	Begin    time.Time `json:"begin"`
	Seconds  float64   `json:"seconds"`
	Before   string    `json:"load_before"` // load averages
	After    string    `json:"load_after"`
	// share of the machine used in the second before
	UsedFirst float64   `json:"used_before"`
	Others    float64   `json:"others"` // share of other processes during the measurement
	Steal     float64   `json:"steal"`  // share of the hypervisor
	Cells     []*result `json:"cells"`

	first cpuSample
}

func newReport(b *bench) *report {
	c, _ := hostsense.This().CPU() // best effort
	return &report{
		CPU: cmp.Or(c.Name, "unknown processor"), Kernel: kernel(), CPUs: b.cpus, Rounds: b.rounds,
		Deadline: b.deadline.Seconds(), Begin: time.Now(), Before: loadAverage(),
	}
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown kernel"
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

// begin samples the machine's load for a second and prints the header.
func (r *report) begin(ctx context.Context, out, errs io.Writer) error {
	before := sampleCPU()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Second):
	}
	r.first = sampleCPU()
	r.UsedFirst = r.first.others(before)
	fmt.Fprintf(out, "%s, measured on CPUs %v of %d; %s; load %s, %.0f %% used in the second "+
		"before; rounds %d, deadline %g s\n\n",
		r.CPU, r.CPUs, runtime.NumCPU(), r.Kernel, r.Before, 100*r.UsedFirst, r.Rounds, r.Deadline)
	if r.UsedFirst > noticeable {
		fmt.Fprintf(errs, "%s: other programs load the machine and affect the figures\n", name)
	}
	// The system call returns 20 - nice.
	if prio, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil && prio != 20 {
		fmt.Fprintf(errs, "%s: running with nice value %d, as do the programs under test\n", name,
			20-prio)
	}
	if r.Rounds < barRounds {
		fmt.Fprintf(errs, "%s: preview only: the bars require medians of at least %d "+
			"rounds\n", name,
			barRounds)
	}
	columns(out, "cell", "figure", "bar", "verdict")
	return nil
}

func columns(out io.Writer, name, figure, bar, verdict string) {
	fmt.Fprintf(out, "%-*s %-*s %-*s %s\n", nameWidth, name, figureWidth, figure, barWidth, bar,
		verdict)
}

// row prints a cell, with all runs if verbose, and adds it to the report.
func (r *report) row(out io.Writer, c *result, verbose bool) {
	r.Cells = append(r.Cells, c)
	columns(out, c.Cell, c.Figure, c.Bar,
		strings.TrimSuffix(c.Verdict+": "+strings.Join(c.Notes, "; "), ": "))
	if !verbose {
		return
	}
	for _, t := range c.Trials {
		fmt.Fprintf(out, "    %s (%s):", t.Command, t.Place)
		for _, o := range t.Runs {
			if o.Error != "" {
				fmt.Fprintf(out, " [%s]", o.Error)
				continue
			}
			fmt.Fprintf(out, " "+t.format, o.Value)
		}
		if t.Unit != "" {
			fmt.Fprintf(out, " %s", t.Unit)
		}
		fmt.Fprintln(out)
	}
}

// end prints the summary.
func (r *report) end(out io.Writer) {
	now := sampleCPU()
	r.After, r.Seconds = loadAverage(), time.Since(r.Begin).Seconds()
	r.Others, r.Steal = now.others(r.first), now.steal(r.first)
	n := r.count()
	fmt.Fprintf(out,
		"\nbars that hold: %d of %d; fail: %d, not measured: %d, not judged: %d; took %v\n",
		n[pass], len(r.Cells)-n[info], n[fail], n[skip], n[info],
		time.Since(r.Begin).Round(time.Second))
	fmt.Fprintf(out, "load: %s before, %s after; meanwhile other processes used %.0f %% of the "+
		"machine, the hypervisor %.0f %%\n",
		r.Before, r.After, 100*r.Others, 100*r.Steal)
}

// count returns the number of cells by verdict.
func (r *report) count() map[string]int {
	n := map[string]int{}
	for _, c := range r.Cells {
		n[c.Verdict]++
	}
	return n
}

// holds reports whether every bar was shown to hold.
func (r *report) holds() bool {
	n := r.count()
	return n[fail] == 0 && n[skip] == 0 && len(r.Cells) > 0
}

func (r *report) save(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
