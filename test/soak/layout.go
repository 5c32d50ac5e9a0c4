package main

import "github.com/goroce/goroce/transport"

// gap is the space between two pieces of memory, which exposes writes beside either.
const gap = 11

// placeMessages allocates and registers the memory of all messages of a session.
func (s *session) placeMessages() error {
	for _, end := range s.ends {
		if err := end.register(); err != nil {
			return err
		}
	}
	for _, end := range s.ends {
		for _, m := range end.script {
			end.place(m)
		}
	}
	return nil
}

// register creates the regions of an end, large enough for both scripts.
func (end *peerEnd) register() error {
	local, target, private := 8, 64, 64
	for _, m := range end.script {
		local += m.size + gap*end.sges
	}
	for _, m := range end.peer.script {
		target += m.size + gap
		if m.mistake != mistakeNone {
			private = max(private, m.size)
		}
	}
	n := end.node
	all := transport.LocalWrite | transport.RemoteWrite | transport.RemoteRead |
		transport.RemoteAtomic
	for _, r := range []struct {
		to     **arena
		name   string
		size   int
		domain *transport.ProtectionDomain
		access transport.Access
	}{
		{&end.local, "local", local, n.domain, transport.LocalWrite},
		{&end.target, "target", target, n.domain, all},
		{&end.private, "private", private, n.domain, transport.LocalWrite},
		{&end.foreign, "foreign", private, n.foreignDomain, all},
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

// place allocates the memory of a message.
func (end *peerEnd) place(m *message) {
	r := end.session.sim.rng
	m.users = 1
	switch {
	case m.inline:
	case m.resends != nil:
		m.local = m.resends.local
		m.resends.users++
	default:
		m.local = end.scatter(r, m.size, m.isAtomic())
	}
	switch {
	case m.readsBack != nil:
		m.remote = m.readsBack.remote
		m.readsBack.users++
	case m.isAtomic() && (m.mistake == mistakeNone || m.mistake == mistakeLocalKey):
		m.atomic = end.peer.node.allocWord(end, m)
	case (m.isWrite() || m.op == transport.OpRead) &&
		(m.mistake == mistakeNone || m.mistake == mistakeLocalKey || m.mistake == mistakeNoReceive):
		m.remote = pieces{end.peer.target.alloc(m.size, gap)}
	case m.op == transport.OpSendInv && m.mistake == mistakeNone:
		m.invalidates = end.peer.registerInvalidated()
	}
}

// scatter allocates size bytes in pieces.
func (end *peerEnd) scatter(r rng, size int, whole bool) pieces {
	var ps pieces
	n := uniform(r, 1, end.sges)
	if whole {
		n = 1
	}
	for ; n > 1; n-- {
		part := r.IntN(size + 1)
		ps = append(ps, end.local.alloc(part, gap))
		size -= part
	}
	return append(ps, end.local.alloc(size, gap))
}

// registerInvalidated registers a region that the peer will invalidate.
func (end *peerEnd) registerInvalidated() *arena {
	n := end.node
	a := n.newArena("invalidated", 32)
	mr, err := n.endpoint.RegisterMemory(n.domain, a.region(),
		transport.LocalWrite|transport.RemoteWrite|transport.RemoteInvalidate)
	if err != nil {
		end.failf(nil, "%v", err)
	}
	a.mr = mr
	return a
}

// deregister deregisters the end's memory.
func (end *peerEnd) deregister() {
	for _, a := range []*arena{end.local, end.target, end.private, end.foreign} {
		a.mr.Deregister()
	}
	if end.recv.end == end {
		end.recv.arena.mr.Deregister()
	}
}
