package fabric

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// Coalesce configures interrupt coalescing: the NIC delivers arrived frames in batches. The zero
// value delivers each frame at once.
type Coalesce struct {
	// Every is the longest time from the first frame of a batch to its delivery; 0 delivers at
	// once.
	Every units.Duration
	// Frames is the number of frames that complete a batch early; 0 means no limit.
	Frames int
}

func (c Coalesce) validate() error {
	if c.Every < 0 || c.Frames < 0 || c.Frames > 0 && c.Every == 0 {
		return fmt.Errorf("coalescing %+v: want no negative value, and Every set if Frames is",
			c)
	}
	return nil
}

// batch is the frames not delivered yet: count frames from first to the end of arrived.
type batch struct {
	first *frame
	count int
	at    units.Time // when they are delivered
}

// coalesce adds a frame that is ready at a time to a batch, and returns when it is delivered.
func (c *NIC) coalesce(f *frame, ready units.Time) units.Time {
	b, config := &c.batch, &c.host.config.Coalesce
	if b.first == nil || !ready.Before(b.at) {
		*b = batch{first: f, at: ready.Add(config.Every)}
	}
	if b.count++; b.count != config.Frames {
		return b.at
	}
	late := b.at.Sub(ready)
	for g := b.first; g != f && g != nil; g = g.next {
		g.at, g.wait = ready, g.wait+late
	}
	b.first = nil
	return ready
}
