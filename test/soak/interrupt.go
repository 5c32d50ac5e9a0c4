package main

import (
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// halt is what a program ends in the middle of its traffic.
type halt uint8

const (
	haltNothing halt = iota
	haltQueuePair
	haltForGood // the queue pair, which is destroyed: nothing completes any more
	haltTarget  // the region that the peer writes and reads
)

// drawInterruptions draws moments at which a program stops something, for a while or for good.
func (x *side) drawInterruptions(d dice) {
	p := x.session.plan
	if !p.kind.oddities || x.session.service == transport.UD {
		return
	}
	moment := func() units.Time { return between(d, 1, 2*p.last+units.Time(50*units.Microsecond)) }
	if d.chance(0.15) {
		x.drainAt = moment()
	}
	if d.chance(0.12) {
		x.haltAt, x.halts = moment(), oneOf(d, haltQueuePair, haltForGood, haltTarget)
		if x.shared && x.halts == haltForGood { // a shared receive that it held would be lost
			x.halts = haltQueuePair
		}
	}
}

// halt ends something.
func (x *side) halt() {
	if x.over() {
		return
	}
	switch n := x.node; x.halts {
	case haltQueuePair:
		x.aborted = true
		x.qp.ToError()
		x.watch()
		x.wake()
	case haltForGood:
		n.reap()
		x.gone = true
		x.qp.Destroy()
		x.inbox.abandon()
		delete(n.sides, x.qp.Num)
		x.session.check()
	case haltTarget:
		x.withdrawn = true
		x.target.mr.Deregister()
	}
}

// drain stops the send queue for a while.
func (x *side) drain() {
	if x.over() || x.qp.State() != transport.ReadyToSend {
		return
	}
	x.draining = true
	if err := x.qp.ToSQD(); err != nil {
		x.violated(nil, "%v", err)
	}
	x.awaitDrained(x.session.world.net.Now())
}

// awaitDrained looks for the event until it is there: it may come as the last request leaves, and
// no notification does. The longer it has waited since then, the less often it looks.
func (x *side) awaitDrained(since units.Time) {
	if !x.draining || x.over() {
		return
	}
	x.wake()
	net := x.session.world.net
	pause := max(20*units.Microsecond, net.Now().Sub(since)/16)
	net.At(net.Now().Add(pause), func() { x.awaitDrained(since) })
}

// drained goes on, a little later.
func (x *side) drained() {
	if !x.draining {
		x.violated(nil, "the send queue drained, but nobody asked for it")
	}
	net := x.session.world.net
	net.At(net.Now().Add(between(x.session.world.dice, 0, 20*units.Microsecond)), func() {
		x.draining = false
		if !x.over() && x.qp.State() == transport.SQDrained {
			if err := x.qp.ToRTS(transport.RTSAttr{}); err != nil {
				x.violated(nil, "%v", err)
			}
			x.wake()
		}
		x.session.check()
	})
}
