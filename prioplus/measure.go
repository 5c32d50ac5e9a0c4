package prioplus

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// newBase returns the measurement of a path's base round trip. No queue of flows that use the table
// raises it.
func (o *options) newBase(path cc.Path) *cc.BaseRTT {
	return &cc.BaseRTT{Path: path, Window: riseWindow,
		Queue: units.Duration(o.n)*(o.a+o.b) + o.a/2 + o.b}
}

// riseWindow is how long a delay beyond all channels must last to count as a longer path. OURS.
const riseWindow = 100 * units.Millisecond

// measureBase takes a sample of the base round trip, and moves the channel with the base.
func (p *PrioPlus) measureBase(ev *cc.Event, now units.Time) {
	least, most, ok := ev.Fabric()
	payload := units.Bytes(0)
	switch {
	case !ok || ev.Kind != cc.RTT:
		return
	case !ev.Probe && ev.Bytes != units.Bytes(ev.Packets)*p.path.Payload:
		return // the length of the sampled packet is unknown
	case !ev.Probe:
		payload = p.path.Payload
	}
	if p.base.SampleBetween(least, most, payload, now); p.base.Base() > 0 &&
		p.base.Base() != p.path.BaseRTT {
		p.rebase(p.base.Base())
	}
}

// rebase moves the channel to another base round trip. W_LS keeps its ratio to the BDP.
func (p *PrioPlus) rebase(base units.Duration) {
	c := p.constants
	shift, ratio := base-c.path.BaseRTT, float64(base)/float64(c.path.BaseRTT)
	c.path.BaseRTT = base
	c.WLS *= cc.Packets(ratio)
	c.Target += shift
	if c.Limit != units.Forever {
		c.Limit += shift
	}
	p.steer()
	p.inner.SetCwnd(min(p.inner.Cwnd(), p.maxCwnd()))
}
