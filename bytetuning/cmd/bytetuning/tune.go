package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/intent"
	"github.com/goroce/goroce/bytetuning/live"
	"github.com/goroce/goroce/bytetuning/telemetry"
	"github.com/goroce/goroce/internal/cli"
)

// tuning is what tune was asked for.
type tuning struct {
	target, tuner, start string
	compare              []string
	budget               int
	seed                 uint64
	objective            bytetuning.Objective
	out                  string
	dry, unchecked       bool
	space                string
	telemetry, aggregate string
	source               telemetry.Source // that telemetry names
	apply, rollback      bool
}

func (p *program) tuneCommand() *cobra.Command {
	t := tuning{objective: *bytetuning.NewObjective()}
	c := &cobra.Command{
		Use:   "tune --target TARGET --out DIR",
		Short: "Search for better watermarks",
		Long: `tune measures the watermarks that are there, and then what a tuner proposes, until the budget is spent. The
target is left with the best point that was measured. DIR gets best.yaml, report.html with its figures, and
log.jsonl, from which the same command goes on after an interruption, or with a larger budget.

Tuners (--tuner NAME:knob=value,...): ` + strings.Join(bytetuning.Tuners(), ", ") + `. The paper's schedule, 18341 measurements
from a temperature of 100, is --tuner anneal --budget 0.

A point whose Kmax reaches XOFF (the paper's case I), or that breaks another rule of a switch, is never applied;
--unchecked is for models and simulations, to see what it does.

Switches (live:FLEET.yaml; "go doc github.com/goroce/goroce/bytetuning/live" has an example) are touched with --apply only, need
--start FILE with what they have, and have their configuration saved in DIR/saved before. --rollback --apply brings it
back and does nothing else.`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return p.tune(c.Context(), &t) },
	}
	f := c.Flags()
	f.StringVar(&t.target, "target", "", targetHelp)
	f.StringVar(&t.tuner, "tuner", "anneal:tem=0.1,again=false", "who proposes")
	f.StringVar(&t.start, "start", "",
		"what is there: a baseline ("+strings.Join(bytetuning.Baselines(),
			", ")+") or a file of intents; by default the target's")
	f.StringSliceVar(&t.compare, "compare", nil, "baselines to measure afterwards, for the report")
	f.IntVar(&t.budget, "budget", 200, "measurements; 0 is until the tuner is done")
	f.Uint64Var(&t.seed, "seed", 1, "of the tuner")
	f.Float64Var(&t.objective.Beta, "beta", t.objective.Beta,
		"weight of throughput against latency")
	f.BoolVar(&t.objective.Fair, "fair", false,
		"equation 15: flows in place of switches, divided by their variance")
	f.Float64Var(&t.objective.Gamma, "gamma", t.objective.Gamma, "weight of that variance")
	f.StringVar(&t.out, "out", "", "directory of the results")
	f.BoolVar(&t.dry, "dry-run", false, "say what would be done and apply nothing")
	f.StringVar(&t.space, "space", "", "file of the values to search among (kmin, gap, pmax, "+
		"headroom, alpha); by default the paper's grid, or the target's own")
	f.StringVar(&t.telemetry, "telemetry", "",
		"what a fabric target is measured by ("+strings.Join(telemetry.Names(),
			", ")+"); by default the simulation's own books")
	f.StringVar(&t.aggregate, "aggregate", "mean",
		"of the queue's samples: min, max, sum, p99, mean")
	f.BoolVar(&t.apply, "apply", false, "change the configuration of real switches")
	f.BoolVar(&t.rollback, "rollback", false,
		"bring back what real switches had before, from --out")
	f.BoolVar(&t.unchecked, "unchecked", false, "try what breaks the rules of a switch, too")
	return c
}

