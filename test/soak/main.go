package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/internal/cli"
)

const long = `soak runs simulations, each drawn from a seed, and checks that the transport keeps its
guarantees in them. It exits with 0 if all seeds pass; its last line is "N passed, M failed".

A mode is a kind of simulation (clean to chaos), a loss recovery scheme (gobackn, selective), or an
addition to every kind: token admission (tocc), credit admission (carc), hosts that nap and are
preempted (hosts), or hosts that forge, replay, alter and flood packets toward other hosts' queue
pairs (hostile). Modes combine: --mode lossy,selective,hostile. See docs/soak.md.`

func main() { os.Exit(run(cli.Interruptible(), os.Args[1:])) }

func run(ctx context.Context, args []string) int {
	r := runner{out: os.Stdout, progress: os.Stderr}
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.IntVar(&r.seeds, "seeds", 100, "`number` of seeds to run")
	flags.Uint64Var(&r.first, "first", 1, "first `seed`")
	flags.IntVar(&r.workers, "j", runtime.GOMAXPROCS(0), "`number` of seeds to run concurrently")
	flags.BoolVar(&r.verbose, "v", false, "print the plan and the result of each seed")
	quiet := flags.Bool("quiet", false, "do not report progress")
	name := flags.String("mode", "all",
		"restricts the seeds' plans, one or more `modes` of: "+strings.Join(modeNames(), ", "))
	c := &cobra.Command{Use: "soak [flags]", Short: "Simulate random networks, traffic and faults",
		Long: long, Args: cli.NoArgs}
	c.Flags().AddGoFlagSet(flags)
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if r.mode, err = modeNamed(*name); err == nil && r.seeds < 1 {
			err = fmt.Errorf("--seeds %d: want at least 1", r.seeds)
		}
		if err == nil && r.workers < 1 {
			err = fmt.Errorf("-j %d: want at least 1", r.workers)
		}
		if err != nil {
			return cli.Usage(err)
		}
		if *quiet {
			r.progress = nil
		}
		if r.run(c.Context()) > 0 {
			return cli.ErrReported
		}
		return context.Cause(ctx)
	}
	return cli.Run(ctx, c, os.Stdout, os.Stderr, cli.SingleDash(c, args)...)
}
