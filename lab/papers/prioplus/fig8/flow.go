package main

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// flow is a connection to the receiver, with a number of SENDs of one size posted as long as it is
// active. Each message begins with its number.
type flow struct {
	qp, peer *transport.QueuePair
	id       uint64
	size     int
	depth    int
	active   bool

	out, in                   *transport.MemoryRegion
	posted, completed, seen   uint64
	arrived                   func(now units.Time, bytes units.Bytes) // of the receiver
	request                   transport.WorkRequest
	receive                   transport.RecvRequest
	sendElements, recvElement [1]transport.SGE
}

// errOrder reports messages out of order, or not as they were sent.
var errOrder = errors.New("a message out of order")

// idShift separates the parts of identifiers: the flow above, the slot below.
const idShift = 32

// pathMTU is the path MTU of all flows.
const pathMTU = 4 * units.KiB

// path returns the path for a flow's congestion control. Only the link to the receiver counts: on
// the others, which are faster, a packet takes no time, so that there is one link and no hop.
func (g *testbed) path(base units.Duration, id uint64) cc.Path {
	return cc.Path{LineRate: g.settings.Rate, BaseRTT: base, Payload: pathMTU,
		Signals: cc.SignalDelay | cc.SignalEndpoint, Seed: uint32(g.settings.Seed) + uint32(id)}
}

// connect makes a flow from a node to the receiver.
func (g *testbed) connect(from *node, control cc.Factory, base units.Duration, size,
	depth int) (*flow, error) {
	to := g.receiver()
	f := &flow{id: uint64(len(to.flows) + 1), size: size, depth: depth}
	algorithm, err := control.New(g.path(base, f.id))
	if err != nil {
		return nil, err
	}
	for _, e := range []struct {
		n  *node
		qp **transport.QueuePair
		mr **transport.MemoryRegion
	}{{from, &f.qp, &f.out}, {to, &f.peer, &f.in}} {
		if *e.qp, err = e.n.ep.CreateQP(transport.QPInit{PD: e.n.pd, SendCQ: e.n.cq, RecvCQ: e.n.cq,
			MaxSendWR: depth, MaxRecvWR: depth, SignalAll: true}); err != nil {
			return nil, err
		}
		if *e.mr, err = e.n.ep.RegisterMemory(e.n.pd, make([]byte, size*depth),
			transport.LocalWrite); err != nil {
			return nil, err
		}
		e.n.flows[f.id] = f
	}
	if err := f.qp.Modify(transport.Init, transport.QPAttr{Algorithm: algorithm}); err != nil {
		return nil, err
	}
	offers := [2]wire.Offer{f.qp.Offer(), f.peer.Offer()}
	for i := range offers {
		offers[i].Features &^= wire.FeatureSACK // nothing is lost, and a SACK bounds the window
	}
	ends, hosts, nodes := [2]*transport.QueuePair{f.qp, f.peer}, g.net.Hosts(), [2]*node{from, to}
	psn := [2]wire.PSN{wire.PSN(from.ep.Setup().RandomPSN()), wire.PSN(to.ep.Setup().RandomPSN())}
	for i, qp := range ends {
		peer := 1 - i
		err := qp.Connect(transport.QPAttr{
			Path:    transport.AddressVector{IP: hosts[g.index(nodes[peer])].Addrs()[0].Addr()},
			PathMTU: pathMTU, DestQPN: ends[peer].Num, RecvPSN: psn[peer], MinRNRTimer: 12,
			Extension: wire.Agree(offers[i], offers[peer]), SendPSN: psn[i],
			Timeout:    18, // 1.07 s: a busy machine stalls
			RetryCount: 7, RNRRetry: 7,
		})
		if err != nil {
			return nil, err
		}
	}
	f.request, f.receive = transport.WorkRequest{Op: transport.OpSend}, transport.RecvRequest{}
	for slot := range depth {
		if err := f.expect(slot); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (g *testbed) index(n *node) int {
	for i := range g.nodes {
		if g.nodes[i] == n {
			return i
		}
	}
	return -1
}

// expect posts the receive of a slot.
func (f *flow) expect(slot int) error {
	f.recvElement[0] = f.in.SGE(slot*f.size, f.size)
	f.receive.ID, f.receive.SGList = f.id<<idShift|uint64(slot), f.recvElement[:]
	return f.peer.PostRecv(&f.receive)
}

// fill posts as many messages as the send queue has room for.
func (f *flow) fill() error {
	for f.active && f.posted-f.completed < uint64(f.depth) {
		at := int(f.posted%uint64(f.depth)) * f.size
		binary.LittleEndian.PutUint64(f.out.Bytes()[at:], f.posted)
		f.sendElements[0] = f.out.SGE(at, f.size)
		f.request.ID, f.request.SGList = f.id<<idShift, f.sendElements[:]
		if err := f.qp.PostSend(&f.request); err != nil {
			return err
		}
		f.posted++
	}
	return nil
}

// settled reports whether every posted message has arrived and was acknowledged.
func (f *flow) settled() bool { return !f.active && f.completed == f.posted && f.seen == f.posted }

// reap polls completions of the node's flows, and lets them continue to send.
func (n *node) reap(now units.Time) error {
	for {
		got := n.cq.Poll(n.wcs[:])
		for i := range got {
			wc := &n.wcs[i]
			f := n.flows[wc.ID>>idShift]
			if wc.Status != transport.StatusSuccess {
				return fmt.Errorf("flow %d: %v", f.id, wc.Status)
			}
			if wc.Op != transport.OpRecv {
				f.completed++
				continue
			}
			if err := f.take(int(wc.ID&(1<<idShift-1)), int(wc.ByteLen), now); err != nil {
				return err
			}
		}
		if got < len(n.wcs) {
			return nil
		}
	}
}

// take handles a message that arrived.
func (f *flow) take(slot, length int, now units.Time) error {
	if number := binary.LittleEndian.Uint64(f.in.Bytes()[slot*f.size:]); number != f.seen ||
		length != f.size {
		return fmt.Errorf("flow %d: got message %d of %d bytes, want %d of %d: %w", f.id, number,
			length, f.seen, f.size, errOrder)
	}
	f.seen++
	if f.arrived != nil {
		f.arrived(now, units.Bytes(length))
	}
	return f.expect(slot)
}
