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

// tuning holds the flags of tune.
type tuning struct {
	target, tuner, start string
	compare              []string
	budget               int
	seed                 uint64
	objective            bytetuning.Objective
	out                  string
	dryRun, unchecked    bool
	space                string
	telemetry, aggregate string
	source               telemetry.Source // the source named by telemetry
	apply, rollback      bool
}

func (p *program) tuneCommand() *cobra.Command {
	t := tuning{objective: *bytetuning.NewObjective()}
	c := &cobra.Command{
		Use:   "tune --target TARGET --out DIR",
		Short: "Search for better watermarks",
		Long: `tune measures the configured watermarks and then those that a tuner proposes,
until the budget is spent. It leaves the target with the best measured point. It
writes best.yaml, report.html with its figures, and log.jsonl to DIR. The same
command resumes from log.jsonl after an interruption, or with a larger budget.

Tuners (--tuner NAME:parameter=value,...): ` + strings.Join(bytetuning.Tuners(), ", ") + `.
The paper's schedule, 18341 measurements from a temperature of 100, is
--tuner anneal --budget 0.

A point whose Kmax reaches XOFF (the paper's case I), or that violates another
constraint of a switch, is never applied. --unchecked applies it on models and
simulations.

Switches (live:FLEET.yaml; "go doc github.com/goroce/goroce/bytetuning/live" has
an example) are changed only with --apply. They need --start FILE with their
current watermarks. Every point is on trial: a switch undoes it by itself unless
it is confirmed within the fleet's "confirm" time, so that the configuration
before the search comes back when this program or the network dies. At the end
the best point is measured again and confirmed if it is better than the start.
The configuration is first saved in DIR/saved; --rollback --apply restores it
and does nothing else.`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return p.tune(c.Context(), &t) },
	}
	f := c.Flags()
	f.StringVar(&t.target, "target", "", targetHelp)
	f.StringVar(&t.tuner, "tuner", "anneal:tem=0.1,again=false", "tuner, with parameters")
	f.StringVar(&t.start, "start", "",
		"configured watermarks: a baseline ("+strings.Join(bytetuning.Baselines(),
			", ")+") or a file of intents (default: the target's)")
	f.StringSliceVar(&t.compare, "compare", nil,
		"baselines to measure after the search, for the report")
	f.IntVar(&t.budget, "budget", 200, "number of measurements; 0 until the tuner is done")
	f.Uint64Var(&t.seed, "seed", 1, "seed of the tuner")
	f.Float64Var(&t.objective.Beta, "beta", t.objective.Beta,
		"weight of throughput against latency")
	f.BoolVar(&t.objective.Fair, "fair", false,
		"use equation 15: flows instead of switches, divided by their variance")
	f.Float64Var(&t.objective.Gamma, "gamma", t.objective.Gamma, "weight of the variance")
	f.StringVar(&t.out, "out", "", "directory for the results")
	f.BoolVar(&t.dryRun, "dry-run", false, "print the plan and apply nothing")
	f.StringVar(&t.space, "space", "", "file with the values to search (kmin, gap, pmax, "+
		"headroom, alpha; default: the target's grid)")
	f.StringVar(&t.telemetry, "telemetry", "",
		"telemetry of a fabric target ("+strings.Join(telemetry.Names(),
			", ")+"; default: the simulation's counters)")
	f.StringVar(&t.aggregate, "aggregate", "mean",
		"aggregation of queue samples: min, max, sum, p99, mean")
	f.BoolVar(&t.apply, "apply", false, "change the configuration of real switches")
	f.BoolVar(&t.rollback, "rollback", false,
		"restore the configuration of real switches saved in --out")
	f.BoolVar(&t.unchecked, "unchecked", false,
		"also apply points that violate a constraint of a switch")
	return c
}

