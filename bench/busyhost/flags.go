package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/goroce/goroce/internal/cli"
)

const (
	barRounds   = 7 // minimum for the bars
	quickRounds = 3
)

// settings are the parsed command line.
type settings struct {
	only     *regexp.Regexp // nil: all cells
	rounds   int
	quick    bool
	cpus     []int // empty: the first two available
	deadline time.Duration
	bin      string // empty: the directory of this program
	json     string // empty: none
	verbose  bool
	list     bool
}

// words are flags that are converted to settings of other types.
type words struct {
	only string
}

// table declares the flags, bound to settings, and sets the defaults.
func (s *settings) table(w *words) *cli.Table {
	s.rounds, s.deadline = barRounds, 20*time.Second
	return &cli.Table{Groups: []cli.Group{{Flags: []cli.Flag{
		{Name: "only", Value: &w.only,
			Check: func(name string) error { return s.parseOnly(name, w.only) },
			Help:  "measure only the cells whose names match this `regexp`"},
		{Name: "rounds", Value: &s.rounds, Bounds: cli.AtLeast(1),
			Help: "`number` of runs of each trial; the bars require at least 7"},
		{Name: "quick", Value: &s.quick, Help: "default to 3 rounds and shorter deadlines"},
		{Name: "cpus", Value: &s.cpus, Check: s.checkCPUs,
			Help: "the two `CPUs` to measure on (default the first two that this process may use)"},
		{Name: "deadline", Value: &s.deadline, Check: s.checkDeadline,
			Help: "`time` in which a run must end; three times as long with half a CPU"},
		{Name: "bin", Value: &s.bin, Check: s.checkBin,
			Help: "`directory` of the programs under test (default that of this program)"},
		{Name: "verbose", Short: "v", Value: &s.verbose, Help: "print every run"},
		{Name: "json", Value: &s.json, Check: s.checkJSON,
			Help: "write all runs and verdicts to this `file`"},
		{Name: "list", Value: &s.list, Help: "print the cells and their bars, measure nothing"},
	}}}}
}

// parse parses a command line.
func parse(args []string) (*settings, error) {
	s, w := &settings{}, &words{}
	flags := s.table(w)
	f := flags.FlagSet(name)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	_, err := s.settle(f, flags)
	return s, err
}

// settle completes and validates the settings after their flags have been parsed, and returns the
// cells to measure.
func (s *settings) settle(f *pflag.FlagSet, flags *cli.Table) ([]cell, error) {
	if s.quick {
		if !f.Changed("rounds") {
			s.rounds = quickRounds
		}
		if !f.Changed("deadline") {
			s.deadline = 8 * time.Second
		}
	}
	if f.Changed("json") && s.json == "" {
		return nil, errors.New("--json: want the name of a file")
	}
	if err := flags.Validate(); err != nil {
		return nil, err
	}
	return choose(table(), s.only)
}

func (s *settings) parseOnly(name, text string) (err error) {
	if text == "" {
		return nil
	}
	if s.only, err = regexp.Compile(text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (s *settings) checkDeadline(name string) error {
	if s.deadline < time.Second {
		return fmt.Errorf("%s %v: want at least 1s", name, s.deadline)
	}
	return nil
}

func (s *settings) checkCPUs(name string) error {
	if s.cpus == nil {
		return nil
	}
	given := strings.Trim(strings.ReplaceAll(fmt.Sprint(s.cpus), " ", ","), "[]")
	if len(s.cpus) != 2 || s.cpus[0] == s.cpus[1] {
		return fmt.Errorf("%s %s: want two different CPUs", name, given)
	}
	allowed, err := allowedCPUs()
	if err != nil {
		return err
	}
	for _, cpu := range s.cpus {
		if !slices.Contains(allowed, cpu) {
			return fmt.Errorf("%s %s: want two of the CPUs %v", name, given, allowed)
		}
	}
	return nil
}

func (s *settings) checkBin(name string) error {
	if s.bin == "" {
		return nil
	}
	if info, err := os.Stat(s.bin); err != nil || !info.IsDir() {
		return fmt.Errorf("%s %s: want the directory of roce_write_bw and the other programs",
			name, s.bin)
	}
	return nil
}

func (s *settings) checkJSON(name string) error {
	if s.json == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Dir(s.json)); err != nil {
		return fmt.Errorf("%s %s: %w", name, s.json, err)
	}
	return nil
}

const synopsis = `busyhost measures congestion control and polling on a machine that other programs
load as well, and compares the figures with bars: one row for each cell, with figure, bar and
verdict.

  busyhost                      all cells
  busyhost --only '^busy/' -v   some cells, and print every run
  busyhost --quick              a preview with 3 rounds

The exit code is 0 if every selected bar holds, 1 if one fails or could not be measured, 2 for an
invalid command line, 130 after an interrupt. Measure on a machine without other load: the header
has its load.
`
