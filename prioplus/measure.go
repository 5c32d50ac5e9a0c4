package prioplus

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// newBase measures the base round trip of a path: no queue that flows of the table keep raises it.
func (o *options) newBase(path cc.Path) *cc.BaseRTT {
	return &cc.BaseRTT{Path: path, Window: rise, Queue: units.Duration(o.n)*(o.a+o.b) + o.a/2 + o.b}
}

// rise is how long a delay beyond all channels must last to count as a longer path. OURS.
const rise = 100 * units.Millisecond

// measure takes a sample of the base round trip, and moves the channel with it.
func (p *PrioPlus) measure(ev *cc.Event, now units.Time) {
	least, most, ok := ev.Fabric()
	payload := units.Bytes(0)
	switch {
	case !ok || ev.Kind != cc.RTT:
		return
	case !ev.Probe && ev.Bytes != units.Bytes(ev.Packets)*p.path.Payload:
		return // how long the packet was that the sample is of nobody knows
	case !ev.Probe:
		payload = p.path.Payload
	}
	if p.base.SampleBetween(least, most, payload, now); p.base.Base() > 0 &&
		p.base.Base() != p.path.BaseRTT {
		p.rebase(p.base.Base())
	}
}

// rebase moves the channel to another base round trip. W_LS stays the part of the BDP that it was.
func (p *PrioPlus) rebase(base units.Duration) {
	c := p.constants
	shift, ratio := base-c.path.BaseRTT, float64(base)/float64(c.path.BaseRTT)
	c.path.BaseRTT = base
	c.WLS *= cc.Packets(ratio)
	c.Target += shift
	if c.Limit != units.Forever {
		c.Limit += shift
	}
	p.inner.Steer(c.Target, least, p.most())
	p.inner.SetCwnd(min(p.inner.Cwnd(), p.most()))
}
