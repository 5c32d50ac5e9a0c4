package nicoffload

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Caution is what controls a flow whose agent is silent, when nobody named something better. It
// keeps the decision that the flow has, halves it at most once in a round trip when the path says
// that it is too much, and lets it come back to what it was by a packet a round trip, or a
// sixteenth of the rate. A flow that was stopped, and whom nobody could ever let go again, sends
// one packet at a time.
//
// It is ours: TAURUS says no more than that the hardware keeps the previous decision (section 3.5).
type Caution struct {
	most   cc.Decision // the decision it began with
	now    cc.Decision
	packet units.Bytes // the largest one acknowledged
	cut    uint32      // SndNxt at the last cut: those before say nothing new
	shut   bool
	round  uint32 // SndNxt at the last step up
}

// NewCaution makes one from the decision that a flow has.
func NewCaution(last cc.Decision) *Caution {
	last.ProbeAt, last.WakeAt, last.Tags = 0, 0, 0
	if last.Hold || last.Window <= 0 {
		last.Hold, last.Window = false, 1
	}
	return &Caution{most: last, now: last}
}

// Events implements cc.Algorithm.
func (*Caution) Events() cc.EventSet {
	return cc.Events(cc.ACK, cc.ECN, cc.RTT, cc.OOO, cc.RTO, cc.CNP)
}

// Start implements cc.Starter.
func (c *Caution) Start(units.Time) cc.Decision { return c.now }

// On implements cc.Algorithm.
func (c *Caution) On(ev *cc.Event, _ units.Time) cc.Decision {
	switch {
	case ev.Probe:
	case ev.Kind == cc.OOO, ev.Kind == cc.RTO, ev.Kind == cc.CNP, ev.Marked > 0:
		if c.shut && after(c.cut, ev.PSN) { // of what had left before the last cut
			break
		}
		c.cut, c.round, c.shut = ev.SndNxt, ev.SndNxt, true
		c.now.Window = max(1, c.now.Window/2)
		if c.now.Rate > 0 {
			c.now.Rate = max(DefaultMinRate, c.now.Rate/2)
		}
	case ev.Packets > 0:
		c.packet = max(c.packet, ev.Bytes/units.Bytes(ev.Packets))
		if after(c.round, ev.PSN) {
			break // in this round trip already
		}
		c.round = ev.SndNxt
		c.now.Window = min(c.most.Window, c.now.Window+c.packet)
		if c.now.Rate > 0 {
			c.now.Rate = min(c.most.Rate, c.now.Rate+c.most.Rate/16)
		}
	}
	return c.now
}