func (p *program) tune(ctx context.Context, t *tuning) error {
	if t.target == "" || t.out == "" && !t.dryRun {
		return cli.Usage(fmt.Errorf("tune: want --target and --out"))
	}
	if t.budget < 0 {
		return cli.Usage(fmt.Errorf("budget %d: want 0 or more", t.budget))
	}
	spec, err := target(t)
	if err != nil {
		return cli.Usage(err)
	}
	network, isLive := spec.Target.(*live.Network)
	if err := t.checkLive(isLive); err != nil {
		return cli.Usage(err)
	}
	if isLive {
		defer network.Close()
		if t.rollback {
			return p.rollback(ctx, t, network)
		}
	}
	s, from, err := p.search(t, spec)
	if err != nil || t.dryRun {
		return err
	}
	defer s.Log.Close()
	view := p.progressView(t.budget)
	s.Each = view.observe
	out, err := s.Run(ctx)
	view.close()
	if out != nil {
		err = p.publish(ctx, t, spec, s, out, from, err)
	} else if err == nil {
		fmt.Fprintln(p.errs, "interrupted before the first measurement")
	}
	if isLive {
		err = errors.Join(err, p.finish(ctx, network, s.Objective, out, err))
	}
	return err
}

// checkLive validates the flags of real switches.
func (t *tuning) checkLive(isLive bool) error {
	switch {
	case isLive && !t.apply && !t.dryRun:
		return errors.New("real switches: want --apply to change them, or --dry-run to print the " +
			"plan")
	case isLive && t.unchecked:
		return errors.New("--unchecked: want a model or a simulation, not real switches")
	case t.rollback && !isLive:
		return errors.New("--rollback: want real switches")
	case isLive && !t.rollback && !strings.ContainsAny(t.start, "./"):
		return errors.New("real switches: want --start FILE with their watermarks")
	}
	return nil
}

// search returns the search that the flags describe, with the intents of its start. With --dry-run
// it prints the plan instead.
func (p *program) search(t *tuning, spec *targetSpec) (*bytetuning.Search, []*intent.Intent,
	error) {
	layers := spec.Layers()
	if t.start == "" {
		t.start = spec.baseline
	}
	point, from, err := start(t.start, layers, spec.path)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range t.compare {
		if _, _, err := start(name, layers, spec.path); err != nil {
			return nil, nil, cli.Usage(fmt.Errorf("--compare: %w", err))
		}
	}
	objective := t.objective
	tuner, err := bytetuning.New(t.tuner, bytetuning.Problem{Layers: layers, Start: point,
		Energy: objective.Energy, Seed: t.seed})
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	if err := objective.Validate(); err != nil {
		return nil, nil, cli.Usage(err)
	}
	if err := point.Check(layers); err != nil {
		fmt.Fprintf(p.errs, "configured watermarks: %v\n", err)
	}
	if t.dryRun {
		return nil, nil, p.printPlan(t, layers, point, tuner)
	}
	if err := os.MkdirAll(t.out, 0o755); err != nil {
		return nil, nil, err
	}
	log, err := bytetuning.OpenLog(filepath.Join(t.out, "log.jsonl"), bytetuning.Header{
		Target: t.logTarget(), Tuner: t.tuner, Seed: t.seed, Objective: t.objective, Start: point,
	})
	return &bytetuning.Search{Target: spec.Target, Tuner: tuner, Objective: &objective,
		Start: point, Budget: t.budget, Log: log, Unchecked: t.unchecked}, from, err
}

// publish prints the outcome of a search and writes its files, the report only if the search did
// not fail.
func (p *program) publish(ctx context.Context, t *tuning, spec *targetSpec, s *bytetuning.Search,
	out *bytetuning.Outcome, from []*intent.Intent, failed error) error {
	layers := spec.Layers()
	p.printOutcome(layers, out)
	if err := write(t, layers, out, from); err != nil || failed != nil {
		return errors.Join(failed, err)
	}
	compared, err := compare(ctx, t, spec.Target, layers, spec.path, s.Objective, out)
	if err != nil {
		return err
	}
	r := newReport(t, layers, s.Log.Evaluations, out, s.Objective, compared)
	r.Commands = configurations(intents(out.Best, layers, from))
	if r.Telemetry = overhead(t, spec.Target, out.BestMeasurement); r.Telemetry != "" {
		fmt.Fprintf(p.out, "telemetry  %s\n", r.Telemetry)
	}
	if err := r.write(t.out); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s\n%s\n", filepath.Join(t.out, "best.yaml"),
		filepath.Join(t.out, "report.html"))
	return nil
}

