package main

import (
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// haltKind is what a program ends in the middle of its traffic.
type haltKind uint8

const (
	haltNone haltKind = iota
	haltToError
	haltDestroy    // destroys the queue pair: nothing completes afterwards
	haltDeregister // deregisters the region that the peer accesses
)

// drawInterruptions draws times at which a program stops something, for a while or for good.
func (end *peerEnd) drawInterruptions(r rng) {
	p := end.session.plan
	if !p.kind.verbErrors || end.session.service == transport.UD {
		return
	}
	moment := func() units.Time { return uniform(r, 1, 2*p.last+units.Time(50*units.Microsecond)) }
	if r.chance(0.15) {
		end.drainAt = moment()
	}
	if r.chance(0.12) {
		end.haltAt, end.haltKind = moment(), pick(r, haltToError, haltDestroy, haltDeregister)
		// a receive that it holds of a shared queue would be lost
		if end.shared && end.haltKind == haltDestroy {
			end.haltKind = haltToError
		}
	}
}

// halt performs the program's interruption.
func (end *peerEnd) halt() {
	if end.isOver() {
		return
	}
	switch n := end.node; end.haltKind {
	case haltToError:
		end.aborted = true
		_ = end.qp.Modify(transport.Errored, transport.QPAttr{})
		end.watch()
		end.wake()
	case haltDestroy:
		n.reap()
		end.destroyed = true
		end.qp.Destroy()
		end.recv.fillIdle()
		delete(n.ends, end.qp.Num)
		end.session.endIfFinished()
	case haltDeregister:
		end.withdrawn = true
		end.target.mr.Deregister()
	}
}

// drain drains the send queue for a while.
func (end *peerEnd) drain() {
	if end.isOver() || end.qp.State() != transport.ReadyToSend {
		return
	}
	end.draining = true
	if err := end.qp.Modify(transport.SQDrained, transport.QPAttr{}); err != nil {
		end.failf(nil, "%v", err)
	}
	end.awaitDrained(end.session.sim.net.Now())
}

// awaitDrained wakes the host until the event arrives: it may be raised when the last request
// completes without a notification. The interval grows with the time since the drain began.
func (end *peerEnd) awaitDrained(since units.Time) {
	if !end.draining || end.isOver() {
		return
	}
	end.wake()
	net := end.session.sim.net
	pause := max(20*units.Microsecond, net.Now().Sub(since)/16)
	net.At(net.Now().Add(pause), func() { end.awaitDrained(since) })
}

// drained returns the queue pair to RTS after a delay.
func (end *peerEnd) drained() {
	if !end.draining {
		end.failf(nil, "the send queue drained without a request")
	}
	net := end.session.sim.net
	net.At(net.Now().Add(uniform(end.session.sim.rng, 0, 20*units.Microsecond)), func() {
		end.draining = false
		if !end.isOver() && end.qp.State() == transport.SQDrained {
			if err := end.qp.Modify(transport.ReadyToSend, transport.QPAttr{}); err != nil {
				end.failf(nil, "%v", err)
			}
			end.wake()
		}
		end.session.endIfFinished()
	})
}
