package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/goroce/goroce/bench/channels"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// settings are the flags of the command line.
type settings struct {
	Rate       units.BitRate
	Delay      units.Duration
	Step       units.Duration
	Prios      []int
	Priorities int // of the table
	Each       int // flows of a priority
	Flows      int // for A
	Inner      cc.Spec
	Options    string // of the table
	Message    units.Bytes
	Samples    int
	Alone      bool
	Core       int
	Realtime   bool
	Seed       uint64
	Out        string
	Patience   units.Duration // that messages arrive
	// Round is the time that each round takes on the testbed's clock; 0 means real time.
	Round units.Duration

	competes error // why the polling core is shared, although realtime was requested
}

// text makes a flag of a value that reads and prints itself.
type text[T any] struct {
	to    *T
	parse func(string) (T, error)
	name  string
}

func (t text[T]) Set(v string) (err error) {
	*t.to, err = t.parse(v)
	return err
}
func (t text[T]) String() string {
	if t.to == nil {
		return ""
	}
	return fmt.Sprint(*t.to)
}
func (t text[T]) Type() string { return t.name }

func defaults() *settings {
	swift, _ := cc.Parse("swift")
	return &settings{
		Rate: units.Gbps, Delay: 5 * units.Microsecond, Step: 2 * units.Second, Prios: []int{2, 3,
			4, 5}, Priorities: 8, Each: 2, Flows: 16,
		Inner: swift, Message: 16 * units.KiB, Samples: 5000, Alone: true, Core: -1, Realtime: true,
		Seed: 1, Out: ".", Patience: 20 * units.Second,
	}
}

func (s *settings) flags() *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SortFlags = false
	f.Usage = func() {}
	f.Var(text[units.BitRate]{&s.Rate, units.ParseBitRate, "rate"}, "rate",
		"of the link to the receiver, the bottleneck")
	f.Var(text[units.Duration]{&s.Delay, units.ParseDuration, "duration"}, "delay",
		"of each link, one way: there are four in a round trip")
	f.Var(text[units.Duration]{&s.Step, units.ParseDuration, "duration"}, "step",
		"between two starts, or two ends")
	f.IntSliceVar(&s.Prios, "prio", s.Prios, "`priorities`, the lowest first; the default is the "+
		"paper's figure, which counts from 1")
	f.IntVar(&s.Priorities, "priorities", s.Priorities,
		"`number` of priorities in the table of channels")
	f.IntVar(&s.Each, "each", s.Each, "`flows` of each priority, on one host")
	f.IntVar(&s.Flows, "flows", s.Flows, "`flows` for which A is wide enough; with the default A "+
		"is about four packets, as the paper's 3.2us are\non its 10Gb/s, and with the two that "+
		"there are it is less than half a packet")
	f.Var(text[cc.Spec]{&s.Inner, cc.Parse, "algorithm"}, "cc",
		"congestion control inside PrioPlus: swift, with parameters")
	f.StringVar(&s.Options, "options", "", "more `parameters` of the table of channels, such as "+
		"room=on,patience=20 (docs/prioplus.md)")
	f.Var(text[units.Bytes]{&s.Message, units.ParseBytes, "bytes"}, "size", "of a message")
	f.IntVar(&s.Samples, "samples", s.Samples,
		"`number` of delays of each kind to measure first, on the idle path")
	f.BoolVar(&s.Alone, "alone", s.Alone,
		"run it again with the algorithm alone, at the same targets (figure 8b)")
	f.IntVar(&s.Core, "core", s.Core, "`CPU` to pin the polling core to (default none)")
	f.BoolVar(&s.Realtime, "realtime", s.Realtime,
		"keep other programs off the polling core (SCHED_FIFO) if permitted")
	f.Uint64Var(&s.Seed, "seed", s.Seed, "`seed` of keys, PSNs and random numbers")
	f.StringVar(&s.Out, "out", s.Out, "`folder` for the figures")
	return f
}

func (s *settings) validate() error {
	var problems []error
	when := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	when(s.Rate < 10*units.Mbps || s.Rate > 100*units.Gbps, "--rate %v: want 10Mb/s to 100Gb/s",
		s.Rate)
	when(s.Delay < 0 || s.Delay > 100*units.Millisecond, "--delay %v: want 0s to 100ms", s.Delay)
	when(s.Step < 10*units.Millisecond || s.Step > units.Minute, "--step %v: want 10ms to 1m",
		s.Step)
	when(len(s.Prios) < 2 || !slices.IsSorted(s.Prios) ||
		len(slices.Compact(slices.Clone(s.Prios))) != len(s.Prios),
		"--prio %v: want two or more, each higher than the one before", s.Prios)
	when(s.Priorities < 1 || s.Priorities > 256, "--priorities %d: want 1 to 256", s.Priorities)
	when(len(s.Prios) > 0 && (s.Prios[0] < 0 || s.Prios[len(s.Prios)-1] >= s.Priorities),
		"--prio %v: want --priorities %d, 0 to %d", s.Prios, s.Priorities, s.Priorities-1)
	when(s.Each < 1 || s.Each > 64, "--each %d: want 1 to 64", s.Each)
	when(s.Message < 8 || s.Message > units.MiB, "--size %v: want 8B to 1MiB", s.Message)
	when(s.Samples < 10 || s.Samples > 1_000_000, "--samples %d: want 10 to 1000000", s.Samples)
	if err := s.wanted().Check(); len(problems) == 0 && err != nil {
		problems = append(problems, err)
	}
	info, err := os.Stat(s.Out)
	when(err != nil, "--out: %w", err)
	when(err == nil && !info.IsDir(), "--out %s: not a folder", s.Out)
	return errors.Join(problems...)
}

// wanted returns what the table of channels is for.
func (s *settings) wanted() channels.Wanted {
	return channels.Wanted{Priorities: s.Priorities, Flows: s.Flows, Inner: s.Inner,
		Options: s.Options}
}

// alone returns the algorithm with the W_AI that it has inside PrioPlus, so that there are always
// parameters.
func (s *settings) alone() string {
	const ai = "ai=0.15" // PrioPlus section 5 implies 150 B, in packets of 1000 B
	text := s.Inner.String()
	switch {
	case !strings.Contains(text, ":"):
		return text + ":" + ai
	case !strings.Contains(text, "ai="):
		return text + "," + ai
	}
	return text
}
