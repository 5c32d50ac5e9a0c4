package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goroce/goroce/test/interop/matrix"
)

// run runs all selected tests and reports the results.
type run struct {
	lab     *lab
	out     io.Writer
	verbose bool

	begun    time.Time
	trials   []*trial
	hostiles []*encounter
	probings []*probing
	complete bool
	failed   []string
	broken   error // of the guest: results after it are void
}

var errSomeFailed = errors.New("some failed")

func (r *run) all(ctx context.Context, s selected) {
	r.begun = time.Now()
	_ = os.RemoveAll(r.failures())
	for _, c := range s.cells {
		if ctx.Err() != nil {
			return
		}
		t := r.lab.try(ctx, c)
		if ctx.Err() != nil {
			return
		}
		r.trials = append(r.trials, t)
		r.report(c.String(), t.took, t.err, t.remarks())
		r.show(t.err, c.String(), t.ours, t.theirs)
		if t.err != nil {
			if r.broken = reachable(); r.broken != nil {
				return
			}
		}
	}
	for _, h := range s.hostiles {
		if ctx.Err() != nil {
			return
		}
		e := r.lab.meet(ctx, h)
		if ctx.Err() != nil {
			return
		}
		r.hostiles = append(r.hostiles, e)
		r.report(h.name, e.took, e.err, e.said)
		r.show(e.err, h.name, e.programs...)
	}
	for _, p := range s.probeds {
		if ctx.Err() != nil {
			return
		}
		x := r.lab.probe(ctx, p)
		if ctx.Err() != nil {
			return
		}
		r.probings = append(r.probings, x)
		r.report(p.name, x.took, x.err, x.said)
		r.show(x.err, p.name, x.ours, x.theirs)
	}
	r.complete = s.all
	if s.impaired() && s.all {
		r.report("impaired/recoveries", 0, r.recoveries(), "")
	}
}

// failures returns the directory for the outputs of failed tests.
func (r *run) failures() string { return filepath.Join(r.lab.root, ".cache/interop/failed") }

// report prints a line of the table.
func (r *run) report(name string, took time.Duration, err error, remarks string) {
	verdict := "ok  "
	if err != nil {
		verdict = "FAIL"
		r.failed = append(r.failed, name)
	}
	line := fmt.Sprintf("%s %5.1f s  %-58s %s", verdict, took.Seconds(), name, remarks)
	fmt.Fprintln(r.out, strings.TrimRight(line, " "))
	if err == nil {
		return
	}
	for l := range strings.Lines(err.Error()) {
		fmt.Fprintln(r.out, "     ", strings.TrimSpace(l))
	}
}

// show prints the programs' outputs if verbose, and stores them on failure.
func (r *run) show(err error, name string, programs ...*program) {
	var text strings.Builder
	for _, p := range programs {
		if p != nil {
			text.WriteString(p.transcript())
		}
	}
	if r.verbose {
		fmt.Fprint(r.out, text.String())
	}
	if err == nil {
		return
	}
	file := filepath.Join(r.failures(), strings.ReplaceAll(name, "/", "_")+".txt")
	if err := errors.Join(os.MkdirAll(r.failures(), 0o755),
		os.WriteFile(file, []byte(text.String()), 0o644)); err != nil {
		fmt.Fprintln(r.out, "     ", err)
	} else {
		fmt.Fprintln(r.out, "      outputs of both ends:", strings.TrimPrefix(file, r.lab.root+"/"))
	}
	fmt.Fprintf(r.out, "      again: bin/interop --keep -v --run '^%s$'\n", name)
}

// remarks returns what there is to report of a trial beside its name.
func (t *trial) remarks() string {
	var parts []string
	if t.err == nil {
		switch {
		case t.cell.Watched():
			parts = append(parts, fmt.Sprintf("we send %.1f MiB/s", t.sent()))
		case t.cell.Test == matrix.Rping:
			parts = append(parts, fmt.Sprintf("%d verified", t.cell.Iterations()))
		case t.cell.Verified():
			parts = append(parts, t.row.Figure()+", verified")
		default:
			parts = append(parts, t.row.Figure())
		}
	}
	if t.cell.Impair != matrix.Clean {
		parts = append(parts, "wire: "+t.wire[0].plus(t.wire[1]).String())
	}
	if n := len(t.seen); n > 0 {
		parts = append(parts, "control: "+t.seen[n-1].String())
	}
	if text := t.totals.String(); text != "" {
		parts = append(parts, "ours: "+text)
	}
	if text := t.rxe.String(); text != "" {
		parts = append(parts, "rxe: "+text)
	}
	if t.tries > 1 {
		parts = append(parts, fmt.Sprintf("at try %d", t.tries))
	}
	return strings.Join(parts, "; ")
}

// sent returns the average goodput of our end of a watched cell, in MiB/s.
func (t *trial) sent() float64 {
	const bytesPerGbit, mib = 1e9 / 8, 1 << 20
	sum := 0.0
	for _, g := range t.seen {
		sum += g.Goodput
	}
	return sum * bytesPerGbit / mib / float64(max(1, len(t.seen)))
}

// recoveries returns an error unless both ends recovered from losses in the impaired cells: ours as
// a sender, and rxe.
func (r *run) recoveries() error {
	var ours, theirs uint64
	for _, t := range r.trials {
		if t.cell.Impair != matrix.Clean {
			ours += t.totals.Retransmits
			theirs += t.rxe["completer_retry_err"] + t.rxe["rcvd_seq_err"]
		}
	}
	fmt.Fprintf(r.out, "over all impaired cells: we retransmitted %d packets, rxe went back %d "+
		"times\n", ours, theirs)
	if ours == 0 || theirs == 0 {
		return errors.New("one end never recovered a loss: the wire lost too little, or a " +
			"counter is broken")
	}
	return nil
}

// close prints the summary.
func (r *run) close(ctx context.Context, o options) error {
	fmt.Fprintln(r.out)
	r.sum()
	var err error
	if o.page != "" && r.broken == nil {
		err = r.page(ctx, o.page)
	}
	passed := len(r.trials) + len(r.hostiles) + len(r.probings) - len(r.failed)
	if r.broken != nil {
		fmt.Fprintln(r.out, "aborted:", r.broken)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed\n", passed, len(r.failed))
	if len(r.failed) > 0 {
		err = errors.Join(err, errSomeFailed)
	}
	return err
}
