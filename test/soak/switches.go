package main

import (
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// longestFrame is what a switch stores of the longest frame: VLAN tag and check sequence included.
func longestFrame(mtu units.Bytes) units.Bytes { return mtu + 18 + 4 }

// trimmedDSCP is what trimmed packets have.
const trimmedDSCP = 57

// buffers is how much room switches have.
type buffers int

const (
	endless  buffers = iota
	lossless         // PFC, tight
	lossy            // too small
)

func (b buffers) String() string { return [...]string{"endless", "lossless", "lossy"}[b] }

// drawSwitch draws what all switches are like. In strict priority a session may have to wait for
// all of a higher class to end: plan.slack allows for that.
func (p *plan) drawSwitch(d dice) {
	p.buffers = endless
	switch {
	case p.kind.lossless || !p.kind.overload && d.chance(0.25):
		p.buffers = lossless
	case p.kind.overload && d.chance(0.8):
		p.buffers = lossy
	}
	c := &p.parts.Switch
	if d.chance(0.5) {
		c.Delay = scale(d, 10*units.Nanosecond, units.Microsecond)
	}
	c.INT = d.chance(0.1)
	template, at := p.drawQueues(d), ""
	switch p.buffers {
	case lossless:
		at = p.makeLossless(d, &template)
	case lossy:
		at = p.makeLossy(d, &template)
	default:
		c.Queues = template.At()
	}
	p.switches = fmt.Sprintf("%v%s, delay %v, INT %v, queue 0 %+v", p.buffers, at, c.Delay, c.INT,
		template[0])
}

// drawQueues draws order and marks.
func (p *plan) drawQueues(d dice) (qs fabric.Queues) {
	ecn := fabric.ECN{}
	if d.chance(0.6) {
		ecn.Kmin = scale(d, units.Bytes(1000), 200000)
		ecn.Kmax = ecn.Kmin + scale(d, units.Bytes(1), 400000)
		ecn.Pmax, ecn.AtDequeue = d.Float64(), d.chance(0.3)
	}
	robin := d.chance(0.5)
	for i := range qs[:fabric.Priorities] {
		qs[i].ECN = ecn
		if robin && (i < 6 || d.chance(0.5)) { // the others stay above, in strict priority
			qs[i].Level, qs[i].Weight = 1, between(d, 1, 8)
		}
	}
	return qs
}

// makeLossless gives every queue exactly the headroom it needs, and little else.
func (p *plan) makeLossless(d dice, qs *fabric.Queues) string {
	host, c := &p.parts.Host, &p.parts.Switch
	far := p.topology.longest + c.Delay + host.TxDelay + host.PCIe.Latency
	headroom := func(rate units.BitRate) units.Bytes {
		return fabric.Headroom(rate, far, far, longestFrame(p.parts.MTU), p.parts.PauseResponse)
	}
	one := fabric.Queue{Lossless: true, Reserve: between(d, units.Bytes(0), 8*units.KiB),
		Resume: between(d, units.Bytes(0), 8*units.KiB)}
	if d.chance(0.5) {
		one.Alpha = scale(d, 1.0/16, 8)
	}
	if d.chance(0.5) {
		one.Limit = scale(d, units.Bytes(1000), 400000)
	}
	for i := range qs[:fabric.Priorities] {
		qs[i].Lossless, qs[i].Reserve, qs[i].Resume, qs[i].Alpha, qs[i].Limit = true, one.Reserve,
			one.Resume, one.Alpha, one.Limit
	}
	kept := units.Bytes(p.topology.degree*fabric.Priorities) *
		(one.Reserve + headroom(p.topology.fastest))
	c.Buffer = kept + scale(d, units.Bytes(10000), 2_000_000)
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

// makeLossy makes buffers that overflow.
func (p *plan) makeLossy(d dice, qs *fabric.Queues) string {
	c := &p.parts.Switch
	c.Buffer = scale(d, 3*longestFrame(p.parts.MTU), 1_000_000)
	alpha, limit := 0.0, units.Bytes(0)
	if d.chance(0.6) {
		alpha = scale(d, 1.0/8, 8)
	}
	if d.chance(0.3) {
		limit = scale(d, 2*longestFrame(p.parts.MTU), c.Buffer)
	}
	// a peer that lists what is missing keeps its sender trying, also where no frame ever passes
	if p.mode.tokens && alpha > 0 {
		c.Buffer = max(c.Buffer, units.Bytes(2*float64(longestFrame(p.parts.MTU))/alpha))
	}
	selective, trim := units.Bytes(0), units.Bytes(0)
	switch d.IntN(6) {
	case 0:
		selective = scale(d, longestFrame(p.parts.MTU), c.Buffer)
	case 1:
		trim, p.trims = scale(d, longestFrame(p.parts.MTU), c.Buffer), true
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
