package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	r := runner{out: os.Stdout, progress: os.Stderr}
	flags.IntVar(&r.seeds, "seeds", 100, "number of seeds to run")
	flags.Uint64Var(&r.first, "first", 1, "first seed")
	flags.IntVar(&r.workers, "j", runtime.GOMAXPROCS(0), "number of seeds to run concurrently")
	flags.BoolVar(&r.verbose, "v", false, "print the plan and the result of each seed")
	name := flags.String("mode", "all",
		"restricts the seeds' plans, one or more of: "+strings.Join(modeNames(), ", "))
	flags.Usage = func() {
		fmt.Fprint(flags.Output(),
			`soak runs simulations, each drawn from a seed, and checks that the transport keeps its
guarantees in them. It exits with 0 if all seeds pass; its last line is "N passed, M failed".

A mode is a kind of simulation (clean to chaos), a loss recovery scheme (gobackn, selective), or an
addition to every kind: token admission (tocc), credit admission (carc), hosts that nap and are
preempted (hosts), or hosts that forge, replay, alter and flood packets toward other hosts' queue
pairs (hostile). Modes combine: -mode lossy,selective,hostile. See docs/soak.md.

`)
		flags.PrintDefaults()
	}
	if err := flags.Parse(os.Args[1:]); err != nil {
		if err == flag.ErrHelp {
			return
		}
		os.Exit(exitUsage)
	}
	m, err := modeNamed(*name)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("soak: unexpected arguments %q, want flags only", flags.Args())
	}
	if err == nil && r.seeds < 1 {
		err = fmt.Errorf("soak: -seeds %d: want at least 1", r.seeds)
	}
	if err == nil && r.workers < 1 {
		err = fmt.Errorf("soak: -j %d: want at least 1", r.workers)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
	r.mode = m
	if r.run() > 0 {
		os.Exit(exitFailed)
	}
}
