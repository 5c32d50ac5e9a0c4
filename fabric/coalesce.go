package fabric

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// Coalesce has a NIC hand over what arrives in batches, as one that spares its host interrupts
// does. The zero value hands over each frame at once.
type Coalesce struct {
	// Every is how long after the first frame of a batch it is handed over at the latest; 0: at
	// once.
	Every units.Duration
	// Frames is how many frames make a batch complete before; 0: no number does.
	Frames int
}

func (c Coalesce) validate() error {
	if c.Every < 0 || c.Frames < 0 || c.Frames > 0 && c.Every == 0 {
		return fmt.Errorf("coalesced interrupts %+v: nothing is negative, and Frames needs Every",
			c)
	}
	return nil
}

// batch is what is not handed over yet: count frames from first on, which is at the end of arrived.
type batch struct {
	first *frame
	count int
	at    units.Time // when they will be
}

// coalesce puts a frame that the host could have at ready into a batch, and returns when the host
// gets it.
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
