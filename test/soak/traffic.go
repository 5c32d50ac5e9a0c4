package main

import (
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// The price of a seed: what it sends at most, retransmissions not counted.
const (
	mostPackets  = 100000
	mostBytes    = 32 * units.MiB
	mostMessages = 6000
	mostSessions = 250
	longest      = 8 * units.MiB  // message
	shared       = 32 * units.KiB // message into a shared receive queue, or over UC
)

// drawTraffic draws sessions and their scripts from flows.
func (p *plan) drawTraffic(d dice) error {
	packets := scale(d, 100, mostPackets)
	most := min(mostBytes, units.Bytes(packets)*transport.MTU4096)
	if d.chance(0.03) {
		most = longest
	}
	source, err := p.drawSource(d, most)
	if err != nil {
		return err
	}
	sessions := map[[2]int][]*session{} // looked up only
	bytes, messages := units.Bytes(0), scale(d, 20, mostMessages)
	for packets > 0 && bytes < mostBytes && messages > 0 {
		f, more := source.Next()
		if !more {
			break
		}
		between := [2]int{min(f.Src, f.Dst), max(f.Src, f.Dst)}
		if n := len(sessions[between]); n == 0 || n < 3 && d.chance(0.1) {
			if len(p.sessions) == mostSessions {
				messages--
				continue
			}
			sessions[between] = append(sessions[between], p.newSession(d, between, f.At))
		}
		s := oneOf(d, sessions[between]...)
		from := s.sides[0]
		if from.host != f.Src {
			from = s.sides[1]
		}
		m := from.drawMessage(d, min(f.Bytes, most), units.Bytes(packets)*s.mtu)
		m.at = f.At
		p.last = max(p.last, f.At)
		packets -= m.packets(s.mtu)
		bytes += units.Bytes(m.size)
		messages--
	}
	p.drawSequels(d)
	for _, s := range p.sessions {
		s.finishScripts(d)
	}
	return nil
}

// drawSource draws who sends to whom, how much and when.
func (p *plan) drawSource(d dice, most units.Bytes) (workload.Source, error) {
	sizes := workload.Fixed(scale(d, units.Bytes(1), most))
	switch d.IntN(4) {
	case 0:
		var err error
		if sizes, err = workload.ByName(oneOf(d, workload.Names()...)); err != nil {
			return nil, err
		}
	case 1, 2:
		sizes = workload.Uniform(1, scale(d, 1000, most))
	}
	rate, load := p.topology.slowest, scale(d, 0.02, 3.0)
	hosts, seed := p.topology.hosts, d.Uint64()
	period := workload.IncastPeriod(hosts, sizes, load, rate*units.BitRate(hosts))
	switch d.IntN(5) {
	case 0:
		return workload.Incast{Hosts: hosts, Receiver: oneOf(d, workload.RandomReceiver,
			d.IntN(hosts)), Sizes: sizes, Period: period, Seed: seed}.Source()
	case 1:
		return workload.Permutation{Hosts: hosts, Sizes: sizes, Period: period, Seed: seed}.Source()
	case 2:
		return workload.AllToAll{Hosts: hosts, Sizes: sizes, Period: period, Seed: seed}.Source()
	}
	return workload.Poisson{Hosts: hosts, Rate: rate, Load: load, Sizes: sizes, Seed: seed}.Source()
}

// drawSequels lets sessions follow others on the same queue pairs, or between the same hosts.
func (p *plan) drawSequels(d dice) {
	often := 0.02
	if p.kind.oddities {
		often = 0.4
	}
	if p.kind.crashes {
		often = 0.6
	}
	for _, prior := range p.sessions {
		if prior.service == transport.UD || !d.chance(often) {
			continue
		}
		s := p.newSession(d, [2]int{prior.sides[0].host, prior.sides[1].host}, 0)
		s.begin, s.service, s.mtu, s.prior = scale(d, units.Time(units.Microsecond),
			units.Time(units.Millisecond)), prior.service, prior.mtu, prior
		prior.sequel = s
		if d.chance(0.5) {
			for i, x := range s.sides {
				x.reuse(d, prior.sides[i])
			}
		}
		for range between(d, 1, 8) {
			from := s.sides[d.IntN(2)]
			from.drawMessage(d, scale(d, units.Bytes(1), 100*units.KiB), 100*units.KiB)
		}
	}
}

// edges are sizes where something changes, beside those around the path MTU.
var edges = []units.Bytes{0, 1, 2, 3, 4, 7, 8, 63, 64, 65}

// drawMessage adds a message of about size bytes to the side's script.
func (x *side) drawMessage(d dice, size, room units.Bytes) *message {
	s := x.session
	m := &message{number: len(x.script), imm: d.Uint32()}
	x.script = append(x.script, m)
	switch s.service {
	case transport.RC:
		m.op = oneOf(d, transport.OpSend, transport.OpSend, transport.OpSendImm,
			transport.OpSendInv, transport.OpWrite, transport.OpWrite,
			transport.OpWriteImm, transport.OpRead, transport.OpRead, transport.OpCmpSwap,
			transport.OpFetchAdd)
	case transport.UC:
		m.op = oneOf(d, transport.OpSend, transport.OpSendImm, transport.OpWrite,
			transport.OpWriteImm)
	default:
		m.op = oneOf(d, transport.OpSend, transport.OpSendImm)
	}
	switch d.IntN(6) {
	case 0:
		size = oneOf(d, edges...)
	case 1:
		size = max(0, s.mtu*units.Bytes(between(d, 1, 4))+between(d, units.Bytes(-2), 2))
	}
	size = min(size, room, longest)
	switch {
	case m.isAtomic():
		size = 8
	case s.service == transport.UD:
		size = min(size, s.mtu)
	case s.service == transport.UC || m.consumes() && x.peer.shared:
		size = min(size, shared)
	}
	m.size = int(size)
	return m
}

// finishScripts draws what depends on a script as a whole.
func (s *session) finishScripts(d dice) {
	if s.plan.kind.oddities && d.chance(0.4) {
		x := s.sides[d.IntN(2)]
		if s.service == transport.RC {
			x.insert(d, x.drawWrong(d))
		} else {
			x.insert(d, x.drawLost(d))
		}
	}
	for _, x := range s.sides {
		for i, m := range x.script {
			m.number = i
			x.drawFlags(d, m)
			if m.wrong == wrongNot && s.service == transport.RC && i > 0 && d.chance(0.3) {
				m.follow(x.script[i-1])
			}
			m.key = payloadOf(s.plan.seed, x.number, i)
		}
		for _, m := range x.script {
			switch {
			case m.relays != nil:
				m.key = m.relays.key
			case m.reads != nil:
				m.key = m.reads.key
			}
		}
		x.drawInterruptions(d)
	}
}

// follow makes a message use the memory of the one before it, where that tests the order of both.
func (m *message) follow(before *message) {
	switch {
	case before.wrong != wrongNot || before.reads != nil || before.relays != nil:
	case m.op == transport.OpRead && before.op == transport.OpWrite:
		m.reads, m.size = before, before.size
	case before.op == transport.OpRead && (m.op == transport.OpSend || m.op == transport.OpWrite) &&
		m.flags&transport.Inline == 0 && before.size <= m.size:
		m.relays, m.size = before, before.size
		m.flags |= transport.Fence
	}
}

func (x *side) drawFlags(d dice, m *message) {
	// Nothing comes back to a requester that is not acknowledged: without a completion it does not
	// learn that there is room again.
	blind := x.session.service != transport.RC &&
		(m.number%x.depth == x.depth-1 || m.number == len(x.script)-1)
	if blind || d.chance(x.signals) {
		m.flags |= transport.Signaled
	}
	if d.chance(0.1) {
		m.flags |= transport.Fence
	}
	if d.chance(0.2) {
		m.flags |= transport.Solicited
	}
	if m.op < transport.OpRead && m.wrong != wrongLocalKey && m.size <= x.inline && d.chance(0.6) {
		m.flags |= transport.Inline
	}
}

// drawWrong draws a request that must fail.
func (x *side) drawWrong(d dice) *message {
	m := &message{op: oneOf(d, transport.OpWrite, transport.OpWriteImm, transport.OpRead,
		transport.OpFetchAdd), size: scale(d, 1, 20000)}
	kinds := []wrong{wrongKey, wrongBounds, wrongAccess, wrongDomain, wrongLocalKey, wrongAlignment,
		wrongInvalidate}
	if !x.peer.shared {
		kinds = append(kinds, wrongLength, wrongReceive, wrongNever)
	}
	switch m.wrong = oneOf(d, kinds...); m.wrong {
	case wrongAlignment:
		m.op = oneOf(d, transport.OpFetchAdd, transport.OpCmpSwap)
	case wrongInvalidate:
		m.op = transport.OpSendInv
	case wrongLength, wrongReceive:
		m.op = oneOf(d, transport.OpSend, transport.OpSendImm)
	case wrongNever:
		m.op = oneOf(d, transport.OpSend, transport.OpSendImm, transport.OpWriteImm)
		x.rnrRetry = between(d, uint8(1), 6)
	}
	switch {
	case m.isAtomic():
		m.size = 8
	case m.consumes() && x.peer.shared:
		m.size = min(m.size, int(shared))
	}
	return m
}

// drawLost draws an unreliable message that its receiver must ignore.
func (x *side) drawLost(d dice) *message {
	if x.session.service == transport.UD {
		return &message{op: transport.OpSend, size: between(d, 0, int(x.session.mtu)),
			wrong: wrongQKey}
	}
	return &message{op: oneOf(d, transport.OpWrite, transport.OpWriteImm), size: scale(d, 1, 20000),
		wrong: oneOf(d, wrongKey, wrongBounds, wrongAccess, wrongDomain)}
}

// insert puts a message somewhere into the script.
func (x *side) insert(d dice, m *message) {
	at := 0
	if n := len(x.script); n > 0 {
		at = between(d, 0, n)
		m.at = x.script[max(0, at-1)].at
	}
	x.script = append(x.script[:at], append([]*message{m}, x.script[at:]...)...)
}