// logTarget returns the target field of the log's header: the target, its telemetry, and its search
// space.
func (t *tuning) logTarget() string {
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

// printPlan prints what tune would do.
func (p *program) printPlan(t *tuning, layers []bytetuning.Layer, startPoint bytetuning.Point,
	tuner bytetuning.Tuner) error {
	size := 1.
	for i, l := range layers {
		size *= float64(l.Space.Size())
		fmt.Fprintf(p.out, "%s: %d watermarks; now %v, XOFF %v\n", l.Name, l.Space.Size(),
			startPoint[i], kib(l.XOFF(startPoint[i])))
	}
	fmt.Fprintf(p.out, "%s: %.4g points, budget %d, tuner %s, seed %d\n", t.target, size, t.budget,
		t.tuner, t.seed)
	if next, more := tuner.Propose(); more {
		fmt.Fprintf(p.out, "first proposal: %v\n", next)
	}
	fmt.Fprintln(p.out, "nothing was applied")
	return nil
}

// printOutcome prints the outcome of a search.
func (p *program) printOutcome(layers []bytetuning.Layer, o *bytetuning.Outcome) {
	fmt.Fprintf(p.out, "%s after %d measurements, %d skipped\n", o.StopReason, o.Evaluations,
		o.Skipped)
	for _, x := range []struct {
		name   string
		point  bytetuning.Point
		energy float64
		m      *bytetuning.Measurement
	}{
		{"start", o.Start, o.StartEnergy, o.StartMeasurement},
		{"best", o.Best, o.BestEnergy, o.BestMeasurement},
	} {
		fmt.Fprintf(p.out, "%-10s f %.4f, %s: %v\n", x.name, x.energy, performance(x.m), x.point)
	}
	for _, c := range changes(layers, o.Start, o.Best) {
		fmt.Fprintf(p.out, "%-10s %s %s: %s to %s\n", "change", c.Layer, c.Name, c.Start, c.Best)
	}
	if g := gain(o); g != "" {
		fmt.Fprintf(p.out, "%-10s %s\n", "gain", g)
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
			"measurements\n", t.target, t.tuner, t.seed, o.StopReason, o.Evaluations)
		if err := os.WriteFile(filepath.Join(t.out, name), append([]byte(head), text...),
			0o644); err != nil {
			return err
		}
	}
	return nil
}

// compared is a baseline on the same target.
type compared struct {
	Name        string
	Point       bytetuning.Point
	Measurement *bytetuning.Measurement
	Reason      string // reason why it was not measured
}

// compare measures baselines and then applies the best point again.
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
			if c.Measurement, err = target.Measure(ctx); err == nil {
				o.Observe(c.Measurement)
			}
		}
		if err != nil {
			c.Reason = err.Error()
		}
		all = append(all, c)
	}
	return all, target.Apply(context.WithoutCancel(ctx), out.Best)
}

// progressView shows the progress of a search: a bar on a terminal, otherwise a line for each
// better point. It shows measurements, because a new record rescales all energies, so that the
// energy of the best point falls although its performance does not.
type progressView struct {
	p   *program
	bar *progressbar.ProgressBar
	at  bytetuning.Point
}

func (p *program) progressView(budget int) *progressView {
	w := &progressView{p: p}
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

func (w *progressView) observe(e bytetuning.Progress) {
	if w.bar != nil {
		if e.BestMeasurement != nil {
			w.bar.Describe("best " + performance(e.BestMeasurement))
		}
		w.bar.Add(1) //nolint:errcheck // a failure to draw the bar does not stop the search
	}
	switch {
	case e.Skipped != "" && !e.Replayed:
		fmt.Fprintf(w.p.errs, "[%d] skipped %v: %s\n", e.N, e.Point, e.Skipped)
	case w.bar == nil && e.BestMeasurement != nil && !w.at.Equal(e.Best):
		fmt.Fprintf(w.p.errs, "[%d] best: %s: %v\n", e.N, performance(e.BestMeasurement), e.Best)
	}
	w.at = e.Best
}

func (w *progressView) close() {
	if w.bar != nil {
		w.bar.Finish() //nolint:errcheck
	}
}
