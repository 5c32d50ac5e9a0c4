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
	runRole()
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	s := runner{out: os.Stdout}
	flags.IntVar(&s.rounds, "rounds", 0, "rounds of each campaign; 0: the campaign's default")
	flags.BoolVar(&s.full, "full", false,
		"as many rounds as a release requires; takes over half an hour")
	flags.DurationVar(&s.stallLimit, "patience", 5*time.Minute,
		"time without progress after which a campaign fails")
	list := flags.Bool("list", false, "list the campaigns")
	pattern := flags.String("run", "", "run only the campaigns whose names match this regexp")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), "chaos runs campaigns, each of which repeats an operation "+
			"that must\nsucceed every time. It prints a line for each campaign, and exits with "+
			"0 if\nall pass.\n\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(os.Args[1:]); err != nil {
		if err == flag.ErrHelp {
			return
		}
		os.Exit(exitUsage)
	}
	selected, err := matching(*pattern)
	switch {
	case err != nil:
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected arguments %q, want flags only", flags.Args())
	case s.rounds < 0:
		err = fmt.Errorf("-rounds %d: want at least 1, or 0 for the default", s.rounds)
	case s.stallLimit <= 0:
		err = fmt.Errorf("-patience %v: want more than 0", s.stallLimit)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(exitUsage)
	}
	failed := 0
	for _, c := range selected {
		switch {
		case *list:
			fmt.Printf("%-16s %s; %d rounds, %d with -full\n", c.name, c.about, c.rounds, c.full)
		case !s.runCampaign(c):
			failed++
		}
	}
	if failed > 0 {
		os.Exit(exitFailed)
	}
}

// matching returns the campaigns whose names match a regexp. It is an error if there are none.
func matching(pattern string) ([]campaign, error) {
	names, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("-run: %w", err)
	}
	var selected []campaign
	for _, c := range campaigns {
		if names.MatchString(c.name) {
			selected = append(selected, c)
		}
	}
	if len(selected) == 0 {
		return nil, fmt.Errorf("-run %s matches no campaign; -list prints the names", pattern)
	}
	return selected, nil
}
