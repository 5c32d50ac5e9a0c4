package main

import (
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Limits of one simulation's traffic, without retransmissions.
const (
	maxPackets      = 100000
	maxBytes        = 32 * units.MiB
	maxMessages     = 6000
	maxSessions     = 250
	maxMessageBytes = 8 * units.MiB  // of one message
	maxSharedBytes  = 32 * units.KiB // of one message into a shared receive queue, or over UC
)

// drawTraffic draws sessions and their scripts from the flows of a workload.
func (p *plan) drawTraffic(r rng) error {
	packets := logUniform(r, 100, maxPackets)
	most := min(maxBytes, units.Bytes(packets)*4*units.KiB)
	if r.chance(0.03) {
		most = maxMessageBytes
	}
	source, err := p.drawSource(r, most)
	if err != nil {
		return err
	}
	sessions := map[[2]int][]*session{} // for lookups only: its order is random
	bytes, messages := units.Bytes(0), logUniform(r, 20, maxMessages)
	for packets > 0 && bytes < maxBytes && messages > 0 {
		f, more := source.Next()
		if !more {
			break
		}
		between := [2]int{min(f.Src, f.Dst), max(f.Src, f.Dst)}
		if n := len(sessions[between]); n == 0 || n < 3 && r.chance(0.1) {
			if len(p.sessions) == maxSessions {
				messages--
				continue
			}
			sessions[between] = append(sessions[between], p.newSession(r, between, f.At))
		}
		s := pick(r, sessions[between]...)
		from := s.ends[0]
		if from.host != f.Src {
			from = s.ends[1]
		}
		m := from.drawMessage(r, min(f.Bytes, most), units.Bytes(packets)*s.mtu)
		m.at = f.At
		p.last = max(p.last, f.At)
		packets -= m.packets(s.mtu)
		bytes += units.Bytes(m.size)
		messages--
	}
	p.drawSuccessors(r)
	for _, s := range p.sessions {
		s.finishScripts(r)
	}
	return nil
}

// drawSource draws the traffic matrix, the flow sizes and the arrival times.
func (p *plan) drawSource(r rng, most units.Bytes) (workload.Source, error) {
	sizes := workload.Fixed(logUniform(r, units.Bytes(1), most))
	switch r.IntN(4) {
	case 0:
		var err error
		if sizes, err = workload.ByName(pick(r, workload.Names()...)); err != nil {
			return nil, err
		}
	case 1, 2:
		sizes = workload.Uniform(1, logUniform(r, 1000, most))
	}
	rate, load := p.topology.slowest, logUniform(r, 0.02, 3.0)
	hosts, seed := p.topology.hosts, r.Uint64()
	period := workload.IncastPeriod(hosts, sizes, load, rate*units.BitRate(hosts))
	switch r.IntN(5) {
	case 0:
		return workload.Incast{Hosts: hosts, Receiver: pick(r, workload.RandomReceiver,
			r.IntN(hosts)), Sizes: sizes, Period: period, Seed: seed}.Source()
	case 1:
		return workload.Permutation{Hosts: hosts, Sizes: sizes, Period: period, Seed: seed}.Source()
	case 2:
		return workload.AllToAll{Hosts: hosts, Sizes: sizes, Period: period, Seed: seed}.Source()
	}
	return workload.Poisson{Hosts: hosts, Rate: rate, Load: load, Sizes: sizes, Seed: seed}.Source()
}

// drawSuccessors adds sessions that follow others, on the same queue pairs or between the same
// hosts.
func (p *plan) drawSuccessors(r rng) {
	often := 0.02
	if p.kind.verbErrors {
		often = 0.4
	}
	if p.kind.crashes {
		often = 0.6
	}
	for _, predecessor := range p.sessions {
		if predecessor.service == transport.UD || !r.chance(often) {
			continue
		}
		s := p.newSession(r, [2]int{predecessor.ends[0].host, predecessor.ends[1].host}, 0)
		s.begin, s.service, s.mtu, s.predecessor = logUniform(r, units.Time(units.Microsecond),
			units.Time(units.Millisecond)), predecessor.service, predecessor.mtu, predecessor
		predecessor.successor = s
		if r.chance(0.5) {
			for i, end := range s.ends {
				end.copyQueuePair(r, predecessor.ends[i])
			}
		}
		for range uniform(r, 1, 8) {
			from := s.ends[r.IntN(2)]
			from.drawMessage(r, logUniform(r, units.Bytes(1), 100*units.KiB), 100*units.KiB)
		}
	}
}

// boundarySizes are sizes at which behaviour changes, beside those around the path MTU.
var boundarySizes = []units.Bytes{0, 1, 2, 3, 4, 7, 8, 63, 64, 65}

// drawMessage adds a message of about size bytes to the end's script.
func (end *peerEnd) drawMessage(r rng, size, room units.Bytes) *message {
	s := end.session
	m := &message{number: len(end.script), imm: r.Uint32()}
	end.script = append(end.script, m)
	switch s.service {
	case transport.RC:
		m.op = pick(r, transport.OpSend, transport.OpSend, transport.OpSendImm,
			transport.OpSendInv, transport.OpWrite, transport.OpWrite,
			transport.OpWriteImm, transport.OpRead, transport.OpRead, transport.OpCmpSwap,
			transport.OpFetchAdd)
	case transport.UC:
		m.op = pick(r, transport.OpSend, transport.OpSendImm, transport.OpWrite,
			transport.OpWriteImm)
	default:
		m.op = pick(r, transport.OpSend, transport.OpSendImm)
	}
	switch r.IntN(6) {
	case 0:
		size = pick(r, boundarySizes...)
	case 1:
		size = max(0, s.mtu*units.Bytes(uniform(r, 1, 4))+uniform(r, units.Bytes(-2), 2))
	}
	size = min(size, room, maxMessageBytes)
	switch {
	case m.isAtomic():
		size = 8
	case s.service == transport.UD:
		size = min(size, s.mtu)
	case s.service == transport.UC || m.consumesReceive() && end.peer.shared:
		size = min(size, maxSharedBytes)
	}
	m.size = int(size)
	return m
}

// finishScripts draws what depends on a whole script.
func (s *session) finishScripts(r rng) {
	if s.plan.kind.verbErrors && r.chance(0.4) {
		end := s.ends[r.IntN(2)]
		if s.service == transport.RC {
			end.insert(r, end.drawMistake(r))
		} else {
			end.insert(r, end.drawIgnored(r))
		}
	}
	for _, end := range s.ends {
		for i, m := range end.script {
			m.number = i
			end.drawFlags(r, m)
			if m.mistake == mistakeNone && s.service == transport.RC && i > 0 && r.chance(0.3) {
				m.follow(end.script[i-1])
			}
			m.key = newPayload(s.plan.seed, end.number, i)
		}
		for _, m := range end.script {
			switch {
			case m.resends != nil:
				m.key = m.resends.key
			case m.readsBack != nil:
				m.key = m.readsBack.key
			}
		}
		end.drawInterruptions(r)
	}
}

// follow makes a message use the memory of the previous one, where that tests their order.
func (m *message) follow(before *message) {
	switch {
	case before.mistake != mistakeNone || before.readsBack != nil || before.resends != nil:
	case m.op == transport.OpRead && before.op == transport.OpWrite:
		m.readsBack, m.size = before, before.size
	case before.op == transport.OpRead && (m.op == transport.OpSend || m.op == transport.OpWrite) &&
		!m.inline && before.size <= m.size:
		m.resends, m.size = before, before.size
		m.fence = true
	}
}

func (end *peerEnd) drawFlags(r rng, m *message) {
	// Unreliable requests are not acknowledged: without a completion the requester does not learn
	// that the queue has room again.
	blind := end.session.service != transport.RC &&
		(m.number%end.depth == end.depth-1 || m.number == len(end.script)-1)
	if blind || r.chance(end.signals) {
		m.signaled = true
	}
	if r.chance(0.1) {
		m.fence = true
	}
	if r.chance(0.2) {
		m.solicited = true
	}
	if m.op < transport.OpRead && m.mistake != mistakeLocalKey && m.size <= end.inline &&
		r.chance(0.6) {
		m.inline = true
	}
}

// drawMistake draws a request that must fail.
func (end *peerEnd) drawMistake(r rng) *message {
	m := &message{op: pick(r, transport.OpWrite, transport.OpWriteImm, transport.OpRead,
		transport.OpFetchAdd), size: logUniform(r, 1, 20000)}
	kinds := []mistake{mistakeKey, mistakeBounds, mistakeAccess, mistakeDomain, mistakeLocalKey,
		mistakeAlignment,
		mistakeInvalidate}
	if !end.peer.shared {
		kinds = append(kinds, mistakeLength, mistakeReceive, mistakeNoReceive)
	}
	switch m.mistake = pick(r, kinds...); m.mistake {
	case mistakeAlignment:
		m.op = pick(r, transport.OpFetchAdd, transport.OpCmpSwap)
	case mistakeInvalidate:
		m.op = transport.OpSendInv
	case mistakeLength, mistakeReceive:
		m.op = pick(r, transport.OpSend, transport.OpSendImm)
	case mistakeNoReceive:
		m.op = pick(r, transport.OpSend, transport.OpSendImm, transport.OpWriteImm)
		end.rnrRetry = uniform(r, uint8(1), 6)
	}
	switch {
	case m.isAtomic():
		m.size = 8
	case m.consumesReceive() && end.peer.shared:
		m.size = min(m.size, int(maxSharedBytes))
	}
	return m
}

// drawIgnored draws an unreliable message that its receiver must ignore.
func (end *peerEnd) drawIgnored(r rng) *message {
	if end.session.service == transport.UD {
		return &message{op: transport.OpSend, size: uniform(r, 0, int(end.session.mtu)),
			mistake: mistakeQKey}
	}
	return &message{op: pick(r, transport.OpWrite, transport.OpWriteImm), size: logUniform(r, 1,
		20000),
		mistake: pick(r, mistakeKey, mistakeBounds, mistakeAccess, mistakeDomain)}
}

// insert inserts a message at a random position of the script.
func (end *peerEnd) insert(r rng, m *message) {
	at := 0
	if n := len(end.script); n > 0 {
		at = uniform(r, 0, n)
		m.at = end.script[max(0, at-1)].at
	}
	end.script = append(end.script[:at], append([]*message{m}, end.script[at:]...)...)
}
