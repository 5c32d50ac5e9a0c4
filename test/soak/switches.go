package main

import (
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// longestFrame is the buffer space of the longest frame, with VLAN tag and check sequence.
func longestFrame(mtu units.Bytes) units.Bytes { return mtu + 18 + 4 }

// trimmedDSCP is the DSCP of trimmed packets.
const trimmedDSCP = 57

// buffers is how much buffer space switches have.
type buffers int

const (
	endless  buffers = iota
	lossless         // PFC, with minimal headroom
	lossy            // too small for the traffic
)

func (b buffers) String() string { return [...]string{"endless", "lossless", "lossy"}[b] }

// drawSwitch draws the configuration of all switches. With strict priority a session may wait until
// all traffic of a higher class has ended: plan.maxRTT allows for that.
func (p *plan) drawSwitch(r rng) {
	p.buffers = endless
	switch {
	case p.kind.lossless || !p.kind.overload && r.chance(0.25):
		p.buffers = lossless
	case p.kind.overload && r.chance(0.8):
		p.buffers = lossy
	}
	c := &p.parts.Switch
	if r.chance(0.5) {
		c.Delay = logUniform(r, 10*units.Nanosecond, units.Microsecond)
	}
	c.INT = r.chance(0.1)
	template, at := p.drawQueues(r), ""
	switch p.buffers {
	case lossless:
		at = p.makeLossless(r, &template)
	case lossy:
		at = p.makeLossy(r, &template)
	default:
		c.Queues = template.At()
	}
	p.switches = fmt.Sprintf("%v%s, delay %v, INT %v, queue 0 %+v", p.buffers, at, c.Delay, c.INT,
		template[0])
}

// drawQueues draws scheduling and ECN thresholds.
func (p *plan) drawQueues(r rng) (qs fabric.Queues) {
	ecn := fabric.ECN{}
	if r.chance(0.6) {
		ecn.Kmin = logUniform(r, units.Bytes(1000), 200000)
		ecn.Kmax = ecn.Kmin + logUniform(r, units.Bytes(1), 400000)
		ecn.Pmax, ecn.AtDequeue = r.Float64(), r.chance(0.3)
	}
	robin := r.chance(0.5)
	for i := range qs[:fabric.Priorities] {
		qs[i].ECN = ecn
		if robin && (i < 6 || r.chance(0.5)) { // the others keep strict priority above these
			qs[i].Level, qs[i].Weight = 1, uniform(r, 1, 8)
		}
	}
	return qs
}

// makeLossless gives every queue exactly the headroom it needs, and little shared space.
func (p *plan) makeLossless(r rng, qs *fabric.Queues) string {
	host, c := &p.parts.Host, &p.parts.Switch
	far := p.topology.longest + c.Delay + host.TxDelay + host.PCIe.Latency
	headroom := func(rate units.BitRate) units.Bytes {
		longest := longestFrame(p.parts.MTU)
		return fabric.Headroom(rate, far, far, longest, p.parts.PauseResponse) + longest
	}
	one := fabric.Queue{Lossless: true, Reserve: uniform(r, units.Bytes(0), 8*units.KiB),
		Resume: uniform(r, units.Bytes(0), 8*units.KiB)}
	if r.chance(0.5) {
		one.Alpha = logUniform(r, 1.0/16, 8)
	}
	if r.chance(0.5) {
		one.Limit = logUniform(r, units.Bytes(1000), 400000)
	}
	for i := range qs[:fabric.Priorities] {
		qs[i].Lossless, qs[i].Reserve, qs[i].Resume, qs[i].Alpha, qs[i].Limit = true, one.Reserve,
			one.Resume, one.Alpha, one.Limit
	}
	kept := units.Bytes(p.topology.degree*fabric.Priorities) *
		(one.Reserve + headroom(p.topology.fastest))
	c.Buffer = kept + logUniform(r, units.Bytes(10000), 2_000_000)
	template := *qs
	c.Queues = func(rate units.BitRate) fabric.Queues {
		qs := template
		for i := range qs[:fabric.Priorities] {
			qs[i].Headroom = headroom(rate)
		}
		return qs
	}
	return fmt.Sprintf(" %v", c.Buffer)
}

// makeLossy draws buffers that overflow.
func (p *plan) makeLossy(r rng, qs *fabric.Queues) string {
	c := &p.parts.Switch
	c.Buffer = logUniform(r, 3*longestFrame(p.parts.MTU), 1_000_000)
	alpha, limit := 0.0, units.Bytes(0)
	if r.chance(0.6) {
		alpha = logUniform(r, 1.0/8, 8)
	}
	if r.chance(0.3) {
		limit = logUniform(r, 2*longestFrame(p.parts.MTU), c.Buffer)
	}
	// A peer that reports losses keeps its sender retrying, even if the queue takes no frame at
	// all.
	if p.mode.tokens && alpha > 0 {
		c.Buffer = max(c.Buffer, units.Bytes(2*float64(longestFrame(p.parts.MTU))/alpha))
	}
	selective, trim := units.Bytes(0), units.Bytes(0)
	switch r.IntN(6) {
	case 0:
		selective = logUniform(r, longestFrame(p.parts.MTU), c.Buffer)
	case 1:
		trim, p.trims = logUniform(r, longestFrame(p.parts.MTU), c.Buffer), true
	}
	for i := range qs[:fabric.Priorities] {
		qs[i].Alpha, qs[i].Limit, qs[i].SelectiveDrop = alpha, limit, selective
		if i < fabric.Priorities-1 {
			qs[i].Trim, qs[i].TrimTo, qs[i].TrimDSCP, qs[i].TrimNewest = trim, fabric.Priorities-1,
				trimmedDSCP, p.seed&1 != 0
		}
	}
	c.Queues = qs.At()
	return fmt.Sprintf(" %v", c.Buffer)
}