func (p *program) tune(ctx context.Context, t *tuning) error {
	if t.target == "" || t.out == "" && !t.dry {
		return cli.Usage(fmt.Errorf("tune needs --target and --out"))
	}
	if t.budget < 0 {
		return cli.Usage(fmt.Errorf("budget %d: want 0 or more", t.budget))
	}
	aim, err := target(t)
	if err != nil {
		return cli.Usage(err)
	}
	target, path := aim.Target, aim.path
	network, isLive := target.(*live.Network)
	switch {
	case isLive && !t.apply && !t.dry:
		return cli.Usage(errors.New("real switches are not touched without --apply; --dry-run " +
			"says what would be done"))
	case isLive && t.unchecked:
		return cli.Usage(errors.New("--unchecked is not for real switches"))
	case t.rollback && !isLive:
		return cli.Usage(errors.New("--rollback is for real switches"))
	case isLive && !t.rollback && !strings.ContainsAny(t.start, "./"):
		return cli.Usage(
			errors.New("real switches need --start FILE, the watermarks that they have"))
	}
	if isLive {
		defer network.Close()
		if t.rollback && t.dry {
			fmt.Fprintf(p.out, "what is in %s would be brought back\n", network.Saved)
			return nil
		}
		if t.rollback {
			return network.Rollback(ctx)
		}
	}
	layers := target.Layers()
	if t.start == "" {
		t.start = aim.first
	}
	begin, from, err := start(t.start, layers, path)
	if err != nil {
		return err
	}
	objective := t.objective
	tuner, err := bytetuning.New(t.tuner, bytetuning.Problem{Layers: layers, Start: begin,
		Energy: objective.Energy, Seed: t.seed})
	if err != nil {
		return cli.Usage(err)
	}
	if err := objective.Validate(); err != nil {
		return cli.Usage(err)
	}
	if err := begin.Check(layers); err != nil {
		fmt.Fprintf(p.errs, "what is there already: %v\n", err)
	}
	if t.dry {
		return p.plan(t, layers, begin, tuner)
	}
	if err := os.MkdirAll(t.out, 0o755); err != nil {
		return err
	}
	log, err := bytetuning.OpenLog(filepath.Join(t.out, "log.jsonl"), bytetuning.Header{
		Target: t.measured(), Tuner: t.tuner, Seed: t.seed, Objective: t.objective, Start: begin,
	})
	if err != nil {
		return err
	}
	defer log.Close()
	watch := p.watch(t.budget)
	s := &bytetuning.Search{
		Target: target, Tuner: tuner, Objective: &objective, Start: begin, Budget: t.budget,
		Log: log, Unchecked: t.unchecked, Each: watch.take,
	}
	out, err := s.Run(ctx)
	watch.close()
	if out == nil {
		if err == nil {
			fmt.Fprintln(p.errs, "interrupted before anything was measured")
		}
		return err
	}
	p.conclude(out)
	if writeErr := write(t, layers, out, from); writeErr != nil {
		return writeErr
	}
	if err != nil {
		return err
	}
	compared, err := compare(ctx, t, target, layers, path, &objective, out)
	if err != nil {
		return err
	}
	r := newReport(t, layers, log.Evaluations, out, &objective, compared)
	if r.Telemetry = overhead(t, target, out.At); r.Telemetry != "" {
		fmt.Fprintf(p.out, "telemetry  %s\n", r.Telemetry)
	}
	if err := r.write(t.out); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s\n%s\n", filepath.Join(t.out, "best.yaml"),
		filepath.Join(t.out, "report.html"))
	return nil
}

// measured is what a log tells one target from another by: its name, what it is measured by, and
// where it is searched.
func (t *tuning) measured() string {
	is := []string{t.target}
	if t.telemetry != "" {
		is = append(is, t.telemetry)
		if t.aggregate != string(telemetry.Mean) {
			is = append(is, t.aggregate)
		}
	}
	if t.space != "" {
		is = append(is, t.space)
	}
	return strings.Join(is, " ")
}

// plan says what tune would do.
func (p *program) plan(t *tuning, layers []bytetuning.Layer, begin bytetuning.Point,
	tuner bytetuning.Tuner) error {
	size := 1.
	for i, l := range layers {
		size *= float64(l.Space.Size())
		fmt.Fprintf(p.out, "%s: %d watermarks; now %v, XOFF %v\n", l.Name, l.Space.Size(), begin[i],
			l.XOFF(begin[i]))
	}
	fmt.Fprintf(p.out, "%s: %.4g points, budget %d, tuner %s, seed %d\n", t.target, size, t.budget,
		t.tuner, t.seed)
	if next, more := tuner.Propose(); more {
		fmt.Fprintf(p.out, "after what is there: %v\n", next)
	}
	fmt.Fprintln(p.out, "nothing was applied")
	return nil
}

