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

// node is a host's endpoint and what runs on it.
type node struct {
	world *world
	host  *fabric.Host
	index int

	endpoint *transport.Endpoint // nil while the host is stopped
	poller   *stalling           // which polls it
	cache    *carc.Endpoint      // with credits
	llc      units.Bytes
	sharers  map[*watchedReturns]bool // of it
	tap      *tap                     // with the mode hostile
	lives    int                      // how often it was started
	returns  bool                     // it will be started again
	waiting  []*session               // for that

	domain, stranger *transport.ProtectionDomain
	queue            *transport.CompletionQueue
	inbox            *inbox // shared; nil when there is none
	inboxes          []*inbox
	sides            map[wire.QPN]*side // looked up only
	watch            []*side            // looked at in each round
	arenas           []*arena           // of all lives
	words            *arena
	open             [transport.OpFetchAdd + 1]*word // which atomics may still use
	used             []*word
	wcs              [16]transport.WorkCompletion
}

func (n *node) traits() *hostTraits { return &n.world.plan.traits[n.index] }

func (n *node) newArena(name string, size int) *arena {
	a := newArena(fmt.Sprintf("%s of host %d", name, n.index), size)
	n.arenas = append(n.arenas, a)
	return a
}

// address is the host's address of one family.
func (n *node) address(v6 bool) netip.Addr {
	if v6 {
		return n.host.Addrs()[1].Addr()
	}
	return n.host.Addrs()[0].Addr()
}

// start gives the host an endpoint.
func (n *node) start() {
	w, t := n.world, n.traits()
	// Each life has numbers of its own: an unreliable peer that has not heard of the end still
	// sends to those of the last one.
	first := max(2, (t.firstQPN+uint32(n.lives)<<12)&wire.PSNMask)
	n.lives++
	n.returns = false
	endpoint, err := transport.New(transport.Config{
		Port: n.port(), Addrs: n.host.Addrs(), Seed: w.dice.Uint64(), Repeatable: true,
		FirstQPN: first, MaxHeld: t.held, TrimmedDSCP: trimmedDSCP, VLAN: w.plan.vlan,
	}, w.net.Now())
	if err != nil {
		n.violated("%v", err)
		return
	}
	n.endpoint = endpoint
	if spec := t.cache; spec != nil {
		n.cache, n.sharers, n.llc = spec.Endpoint(), map[*watchedReturns]bool{}, t.llc
	}
	n.domain, n.stranger = endpoint.AllocPD(), endpoint.AllocPD()
	n.sides, n.inboxes, n.watch = map[wire.QPN]*side{}, nil, nil
	n.words, n.open = &arena{mem: make([]byte, 2*apron)}, [len(n.open)]*word{}
	if n.queue, err = endpoint.CreateCQ(n.completions()); err != nil {
		n.violated("%v", err)
		return
	}
	if t.shared > 0 {
		if n.inbox, err = newSharedInbox(n); err != nil {
			n.violated("%v", err)
			return
		}
		n.inbox.supply()
	}
	endpoint.OnRound(n.round)
	// some end only as they leave
	n.queue.OnEvent(func(*transport.CompletionQueue) { n.host.Wake() })
	n.poller = &stalling{Endpoint: endpoint}
	n.host.Run(n.poller)
	waiting := n.waiting
	n.waiting = nil
	for _, s := range waiting {
		s.open()
	}
}

// port is the host's NIC, or one that loses notices.
func (n *node) port() packet.Port {
	f := &n.world.plan.faults
	port := packet.Port(n.host.NIC())
	if n.world.plan.mode.hostile {
		n.tap = &tap{Port: port}
		port = n.tap
	}
	if f.silence == 0 {
		return port
	}
	return &mute{Port: port, dice: newDice(n.world.plan.seed, uint64(n.index)<<32|0x6d757465),
		chance: f.silence, until: f.end, now: n.world.net.Now}
}

// stall has nobody poll the endpoint until a time.
func (n *node) stall(until units.Time) {
	if n.endpoint != nil {
		n.poller.until = max(n.poller.until, until)
	}
}

// completions is how many the node's queues may have to take at once.
func (n *node) completions() int {
	sum := n.traits().shared + 1
	for _, s := range n.world.plan.sessions {
		for _, x := range s.sides {
			if x.host == n.index {
				sum += x.depth + x.recvDepth + afterFailure
			}
		}
	}
	return sum
}

// crash stops the host: its endpoint is gone, with everything it had.
func (n *node) crash() {
	if n.endpoint == nil {
		return
	}
	n.audit()
	n.host.Stop()
	n.endpoint.Close()
	n.endpoint = nil
	for _, b := range n.inboxes {
		b.abandon()
	}
	for _, s := range n.world.plan.sessions {
		for _, x := range s.sides {
			if s.state != sessionToCome && x.node == n && !x.over() {
				x.gone = true
			}
		}
		s.check()
	}
}

// round runs inside each poll of the endpoint, after what arrived and before what leaves.
func (n *node) round(now units.Time) {
	if n.cache != nil && n.cache.Sensor() != nil {
		n.cache.Sensor().Polled(n.queue.Len() == 0, now)
	}
	n.reap()
	watch := n.watch
	n.watch = nil
	for _, x := range watch {
		x.watched = false
		x.look()
	}
}

// reap judges every completion and event that there is.
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
		n.happened(ev)
	}
}

func (n *node) completed(wc *transport.WorkCompletion) {
	owner, number := splitID(wc.ID)
	if wc.ID&receiveBit != 0 {
		if owner >= len(n.inboxes) || number >= len(n.inboxes[owner].slots) {
			n.violated("completion %+v of a receive that nobody posted", *wc)
			return
		}
		n.inboxes[owner].received(number, wc)
		return
	}
	x := n.sides[wc.QPN]
	if x == nil || x.number != owner {
		n.violated("completion %+v is not one of its queue pair", *wc)
		return
	}
	x.completed(number, wc)
	x.watch()
}

// happened judges an asynchronous event.
func (n *node) happened(ev transport.AsyncEvent) {
	var x *side
	if ev.QP != nil {
		if x = n.sides[ev.QP.Num]; x == nil || x.qp != ev.QP {
			n.violated("%v of a queue pair that is gone", ev.Kind)
			return
		}
	}
	switch ev.Kind {
	case transport.AsyncQPFatal, transport.AsyncQPReqErr, transport.AsyncQPAccessErr:
		if x.fatals++; x.fatals > 1 || x.qp.State() != transport.Errored {
			x.violated(nil, "%v for the %d. time, in %v", ev.Kind, x.fatals, x.qp.State())
		}
		x.watch() // what is posted from now on is flushed
	case transport.AsyncSQDrained:
		x.drained()
	case transport.AsyncCommEst:
	case transport.AsyncLastWQEReached:
		if !x.shared {
			x.violated(nil, "%v without a shared receive queue", ev.Kind)
		}
	default:
		n.violated("%v", ev.Kind)
	}
}

func (n *node) violated(format string, args ...any) {
	n.world.violated("host %d: %s", n.index, fmt.Sprintf(format, args...))
}

// A work request's number says what it belongs to: bit 63 marks receives.
const receiveBit = 1 << 63

func sendID(side, message int) uint64 { return uint64(side)<<32 | uint64(message) }

func receiveID(inbox, slot int) uint64 { return receiveBit | uint64(inbox)<<32 | uint64(slot) }

func splitID(id uint64) (owner, n int) { return int(id &^ receiveBit >> 32), int(uint32(id)) }
