package cc

import "github.com/goroce/goroce/units"

// Fixed has a window and a rate that never change. It is the baseline of comparisons, and suits
// ports with backpressure.
type Fixed struct {
	Window units.Bytes
	Rate   units.BitRate // 0: as fast as the port goes
}

func (f *Fixed) declare(s *schema) {
	s.param(&f.Window, "window", "1MiB", "(0, inf)", "OURS", "what may be unacknowledged")
	s.param(&f.Rate, "rate", "0", "[0, inf)", "OURS",
		"largest rate; 0 is as fast as the port goes")
}

func (f *Fixed) build(Path) Algorithm { return f }

// Events implements Algorithm.
func (*Fixed) Events() EventSet { return 0 }

// Start implements Starter.
func (f *Fixed) Start(units.Time) Decision { return Decision{Window: f.Window, Rate: f.Rate} }

// On implements Algorithm.
func (f *Fixed) On(*Event, units.Time) Decision { return f.Start(0) }

// Snapshot implements Observable.
func (f *Fixed) Snapshot() Snapshot { return Snapshot{Window: f.Window, Rate: f.Rate} }