// conclude says what was found.
func (p *program) conclude(o *bytetuning.Outcome) {
	fmt.Fprintf(p.out, "%s after %d measurements, %d skipped\n", o.Over, o.Evaluations, o.Skipped)
	for _, x := range []struct {
		name   string
		point  bytetuning.Point
		energy float64
		m      *bytetuning.Measurement
	}{{"there was", o.Start, o.StartEnergy, o.StartAt}, {"best", o.Best, o.BestEnergy, o.At}} {
		fmt.Fprintf(p.out, "%-10s f %.4f, %v, queue %v: %v\n", x.name, x.energy, x.m.Throughput(),
			x.m.Queue(), x.point)
	}
}

func write(t *tuning, layers []bytetuning.Layer, o *bytetuning.Outcome,
	from []*intent.Intent) error {
	for name, point := range map[string]bytetuning.Point{"best.yaml": o.Best,
		"start.yaml": o.Start} {
		text, err := intent.Encode(intents(point, layers, from))
		if err != nil {
			return err
		}
		head := fmt.Sprintf("# bytetuning tune --target %s --tuner %s --seed %d: %s, %d "+
			"measurements\n", t.target, t.tuner, t.seed, o.Over, o.Evaluations)
		if err := os.WriteFile(filepath.Join(t.out, name), append([]byte(head), text...),
			0o644); err != nil {
			return err
		}
	}
	return nil
}

// compared is a baseline on the same target.
type compared struct {
	Name  string
	Point bytetuning.Point
	M     *bytetuning.Measurement
	Why   string // it was not measured
}

// compare measures baselines, and leaves the target with the best point again.
func compare(ctx context.Context, t *tuning, target bytetuning.Target, layers []bytetuning.Layer,
	path bytetuning.Path, o *bytetuning.Objective, out *bytetuning.Outcome) (all []compared,
	err error) {
	if len(t.compare) == 0 {
		return nil, nil
	}
	for _, name := range t.compare {
		point, _, err := start(name, layers, path)
		if err != nil {
			return nil, cli.Usage(err)
		}
		c := compared{Name: name, Point: point}
		err = point.Check(layers)
		if t.unchecked {
			err = nil
		}
		if err == nil {
			err = target.Apply(ctx, point)
		}
		if err == nil {
			if c.M, err = target.Measure(ctx); err == nil {
				o.Hear(c.M)
			}
		}
		if err != nil {
			c.Why = err.Error()
		}
		all = append(all, c)
	}
	return all, target.Apply(context.WithoutCancel(ctx), out.Best)
}

// watch shows a search on its way: as a bar on a terminal, else in a line for each better point.
type watch struct {
	p    *program
	bar  *progressbar.ProgressBar
	best float64
	at   bytetuning.Point
}

func (p *program) watch(budget int) *watch {
	w := &watch{p: p}
	if f, ok := p.errs.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if budget == 0 {
			budget = -1
		}
		w.bar = progressbar.NewOptions(budget, progressbar.OptionSetWriter(p.errs),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionClearOnFinish(), progressbar.OptionShowCount(),
			progressbar.OptionThrottle(100*time.Millisecond))
	}
	return w
}

func (w *watch) take(e bytetuning.Progress) {
	if w.bar != nil {
		w.bar.Describe(fmt.Sprintf("best f %.4f", e.BestEnergy))
		w.bar.Add(1) //nolint:errcheck // a bar that cannot be drawn is no reason to stop
	}
	switch {
	case e.Skipped != "" && !e.Again:
		fmt.Fprintf(w.p.errs, "[%d] skipped %v: %s\n", e.N, e.Point, e.Skipped)
	case w.bar == nil && !w.at.Equal(e.Best):
		fmt.Fprintf(w.p.errs, "[%d] best f %.4f: %v\n", e.N, e.BestEnergy, e.Best)
	}
	w.best, w.at = e.BestEnergy, e.Best
}

func (w *watch) close() {
	if w.bar != nil {
		w.bar.Finish() //nolint:errcheck
	}
}
