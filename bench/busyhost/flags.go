package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

var errHelp = errors.New("help asked for")

const (
	barRounds   = 7 // that the bars want
	quickRounds = 3
)

// settings are the command line.
type settings struct {
	only     *regexp.Regexp // nil: all cells
	rounds   int
	quick    bool
	cpus     []int // empty: the first two that this process may use
	deadline time.Duration
	bin      string // empty: the directory of this program
	json     string // empty: none
	verbose  bool
	list     bool
}

// flags binds the flags to settings that have their defaults.
func flags(s *settings, only *string, help *bool) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SortFlags = false
	f.Usage = func() {}
	f.StringVar(only, "only", "", "measure only the cells whose names match this `regexp`")
	f.IntVar(&s.rounds, "rounds", barRounds,
		"`number` of runs of each trial; the bars are for 7 and more")
	f.BoolVar(&s.quick, "quick", false,
		"3 rounds, unless --rounds says otherwise, and shorter deadlines")
	f.IntSliceVar(&s.cpus, "cpus", nil,
		"the two `CPUs` to measure on (default the first two that this process may use)")
	f.DurationVar(&s.deadline, "deadline", 20*time.Second,
		"`time` in which a run must end; three times as long with half a CPU")
	f.StringVar(&s.bin, "bin", "",
		"`directory` of the programs under test (default that of this program)")
	f.BoolVarP(&s.verbose, "verbose", "v", false, "print every run")
	f.StringVar(&s.json, "json", "", "write all runs and verdicts to this `file`")
	f.BoolVar(&s.list, "list", false, "print the cells and their bars, measure nothing")
	f.BoolVarP(help, "help", "h", false, "print this")
	return f
}

// parse reads a command line.
func parse(args []string) (*settings, error) {
	var only string
	var help bool
	s := &settings{}
	f := flags(s, &only, &help)
	if err := f.Parse(args); err != nil {
		return nil, fmt.Errorf("%w; see --help", err)
	}
	if help {
		return nil, errHelp
	}
	if s.quick {
		if !f.Changed("rounds") {
			s.rounds = quickRounds
		}
		if !f.Changed("deadline") {
			s.deadline = 8 * time.Second
		}
	}
	var err error
	if f.Changed("only") {
		if s.only, err = regexp.Compile(only); err != nil {
			return nil, fmt.Errorf("--only: %w", err)
		}
	}
	return s, s.validate(f)
}

func (s *settings) validate(f *pflag.FlagSet) error {
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; see --help", f.Arg(0))
	case s.rounds < 1:
		return fmt.Errorf("--rounds %d: want at least 1", s.rounds)
	case s.deadline < time.Second:
		return fmt.Errorf("--deadline %v: want at least 1s", s.deadline)
	case f.Changed("json") && s.json == "":
		return errors.New("--json: want the name of a file")
	case f.Changed("cpus") && (len(s.cpus) != 2 || s.cpus[0] == s.cpus[1] || min(s.cpus[0],
		s.cpus[1]) < 0):
		return fmt.Errorf("--cpus %s: want two different CPUs", f.Lookup("cpus").Value)
	}
	return nil
}

// usage is what --help prints.
func usage() string {
	var only string
	var help bool
	f := flags(&settings{}, &only, &help)
	var b strings.Builder
	fmt.Fprintf(&b, `busyhost measures congestion control and polling on a machine that other programs load as well,
and judges the figures: one row for each cell, with its figure, its bar and a verdict.

  busyhost                      all cells; 0 only if every bar holds
  busyhost --only '^busy/' -v   some of them, and every run
  busyhost --quick              a look with 3 rounds

%s
The exit code is 0 if every selected bar holds, 1 if one fails or could not be measured, 2 for a
command line that makes no sense, 130 after an interrupt. Measure on a machine without other load:
the header says what it was.
`, f.FlagUsages())
	return b.String()
}
