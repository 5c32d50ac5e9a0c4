package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/transport"
)

// finish waits for packets in flight, closes all endpoints, lets the network drain, and checks for
// leftovers.
func (sim *simulation) finish() {
	sim.settle()
	sim.awaitManagers()
	for _, n := range sim.nodes {
		if n.endpoint == nil {
			continue
		}
		n.reap()
		if n.manager != nil && n.manager.Len() != 0 {
			n.failf("its communication manager holds %d connections after all have timed out",
				n.manager.Len())
		}
		n.audit()
		if n.cache != nil && n.cache.Sensor() != nil &&
			(n.cache.Sensor().Unconsumed() != 0 || len(n.cacheSharers) > 0) {
			n.failf("%d bytes of the cache are not consumed and %d sessions share it "+
				"after all sessions closed", int64(n.cache.Sensor().Unconsumed()),
				len(n.cacheSharers))
		}
		if n.endpoint.Loop().IsBusy() {
			n.failf("the endpoint is busy after all sessions closed")
		}
		n.host.Stop()
		n.endpoint.Close()
	}
	sim.settle()
	for _, n := range sim.nodes {
		if held := n.host.NIC().Held(); held != 0 {
			n.failf("%d buffers of the NIC were not freed", held)
		}
		for _, word := range n.usedWords {
			word.checkFinal()
		}
		for _, a := range n.arenas {
			if at, yes := a.firstWritten(); yes {
				n.failf("memory %s was written at %d: %#02x", a.name, at, a.mem[guard+at])
			}
		}
	}
	sim.auditNetwork()
}

// settle runs the network until packets in flight have arrived.
func (sim *simulation) settle() { sim.advance(sim.net.Now().Add(2 * sim.plan.transit())) }

// audit checks the counters of a node's endpoint.
func (n *node) audit() {
	c := n.endpoint.Stats()
	n.checkNotNegative("endpoint", c)
	n.checkHoldings()
	if c.CQOverruns+c.AsyncLost+c.NoBuffers > 0 {
		n.failf("overrun: %+v", c)
	}
	n.checkZero(c, "CreditsForged")
	p := n.sim.plan
	if !p.mayCorrupt() {
		n.checkZero(c, "DropTruncated", "DropIPHeader", "DropUDPLength", "DropBTH", "DropOpcode",
			"DropLength", "DropExtension", "DropICRC")
	}
	if !p.isFaultFree() {
		return
	}
	// Credits of a closed session are redistributed in CREDITs to sessions that may have closed,
	// too.
	if !p.mode.credits {
		n.checkZero(c, "DropUnknownQP", "DropState", "DropPeer", "DropPKey", "DropUnnegotiated",
			"DropTag")
	}
	n.checkZero(c, "DropNotOurs", "DropDestination", "DropWrongService", "DropQKey", "DropGhostAck",
		"DropBadSyndrome", "DropGhostResponse", "DropBadResponse", "DropSACK",
		"RetriesExceeded", "NakInvalid", "NakAccess", "NakOperational", "NoNeighbor",
		"RemoteErrors")
	if !n.sim.droppedHeldPackets() {
		n.checkZero(c, "Timeouts")
	}
	if c.RNRNaks == 0 {
		n.checkZero(c, "SequenceNaks", "ResponseGaps", "DropStaleResponse")
		if !p.mode.tokens || !n.peerLackedReceives() {
			n.checkZero(c, "Retransmitted")
		}
	}
	if c.UnreliableNoRecv == 0 {
		n.checkZero(c, "UCLost", "UnreliableErrors")
	}
	if c.RNRSent == 0 {
		n.checkZero(c, "OutOfSequence", "NakSequence", "DuplicateRequests", "DropDuplicate")
	}
}

// peerLackedReceives reports whether a host that shares a session with n lacked a receive. With
// tokens, its loss report of what it dropped behind that packet may arrive before its RNR NAK,
// which waits behind READ responses, and is void once a receive is posted.
func (n *node) peerLackedReceives() bool {
	for _, s := range n.sim.plan.sessions {
		for _, end := range s.ends {
			if end.host != n.index {
				continue
			}
			peer := n.sim.nodes[end.peer.host].endpoint
			if peer != nil && peer.Stats().RNRSent > 0 {
				return true
			}
		}
	}
	return false
}

// droppedHeldPackets reports whether a host dropped packets held behind a gap because other flows
// needed the buffers. If such a packet is lost a second time, only a timeout detects it.
func (sim *simulation) droppedHeldPackets() bool {
	for _, n := range sim.nodes {
		if n.endpoint != nil && n.endpoint.Stats().HeldDropped > 0 {
			return true
		}
	}
	return false
}

// checkZero checks that the named counters are zero.
func (n *node) checkZero(c transport.Stats, names ...string) {
	v := reflect.ValueOf(c)
	for _, name := range names {
		if count := v.FieldByName(name).Uint(); count != 0 {
			n.failf("counter %s is %d, want 0 without such faults", name, count)
		}
	}
}

func (n *node) checkNotNegative(what string, counters any) {
	if names := negative(reflect.ValueOf(counters)); len(names) > 0 {
		n.failf("%s: negative: %s: %+v", what, strings.Join(names, ", "), counters)
	}
}

// negative returns the names of the counters that went below zero.
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

// auditNetwork checks that switches and queues are empty, and all counters of the network.
func (sim *simulation) auditNetwork() {
	bad := func(where fmt.Stringer, counters any) {
		if names := negative(reflect.ValueOf(counters)); len(names) > 0 {
			sim.failf("%v: negative: %s: %+v", where, strings.Join(names, ", "), counters)
		}
	}
	for _, s := range sim.net.Switches() {
		bad(s, s.Stats())
		if stored := s.Stored(); stored != 0 {
			sim.failf("%v still holds %d bytes", s, int64(stored))
		}
		sim.auditPorts(s, s.Ports(), bad)
	}
	for _, h := range sim.net.Hosts() {
		stats := h.NIC().Stats()
		bad(h, stats)
		if sim.plan.isFaultFree() && stats.NoRoom+stats.NoBuffer+stats.Unaddressed > 0 {
			sim.failf("%v dropped frames in a fault-free simulation: %+v", h, stats)
		}
		sim.auditPorts(h, h.NIC().Ports(), bad)
	}
}

func (sim *simulation) auditPorts(where fmt.Stringer, ports []*fabric.Port, bad func(fmt.Stringer,
	any)) {
	for i, p := range ports {
		bad(where, p.Stats())
		bad(where, p.FaultStats())
		for q := range fabric.Priorities {
			stats := p.QueueStats(q)
			bad(where, stats)
			if left := p.QueueLen(q); left != 0 {
				sim.failf("%v port %d queue %d still holds %d bytes", where, i, q, int64(left))
			}
			if stats.Dropped > 0 && sim.plan.buffers != lossy && !sim.plan.faults.mayReorder() {
				sim.failf("%v port %d queue %d dropped %d frames, with %v buffers", where, i, q,
					stats.Dropped, sim.plan.buffers)
			}
		}
	}
}
