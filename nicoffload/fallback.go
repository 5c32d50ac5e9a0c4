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
type Caution struct {
	most   cc.Decision // the initial decision, an upper bound
	now    cc.Decision
	packet units.Bytes // largest size of an acknowledged packet
	cut    uint32      // SndNxt at the last decrease; signals of earlier packets are ignored
	shut   bool        // cut is valid
	round  uint32      // SndNxt at the last increase
}

// NewCaution returns the algorithm for a flow with the decision last.
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
		if c.shut && after(c.cut, ev.PSN) { // sent before the last decrease
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
			break // increased in this round trip already
		}
		c.round = ev.SndNxt
		c.now.Window = min(c.most.Window, c.now.Window+c.packet)
		if c.now.Rate > 0 {
			c.now.Rate = min(c.most.Rate, c.now.Rate+c.most.Rate/16)
		}
	}
	return c.now
}
