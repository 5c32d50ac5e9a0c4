package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/runner"
)

// runFlags are the flags of lab run.
type runFlags struct {
	scale   experiment.Scale
	seed    uint64
	dir     string
	workers int
	budget  time.Duration
	shard   string
	trace   tracer
}

func (l *lab) runCommand() *cobra.Command {
	f := runFlags{scale: experiment.Small, trace: tracer{sample: 1}}
	c := &cobra.Command{
		Use:   "run PATTERN...",
		Short: "Run experiments and judge their claims",
		Long: `run does every job (a cell of an experiment with a seed) of the experiments whose ids
match a pattern, and keeps each job's record in DIR/<experiment>/jobs. It skips jobs that the same
program has done before with the same set-up. When all jobs of an experiment are done, it writes
DIR/<experiment>/claims.json, data.csv and the figures. A claim that fails is a result: it does not
change the exit code. lab check compares results with the committed verdicts.

Once the budget is spent, no job begins and running jobs are finished; the same command does the
rest another time. An interrupt also stops the running jobs.

A shard does a part of the jobs: --shard 0/4 to 3/4 are the parts of four machines. Without --shard,
the environment of a SLURM job array (--array=0-3) or of a Kubernetes Job (completionMode: Indexed)
sets it. Kubernetes gives a pod its index but not the number of pods, so the Job must set
JOB_COMPLETIONS. lab report merges the shards' directories; shards may also share one.

A pattern is an id with * and ? ('tocc/fig2*'); a pattern without a slash is a paper (tocc).`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, patterns []string) error {
			return l.runAll(c.Context(), patterns, f)
		},
	}
	c.Flags().Var((*scaleFlag)(&f.scale), "scale", "scale of the experiments: full or small")
	c.Flags().Uint64Var(&f.seed, "seed", 1,
		"first seed; most experiments use 3 at full scale and 1 at small")
	c.Flags().StringVar(&f.dir, "out", filepath.Join(".cache", "lab"), "directory of results")
	c.Flags().IntVarP(&f.workers, "jobs", "j", 0, "concurrent jobs (0: one for each core)")
	c.Flags().DurationVar(&f.budget, "budget", 0,
		"time after which no job begins, such as 150m (0: no limit)")
	c.Flags().StringVar(&f.shard, "shard", "",
		"part of the jobs, as index/count with the index from 0")
	c.Flags().StringVar(&f.trace.dir, "trace", "",
		"write the events of each job's simulations to this `directory`, for bin/roce_trace")
	c.Flags().Var(&f.trace.sample, "trace-sample",
		"`share` of packets with events in --trace; rare events are always there")
	return c
}

// runAll runs the experiments that match.
func (l *lab) runAll(ctx context.Context, patterns []string, f runFlags) error {
	plans, missing, err := l.plan(patterns, f)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		fmt.Fprintf(l.errs, "lab: without code: %s\n", strings.Join(missing, ", "))
	}
	if len(plans) == 0 {
		return errors.New("nothing to run")
	}
	shard, err := f.shardOf(l.getenv)
	if err != nil {
		return cli.Usage(err)
	}
	code, err := runner.ThisCode()
	if err != nil {
		return err
	}
	budget := context.Background()
	if f.budget > 0 {
		var stop context.CancelFunc
		budget, stop = context.WithTimeout(budget, f.budget)
		defer stop()
	}
	show := newProgress(l.errs, isTerminal(l.errs), plans, shard)
	o := runner.Options{Dir: f.dir, Code: code, Shard: shard, Workers: f.workers,
		Drain: budget.Done(), Watch: show.event}
	if f.trace.dir != "" {
		o.Begin = f.trace.begin
	}
	sum, err := runner.Run(ctx, plans, o)
	show.close()
	if err != nil {
		return err
	}
	return errors.Join(l.finish(f.dir, plans, &code), outcome(sum), f.trace.nothing(&sum, f.dir))
}

// plan returns the plans of the experiments that match, and the ids of those without code.
func (l *lab) plan(patterns []string, f runFlags) (plans []*runner.Plan, missing []string,
	err error) {
	matched, err := l.Catalogue.Match(patterns...)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	for _, e := range matched {
		x := l.code(e)
		if x == nil {
			missing = append(missing, e.ID)
			continue
		}
		p, err := runner.NewPlan(x, f.scale, f.seed)
		if err != nil {
			return nil, nil, err
		}
		plans = append(plans, p)
	}
	return plans, missing, nil
}

func (f *runFlags) shardOf(getenv func(string) string) (runner.Shard, error) {
	if f.shard != "" {
		return runner.ParseShard(f.shard)
	}
	return runner.ShardOf(getenv)
}

// finish judges complete experiments and prints a line about each experiment.
func (l *lab) finish(dir string, plans []*runner.Plan, code *runner.Code) error {
	var all error
	for _, p := range plans {
		e := l.Catalogue.Find(p.Experiment.ID)
		state, err := runner.Finish(dir, p, e, code)
		all = errors.Join(all, err)
		for _, f := range state.Failed {
			fmt.Fprintf(l.errs, "lab: %s: %s\n", f.Task, f.Err)
		}
		switch {
		case err != nil:
			fmt.Fprintf(l.out, "%s: not judged\n", e.ID)
		case !state.Complete():
			fmt.Fprintf(l.out, "%s: jobs done %d of %d\n", e.ID, state.Done, state.Total)
		default:
			all = errors.Join(all, l.verdicts(dir, e))
		}
	}
	return all
}

// verdicts prints the verdicts of an experiment, and those that differ from the committed ones.
func (l *lab) verdicts(dir string, e *claims.Experiment) error {
	file := filepath.Join(runner.Path(dir, e.ID), "claims.json")
	r, err := claims.ReadResult(file)
	if err != nil {
		return err
	}
	count := map[claims.Outcome]int{}
	for i := range r.Claims {
		count[r.Claims[i].Outcome()]++
	}
	fmt.Fprintf(l.out, "%s: claims passed %d, failed %d, not judged %d: %s\n",
		e.ID, count[claims.Holds], count[claims.Fails], count[claims.NotJudged], file)
	for _, v := range r.Claims {
		if v.Outcome() == claims.Fails {
			fmt.Fprintf(l.out, "  %s fails: %s\n", v.ID, explain(e, r.Scale, &v))
		}
	}
	for _, difference := range claims.Compare(e, r) {
		fmt.Fprintf(l.out, "  NOT AS COMMITTED: %s\n", difference)
	}
	return nil
}

// explain returns why a claim fails, with the note of its experiment.
func explain(e *claims.Experiment, s claims.Scale, v *claims.Verdict) string {
	text := "got " + v.Value.String()
	if c := e.Claim(path.Base(v.ID)); c != nil {
		text = fmt.Sprintf("expected %v, got %v", c.At(s), v.Value)
	}
	if v.Note != "" {
		text += ": " + v.Note
	}
	return text
}

// outcome returns an error if a job failed or is left.
func outcome(sum runner.Summary) error {
	var all error
	if sum.Failed > 0 {
		all = fmt.Errorf("failed jobs: %d", sum.Failed)
	}
	if sum.Left > 0 {
		ours := sum.Total - sum.Others
		all = errors.Join(all, fmt.Errorf("jobs left: %d of %d; the same command goes on", sum.Left,
			ours))
	}
	return all
}
