package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/transport"
)

// end lets everything settle, closes all endpoints, lets the network run empty, and looks for what
// is left.
func (w *world) end() {
	w.settle()
	for _, n := range w.nodes {
		if n.endpoint == nil {
			continue
		}
		n.reap()
		n.audit()
		if n.cache != nil && n.cache.Sensor() != nil &&
			(n.cache.Sensor().Unconsumed() != 0 || len(n.sharers) > 0) {
			n.violated("%d bytes of the cache are not consumed, %d sessions have a part in it, "+
				"and all are over", int64(n.cache.Sensor().Unconsumed()), len(n.sharers))
		}
		if n.endpoint.Busy() {
			n.violated("the endpoint is busy, and nothing is left to do")
		}
		n.host.Stop()
		n.endpoint.Close()
	}
	w.settle()
	for _, n := range w.nodes {
		if held := n.host.NIC().Held(); held != 0 {
			n.violated("%d buffers of the NIC are missing", held)
		}
		for _, word := range n.used {
			word.settle()
		}
		for _, a := range n.arenas {
			if at, yes := a.disturbed(); yes {
				n.violated("memory %s was written at %d: %#02x", a.name, at, a.mem[apron+at])
			}
		}
	}
	w.auditNetwork()
}

// settle lets what is on its way arrive.
func (w *world) settle() { w.advance(w.net.Now().Add(2 * w.plan.transit())) }

// audit looks at the counters of a node's endpoint.
func (n *node) audit() {
	c := n.endpoint.Counters()
	n.notNegative("endpoint", c)
	n.withinBudget()
	if c.CQOverruns+c.AsyncLost+c.NoBuffers > 0 {
		n.violated("something overran: %+v", c)
	}
	n.zero(c, "CreditsForged")
	p := n.world.plan
	if !p.corrupts() {
		n.zero(c, "DropTruncated", "DropIPHeader", "DropUDPLength", "DropBTH", "DropOpcode",
			"DropLength", "DropExtension", "DropICRC")
	}
	if !p.quiet() {
		return
	}
	if !p.mode.credits { // what a session leaves is given to others, who are told, and may be over
		n.zero(c, "DropUnknownQP", "DropState", "DropPeer", "DropPKey", "DropUnnegotiated",
			"DropTag")
	}
	n.zero(c, "DropNotOurs", "DropDestination", "DropWrongService", "DropQKey", "DropGhostAck",
		"DropBadSyndrome", "DropGhostResponse", "DropBadResponse", "DropSACK",
		"RetriesExceeded", "NakInvalid", "NakAccess", "NakOperational", "NoNeighbor",
		"RemoteErrors")
	if !n.world.shortOfBuffers() {
		n.zero(c, "Timeouts")
	}
	if c.RNRNaks == 0 {
		n.zero(c, "Retransmitted", "SequenceNaks", "ResponseGaps", "DropStaleResponse")
	}
	if c.UnreliableNoRecv == 0 {
		n.zero(c, "UCLost", "UnreliableErrors")
	}
	if c.RNRSent == 0 {
		n.zero(c, "OutOfSequence", "NakSequence", "DuplicateRequests", "DropDuplicate")
	}
}

// shortOfBuffers reports whether a host dropped packets that it had held behind a gap, because
// others needed the buffers: what is lost for that, and then once more, is found out by a timeout.
func (w *world) shortOfBuffers() bool {
	for _, n := range w.nodes {
		if n.endpoint != nil && n.endpoint.Counters().HeldDropped > 0 {
			return true
		}
	}
	return false
}

// zero checks counters that nothing may have counted.
func (n *node) zero(c transport.Counters, names ...string) {
	v := reflect.ValueOf(c)
	for _, name := range names {
		if count := v.FieldByName(name).Uint(); count != 0 {
			n.violated("counter %s is %d in a world without such trouble", name, count)
		}
	}
}

func (n *node) notNegative(what string, counters any) {
	if names := negative(reflect.ValueOf(counters)); len(names) > 0 {
		n.violated("%s: negative: %s: %+v", what, strings.Join(names, ", "), counters)
	}
}

// negative names the fields of a structure of counters that went below nothing.
func negative(v reflect.Value) (names []string) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case f.CanUint() && int64(f.Uint()) < 0, f.CanInt() && f.Int() < 0:
			names = append(names, v.Type().Field(i).Name)
		}
	}
	return names
}

// auditNetwork looks for what is left in the switches, and at all counters.
func (w *world) auditNetwork() {
	bad := func(where fmt.Stringer, counters any) {
		if names := negative(reflect.ValueOf(counters)); len(names) > 0 {
			w.violated("%v: negative: %s: %+v", where, strings.Join(names, ", "), counters)
		}
	}
	for _, s := range w.net.Switches() {
		bad(s, s.Stats())
		if stored := s.Stored(); stored != 0 {
			w.violated("%v still holds %d bytes", s, int64(stored))
		}
		w.auditPorts(s, s.Ports(), bad)
	}
	for _, h := range w.net.Hosts() {
		stats := h.NIC().Stats()
		bad(h, stats)
		if w.plan.quiet() && stats.NoRoom+stats.NoBuffer+stats.Unaddressed > 0 {
			w.violated("%v dropped in a world without such trouble: %+v", h, stats)
		}
		w.auditPorts(h, h.NIC().Ports(), bad)
	}
}

func (w *world) auditPorts(where fmt.Stringer, ports []*fabric.Port, bad func(fmt.Stringer, any)) {
	for i, p := range ports {
		bad(where, p.Stats())
		bad(where, p.FaultStats())
		for q := range fabric.Priorities {
			stats := p.QueueStats(q)
			bad(where, stats)
			if left := p.QueueLen(q); left != 0 {
				w.violated("%v port %d queue %d still holds %d bytes", where, i, q, int64(left))
			}
			if stats.Dropped > 0 && w.plan.buffers != lossy && !w.plan.faults.disorderly() {
				w.violated("%v port %d queue %d dropped %d frames, with %v buffers", where, i, q,
					stats.Dropped, w.plan.buffers)
			}
		}
	}
}
