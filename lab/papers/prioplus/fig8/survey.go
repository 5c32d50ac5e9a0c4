package main

import (
	"fmt"

	"github.com/goroce/goroce/bench/channels"
	"github.com/goroce/goroce/units"
)

// survey measures the idle path of a test bed, as roce_channels does, and makes the table of
// channels.
func (s *settings) survey() (*channels.Survey, error) {
	g, err := newTestbed(s, 1)
	if err != nil {
		return nil, err
	}
	defer g.close()
	gauge := &channels.Gauge{Samples: s.Samples}
	// the base RTT is not known yet
	f, err := g.connect(g.nodes[0], gauge, units.Microsecond, int(pathMTU), 256)
	if err != nil {
		return nil, err
	}
	f.active = true
	// A sample takes a round trip of a probe and of a packet, and the time of ten packets in the
	// stream.
	takes := units.Duration(s.Samples)*(12*s.Rate.Duration(pathMTU)+8*s.Delay) + s.Patience
	deadline := g.now().Add(takes)
	err = g.run(func(now units.Time) (bool, error) {
		if now.After(deadline) {
			return true, fmt.Errorf("--samples %d: not complete within %v", s.Samples, takes)
		}
		return gauge.Done(), f.fill()
	})
	if err != nil {
		return nil, err
	}
	return gauge.Survey(s.wanted())
}
