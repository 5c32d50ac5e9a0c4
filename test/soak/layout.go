package main

import "github.com/goroce/goroce/transport"

// Space between two pieces of memory, so that what is written beside one is seen.
const gap = 11

// layOut gives every message of a session its places in memory, and registers that.
func (s *session) layOut() error {
	for _, x := range s.sides {
		if err := x.register(); err != nil {
			return err
		}
	}
	for _, x := range s.sides {
		for _, m := range x.script {
			x.place(m)
		}
	}
	return nil
}

// register makes the memory of a side as large as both scripts need.
func (x *side) register() error {
	local, target, vault := 8, 64, 64
	for _, m := range x.script {
		local += m.size + gap*x.sges
	}
	for _, m := range x.peer.script {
		target += m.size + gap
		if m.wrong != wrongNot {
			vault = max(vault, m.size)
		}
	}
	n := x.node
	all := transport.LocalWrite | transport.RemoteWrite | transport.RemoteRead |
		transport.RemoteAtomic
	for _, r := range []struct {
		to     **arena
		name   string
		size   int
		domain *transport.ProtectionDomain
		access transport.Access
	}{
		{&x.local, "local", local, n.domain, transport.LocalWrite},
		{&x.target, "target", target, n.domain, all},
		{&x.vault, "vault", vault, n.domain, transport.LocalWrite},
		{&x.exile, "exile", vault, n.stranger, all},
	} {
		a := n.newArena(r.name, r.size)
		mr, err := n.endpoint.RegisterMemory(r.domain, a.region(), r.access)
		if err != nil {
			return err
		}
		a.mr, *r.to = mr, a
	}
	return nil
}

// place gives a message its places.
func (x *side) place(m *message) {
	d := x.session.world.dice
	m.users = 1
	switch {
	case m.flags&transport.Inline != 0:
	case m.relays != nil:
		m.local = m.relays.local
		m.relays.users++
	default:
		m.local = x.scatter(d, m.size, m.isAtomic())
	}
	switch {
	case m.reads != nil:
		m.remote = m.reads.remote
		m.reads.users++
	case m.isAtomic() && (m.wrong == wrongNot || m.wrong == wrongLocalKey):
		m.atomic = x.peer.node.word(x, m)
	case (m.isWrite() || m.op == transport.OpRead) &&
		(m.wrong == wrongNot || m.wrong == wrongLocalKey || m.wrong == wrongNever):
		m.remote = pieces{x.peer.target.take(m.size, gap)}
	case m.op == transport.OpSendInv && m.wrong == wrongNot:
		m.doomed = x.peer.doom()
	}
}

// scatter takes size bytes in pieces.
func (x *side) scatter(d dice, size int, whole bool) pieces {
	var ps pieces
	n := between(d, 1, x.sges)
	if whole {
		n = 1
	}
	for ; n > 1; n-- {
		part := d.IntN(size + 1)
		ps = append(ps, x.local.take(part, gap))
		size -= part
	}
	return append(ps, x.local.take(size, gap))
}

// doom registers a region that the peer will invalidate.
func (x *side) doom() *arena {
	n := x.node
	a := n.newArena("doomed", 32)
	mr, err := n.endpoint.RegisterMemory(n.domain, a.region(),
		transport.LocalWrite|transport.RemoteWrite|transport.RemoteInvalidate)
	if err != nil {
		x.violated(nil, "%v", err)
	}
	a.mr = mr
	return a
}

// deregister ends the keys of the side's memory.
func (x *side) deregister() {
	for _, a := range []*arena{x.local, x.target, x.vault, x.exile} {
		a.mr.Deregister()
	}
	if x.inbox.side == x {
		x.inbox.arena.mr.Deregister()
	}
}
