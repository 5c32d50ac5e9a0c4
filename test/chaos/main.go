package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"
)

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	play()
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	s := session{out: os.Stdout}
	flags.IntVar(&s.rounds, "rounds", 0, "rounds of each campaign; 0: what each has by default")
	flags.BoolVar(&s.full, "full", false,
		"as many rounds as a release needs, which takes over half an hour")
	flags.DurationVar(&s.patience, "patience", 5*time.Minute,
		"how long a campaign may be without progress")
	list := flags.Bool("list", false, "list the campaigns")
	pattern := flags.String("run", "", "a regexp of the names of campaigns to run")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), `chaos runs campaigns: things that must hold however often they are done. It prints a line for each,
and exits with 0 when all hold.

`)
		flags.PrintDefaults()
	}
	if err := flags.Parse(os.Args[1:]); err != nil {
		if err == flag.ErrHelp {
			return
		}
		os.Exit(exitUsage)
	}
	names, err := regexp.Compile(*pattern)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("chaos: unexpected %q", flags.Args())
	}
	if err == nil && s.rounds < 0 {
		err = fmt.Errorf("chaos: %d rounds: want at least 1, or 0 for the default", s.rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
	failed := 0
	for _, c := range campaigns {
		switch {
		case !names.MatchString(c.name):
		case *list:
			fmt.Printf("%-16s %s; %d rounds, %d with -full\n", c.name, c.about, c.rounds, c.full)
		case !s.one(c):
			failed++
		}
	}
	if failed > 0 {
		os.Exit(exitFailed)
	}
}
