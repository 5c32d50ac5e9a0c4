package nicoffload

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// FallbackAIMD is the default algorithm for flows whose agent is silent. It starts from the
// decision that the flow has, halves it at most once per round trip on congestion, and increases it
// up to the initial value by one packet, or a sixteenth of the rate, per round trip. A stopped
// flow, which no agent could resume, gets a window of one packet.
//
// The algorithm is ours: TAURUS only specifies that the hardware keeps the previous decision
// (section 3.5).
type FallbackAIMD struct {
	initial      cc.Decision // the initial decision, an upper bound
	decision     cc.Decision
	packet       units.Bytes // largest size of an acknowledged packet
	decreasedAt  uint32      // SndNxt at the last decrease; signals of earlier packets are ignored
	hasDecreased bool        // decreasedAt is valid
	increasedAt  uint32      // SndNxt at the last increase
}

// NewFallbackAIMD returns the algorithm for a flow with the decision last.
func NewFallbackAIMD(last cc.Decision) *FallbackAIMD {
	last.ProbeAt, last.WakeAt, last.Tags = 0, 0, 0
	if last.Hold || last.Window <= 0 {
		last.Hold, last.Window = false, 1
	}
	return &FallbackAIMD{initial: last, decision: last}
}

// Events implements cc.Algorithm.
func (*FallbackAIMD) Events() cc.EventSet {
	return cc.Events(cc.ACK, cc.ECN, cc.RTT, cc.OOO, cc.RTO, cc.CNP)
}

// Start implements cc.Starter.
func (c *FallbackAIMD) Start(units.Time) cc.Decision { return c.decision }

// On implements cc.Algorithm.
func (c *FallbackAIMD) On(ev *cc.Event, _ units.Time) cc.Decision {
	switch {
	case ev.Probe:
	case ev.Kind == cc.OOO, ev.Kind == cc.RTO, ev.Kind == cc.CNP, ev.Marked > 0:
		if c.hasDecreased && psnAfter(c.decreasedAt, ev.PSN) { // sent before the last decrease
			break
		}
		c.decreasedAt, c.increasedAt, c.hasDecreased = ev.SndNxt, ev.SndNxt, true
		c.decision.Window = max(1, c.decision.Window/2)
		if c.decision.Rate > 0 {
			c.decision.Rate = max(DefaultMinRate, c.decision.Rate/2)
		}
	case ev.Packets > 0:
		c.packet = max(c.packet, ev.Bytes/units.Bytes(ev.Packets))
		if psnAfter(c.increasedAt, ev.PSN) {
			break // increased in this round trip already
		}
		c.increasedAt = ev.SndNxt
		c.decision.Window = min(c.initial.Window, c.decision.Window+c.packet)
		if c.decision.Rate > 0 {
			c.decision.Rate = min(c.initial.Rate, c.decision.Rate+c.initial.Rate/16)
		}
	}
	return c.decision
}
