package main

import (
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// node is a host's endpoint and the program that runs on it.
type node struct {
	sim   *simulation
	host  *fabric.Host
	index int

	endpoint     *transport.Endpoint // nil while the host is stopped
	poller       *stallingEndpoint   // polls the endpoint
	cache        *carc.Endpoint      // nil without credits
	llc          units.Bytes
	cacheSharers map[*checkedCreditGranter]bool // sessions that share the cache
	tap          *tap                           // nil unless the mode is hostile
	manager      *manager                       // nil unless the mode is hostile
	incarnations int                            // number of starts
	restarts     bool                           // it will be started again
	waiting      []*session                     // for the restart

	domain, foreignDomain *transport.ProtectionDomain
	queue                 *transport.CompletionQueue
	sharedRecv            *recvQueue // shared; nil without one
	recvQueues            []*recvQueue
	ends                  map[wire.QPN]*peerEnd // for lookups only: its order is random
	watched               []*peerEnd            // updated in the next round
	arenas                []*arena              // of all incarnations
	wordArena             *arena
	openWords             [transport.OpFetchAdd + 1]*word // with room for more atomics
	usedWords             []*word
	wcs                   [16]transport.WorkCompletion
}

func (n *node) traits() *hostTraits { return &n.sim.plan.traits[n.index] }

func (n *node) newArena(name string, size int) *arena {
	a := newArena(fmt.Sprintf("%s of host %d", name, n.index), size)
	n.arenas = append(n.arenas, a)
	return a
}

// address returns the host's address of one family.
func (n *node) address(v6 bool) netip.Addr {
	if v6 {
		return n.host.Addrs()[1].Addr()
	}
	return n.host.Addrs()[0].Addr()
}

// start creates the host's endpoint.
func (n *node) start() {
	sim, t := n.sim, n.traits()
	// Each incarnation has queue pair numbers of its own: an unreliable peer that has not noticed
	// the restart still sends to the previous ones.
	first := max(2, (t.firstQPN+uint32(n.incarnations)<<12)&wire.PSNMask)
	n.incarnations++
	n.restarts = false
	endpoint, err := transport.New(transport.Config{
		Port: n.port(), Addrs: n.host.Addrs(), Seed: sim.rng.Uint64(), Repeatable: true,
		FirstQPN: first, MaxHeld: t.held, TrimmedDSCP: trimmedDSCP, VLAN: sim.plan.vlan,
	}, sim.net.Now())
	if err != nil {
		n.failf("%v", err)
		return
	}
	n.endpoint = endpoint
	if sim.plan.mode.hostile {
		if n.manager, err = newManager(n); err != nil {
			n.failf("%v", err)
			return
		}
	}
	if spec := t.cache; spec != nil {
		n.cache, n.cacheSharers, n.llc = spec.Endpoint(), map[*checkedCreditGranter]bool{}, t.llc
	}
	n.domain, n.foreignDomain = endpoint.AllocPD(), endpoint.AllocPD()
	n.ends, n.recvQueues, n.watched = map[wire.QPN]*peerEnd{}, nil, nil
	n.wordArena, n.openWords = &arena{mem: make([]byte, 2*guard)}, [len(n.openWords)]*word{}
	if n.queue, err = endpoint.CreateCQ(n.completions()); err != nil {
		n.failf("%v", err)
		return
	}
	if t.shared > 0 {
		if n.sharedRecv, err = newSharedRecvQueue(n); err != nil {
			n.failf("%v", err)
			return
		}
		n.sharedRecv.refill()
	}
	endpoint.Loop().OnRound(n.onRound)
	// Some requests complete only when their packets leave.
	n.queue.OnEvent(func(*transport.CompletionQueue) { n.host.Wake() })
	n.poller = &stallingEndpoint{Endpoint: endpoint}
	n.host.Run(n.poller)
	waiting := n.waiting
	n.waiting = nil
	for _, s := range waiting {
		s.open()
	}
}

// port returns the host's NIC, wrapped as the mode and the faults require.
func (n *node) port() packet.Port {
	f := &n.sim.plan.faults
	port := packet.Port(n.host.NIC())
	if n.sim.plan.mode.hostile {
		n.tap = &tap{Port: port}
		port = n.tap
	}
	if f.controlLoss == 0 {
		return port
	}
	return &controlLossPort{Port: port, rng: newRNG(n.sim.plan.seed,
		uint64(n.index)<<32|0x6d757465),
		probability: f.controlLoss, until: f.end, now: n.sim.net.Now}
}

// stall stops polling of the endpoint until a time.
func (n *node) stall(until units.Time) {
	if n.endpoint != nil {
		n.poller.until = max(n.poller.until, until)
	}
}

// completions returns the maximum number of completions that the node's queue must hold.
func (n *node) completions() int {
	sum := n.traits().shared + 1
	for _, s := range n.sim.plan.sessions {
		for _, end := range s.ends {
			if end.host == n.index {
				sum += end.depth + end.recvDepth + afterFailure
			}
		}
	}
	return sum
}

// crash stops the host and discards its endpoint with all queue pairs.
func (n *node) crash() {
	if n.endpoint == nil {
		return
	}
	n.audit()
	n.host.Stop()
	n.endpoint.Close()
	n.endpoint = nil
	for _, q := range n.recvQueues {
		q.fillIdle()
	}
	for _, s := range n.sim.plan.sessions {
		for _, end := range s.ends {
			if s.state != sessionToCome && end.node == n && !end.isOver() {
				end.destroyed = true
			}
		}
		s.endIfFinished()
	}
}

// onRound runs inside each poll of the endpoint, between receiving and sending.
func (n *node) onRound(now units.Time) {
	if n.cache != nil && n.cache.Sensor() != nil {
		n.cache.Sensor().Polled(n.queue.Len() == 0, now)
	}
	n.reap()
	if n.manager != nil {
		n.manager.onRound(now)
	}
	watch := n.watched
	n.watched = nil
	for _, end := range watch {
		end.watched = false
		end.update()
	}
}

// reap checks every available completion and event.
func (n *node) reap() {
	for {
		got := n.queue.Poll(n.wcs[:])
		for i := range got {
			n.completed(&n.wcs[i])
		}
		if got == 0 {
			break
		}
	}
	n.queue.RequestNotify(false)
	for ev, ok := n.endpoint.PollAsync(); ok; ev, ok = n.endpoint.PollAsync() {
		n.asyncEvent(ev)
	}
}

func (n *node) completed(wc *transport.WorkCompletion) {
	owner, number := splitID(wc.ID)
	if wc.ID&receiveBit != 0 {
		if owner >= len(n.recvQueues) || number >= len(n.recvQueues[owner].slots) {
			n.failf("completion %+v of a receive that was not posted", *wc)
			return
		}
		n.recvQueues[owner].received(number, wc)
		return
	}
	end := n.ends[wc.QPN]
	if end == nil || end.number != owner {
		n.failf("completion %+v does not belong to its queue pair", *wc)
		return
	}
	end.completed(number, wc)
	end.watch()
}

// asyncEvent checks an asynchronous event.
func (n *node) asyncEvent(ev transport.AsyncEvent) {
	var end *peerEnd
	if ev.QP != nil {
		if end = n.ends[ev.QP.Num]; end == nil || end.qp != ev.QP {
			n.failf("%v of a destroyed queue pair", ev.Kind)
			return
		}
	}
	switch ev.Kind {
	case transport.AsyncQPFatal, transport.AsyncQPReqErr, transport.AsyncQPAccessErr:
		if end.fatalEvents++; end.fatalEvents > 1 || end.qp.State() != transport.Errored {
			end.failf(nil, "%v as fatal event %d in %v, want one in the error state", ev.Kind,
				end.fatalEvents, end.qp.State())
		}
		end.watch() // requests posted from now on are flushed
	case transport.AsyncSQDrained:
		end.drained()
	case transport.AsyncCommEst:
	case transport.AsyncLastWQEReached:
		if !end.shared {
			end.failf(nil, "%v without a shared receive queue", ev.Kind)
		}
	default:
		n.failf("unexpected event %v", ev.Kind)
	}
}

func (n *node) failf(format string, args ...any) {
	n.sim.failf("host %d: %s", n.index, fmt.Sprintf(format, args...))
}

// receiveBit is bit 63 of a work request's ID and marks receives. The other bits hold the index of
// the end or receive queue, and that of the message or slot.
const receiveBit = 1 << 63

func sendID(end, message int) uint64 { return uint64(end)<<32 | uint64(message) }

func receiveID(inbox, slot int) uint64 { return receiveBit | uint64(inbox)<<32 | uint64(slot) }

func splitID(id uint64) (owner, n int) { return int(id &^ receiveBit >> 32), int(uint32(id)) }
