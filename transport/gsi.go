package transport

import (
	"fmt"

	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// gsi is queue pair 1, the general services interface (InfiniBand spec 13.5.1), as far as the
// communication manager uses it: received datagrams go to the machine, and the machine's datagrams
// leave before the queue pairs' packets.
type gsi struct {
	machine *rdmacm.Machine
	psn     wire.PSN
	pending []pendingMAD // the oldest first
}

// pendingMAD is a datagram whose next hop's MAC address is not known yet.
type pendingMAD struct {
	rdmacm.Datagram
	hop   *neigh.Entry
	until units.Time // when the datagram is dropped
}

// attachManager makes the endpoint the owner of queue pair 1.
func (e *Endpoint) attachManager(m *rdmacm.Machine) error {
	if m == nil || e.gsi != nil {
		return fmt.Errorf("transport: manage: want one machine, and not nil: %w",
			ErrInvalid)
	}
	e.gsi = &gsi{machine: m}
	return nil
}

// receiveManagement handles a packet to queue pair 1.
func (e *Endpoint) receiveManagement(p *wire.Packet) {
	c := &e.counters
	if p.Op != wire.UDSendOnly {
		c.DropWrongService++
		return
	}
	switch h := p.DETH(); {
	case !samePartition(p.PKey, wire.DefaultPKey):
		c.DropPKey++
	case h.QKey.Get() != rdmacm.QKey:
		c.DropQKey++
	case !e.neighbors.Owns(p.DstIP()):
		c.DropDestination++
	case wire.QPN(h.SrcQP.Get()) != rdmacm.QPN || len(p.Payload()) != rdmacm.MADLen ||
		p.Ethernet().Src[0]&groupBit != 0:
		c.DropManagement++
	default:
		c.ManagementReceived++
		e.gsi.machine.ReceiveVia(p.Ethernet().Src, p.DstIP(), p.SrcIP(), p.Payload(), e.now)
	}
}

// groupBit is set in the first byte of a group's Ethernet address, which is never a sender's (IEEE
// 802-2014 8.2.2).
const groupBit = 1

// firstRequest handles the first request of a connection: its peer considers it established.
func (qp *QueuePair) firstRequest() {
	e := qp.ep
	qp.commEstablished = true
	if qp.state == ReadyToReceive {
		e.async(AsyncEvent{Kind: AsyncCommEst, QP: qp})
	}
	if e.gsi != nil {
		e.gsi.machine.NotifyEstablished(qp.Num, e.now)
	}
}

// emitManagement sends the communication manager's datagrams.
func (e *Endpoint) emitManagement(now units.Time) {
	g := e.gsi
	pending := g.pending[:0]
	for _, p := range g.pending {
		mac, known := p.hop.MAC()
		switch {
		case known && e.sendManagement(&p.Datagram, mac):
			e.neighbors.Release(p.hop)
		case !known && !now.Before(p.until):
			e.counters.ManagementUnsent++
			e.neighbors.Release(p.hop)
		default:
			pending = append(pending, p)
		}
	}
	clear(g.pending[len(pending):])
	g.pending = pending
	for g.machine.Pending() && e.frame(packet.ClassControl) != nil {
		d, _ := g.machine.Emit()
		if mac, ok := e.replyMAC(&d); ok {
			e.sendManagement(&d, mac)
		} else if !e.resolveNextHop(&d, now) {
			e.counters.ManagementUnsent++
		}
	}
}

// replyMAC returns the MAC address for a datagram that needs no address resolution: its next hop is
// known, or it responds to a datagram that came from there. The source of a datagram can be forged,
// so an answer must not create a neighbour.
func (e *Endpoint) replyMAC(d *rdmacm.Datagram) (mac [6]byte, ok bool) {
	if mac, ok = e.neighbors.Known(d.Peer); !ok {
		mac, ok = d.Via, d.Via != [6]byte{}
	}
	return mac, ok
}

// resolveNextHop makes a datagram wait for the MAC address of its next hop. It returns false if
// there is no route, or too many wait.
func (e *Endpoint) resolveNextHop(d *rdmacm.Datagram, now units.Time) bool {
	g := e.gsi
	if len(g.pending) == maxPendingMADs {
		return false
	}
	hop, err := e.neighbors.Hold(d.Peer, now)
	if err != nil {
		return false
	}
	g.pending = append(g.pending, pendingMAD{*d, hop, now.Add(neighborTimeout)})
	return true
}

// sendManagement builds the packet of a datagram to a MAC address. It returns false when the port
// has no room.
func (e *Endpoint) sendManagement(d *rdmacm.Datagram, mac [6]byte) bool {
	b := e.frame(packet.ClassControl)
	if b == nil {
		return false
	}
	path := AddressVector{IP: d.Peer, Source: d.Local,
		SourcePort: sourcePort(rdmacm.QPN, rdmacm.QPN)}
	address, err := e.address(path, rdmacm.QPN, wire.DefaultPKey)
	address.DstMAC = mac
	var t wire.Template
	if err != nil || t.Set(address) != nil {
		e.counters.ManagementUnsent++ // the program's address is not this endpoint's
		return true
	}
	room := b.Room()
	ext, total := t.Build(room, wire.Fields{Op: wire.UDSendOnly, PSN: e.gsi.psn}, rdmacm.MADLen)
	frame := room[:total]
	wire.View[wire.DETH](frame[ext:]).Set(rdmacm.QKey, rdmacm.QPN)
	copy(frame[ext+wire.DETHLen:], d.MAD[:])
	t.Seal(frame)
	b.SetLen(total)
	e.push(packet.ClassControl)
	e.gsi.psn = e.gsi.psn.Add(1)
	e.counters.ManagementSent++
	return true
}

// pollManagement runs the communication manager's timers. It returns the next deadline.
func (e *Endpoint) pollManagement(now units.Time) units.Time {
	next := e.gsi.machine.Poll(now)
	if w := e.gsi.pending; len(w) > 0 {
		next = units.Earlier(units.Earlier(next, w[0].until), e.neighbors.Poll(now))
	}
	return next
}

func (g *gsi) isBusy() bool { return len(g.pending) > 0 || g.machine.Pending() }
