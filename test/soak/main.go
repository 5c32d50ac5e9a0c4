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
	flags.IntVar(&r.seeds, "seeds", 100, "how many seeds to run")
	flags.Uint64Var(&r.first, "first", 1, "the first of them")
	flags.IntVar(&r.workers, "j", runtime.GOMAXPROCS(0), "how many to run at a time")
	flags.BoolVar(&r.verbose, "v", false, "tell what each seed means and what came of it")
	name := flags.String("mode", "all", "what to draw from: "+strings.Join(modeNames(), ", "))
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), `soak runs simulated worlds, each drawn from a seed, and checks that the transport keeps its promises
in them. It exits with 0 when all do; its last line is "N passed, M failed".

A mode is a kind of world (clean to chaos), a way of recovery (gobackn, selective), or what comes to every world: tokens
(tocc), credits (carc), hosts that nap and are preempted (hosts), or hosts that forge, replay, alter and flood packets
toward queue pairs of others (hostile). Several go together: -mode lossy,selective,hostile. See docs/soak.md.

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
		err = fmt.Errorf("soak: unexpected %q", flags.Args())
	}
	if err == nil && (r.seeds < 1 || r.workers < 1) {
		err = fmt.Errorf("soak: %d seeds by %d workers", r.seeds, r.workers)
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
