package main

import (
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/units"
)

// The mode hostile: some hosts send, beside their regular traffic, forged packets toward queue
// pairs of other hosts, with the addresses of their peers. They know all addresses, queue pair
// numbers and tags, and see what others send.
//
// The oracle makes no exceptions: no forged packet may end a connection, change what it delivers,
// or consume memory. Forgers therefore leave out the packets that a RoCEv2 receiver cannot
// distinguish from its peer's:
//
//   - a request with the expected PSN, or a later one within the window of selective repeat: it is
//     executed;
//   - an ACK, NAK or response for an outstanding packet: it takes effect;
//   - any message to an unreliable connection, which accepts every PSN, and a datagram with the
//     right Q_Key;
//   - a TOKEN, RTS or CREDIT, or an ACK with credits, with the right tag and a value that the peer
//     could have sent.
//
// Each of these requires the PSN, the Q_Key or the tag: 16 to 24 bits that only an observer on the
// path knows.
//
// Packets that only cost time are included: CNPs, marks, NAKs provoked by a packet behind a gap,
// responses to repeated requests. A NAK costs its requester one of its retries. The bound on bad
// luck is therefore computed with one try less (peerEnd.judgeRetries). An end without retries could
// have its connection ended by a forged packet behind the expected PSN, which requires no
// knowledge; in this mode every end has at least one retry.

// forgedBurst is a series of packets that a host sends toward one end's queue pair.
type forgedBurst struct {
	at      units.Time
	from    int // host
	session int
	end     int // the end it is addressed to
	forgery forgery
	frames  int
	gap     units.Duration // between two frames
}

// maxForged is the maximum number of forged packets of a simulation.
const maxForged = 4000

// drawForgedBursts draws the forgers and their bursts, from a generator of its own, so that other
// modes draw the same values as without it.
func (p *plan) drawForgedBursts() {
	if !p.mode.hostile {
		return
	}
	r := newRNG(p.seed, 0x686f7374696c65)
	var from []int
	for range uniform(r, 1, max(1, p.topology.hosts/4)) {
		from = append(from, r.IntN(p.topology.hosts))
	}
	left := logUniform(r, 50, maxForged)
	for left > 0 {
		v := forgedBurst{from: pick(r, from...), session: r.IntN(len(p.sessions)), end: r.IntN(2),
			forgery: forgery(r.IntN(int(forgeries)))}
		v.frames = min(left, logUniform(r, 1, 300))
		if r.chance(0.5) {
			v.gap = logUniform(r, units.Nanosecond, 10*units.Microsecond)
		}
		left -= v.frames
		p.forgedBursts = append(p.forgedBursts, v)
	}
	for _, s := range p.sessions {
		for _, end := range s.ends {
			end.retries = max(end.retries, 1)
		}
	}
}

// scheduleForgedBursts draws the times of the bursts, once the maximum round trip is known.
func (p *plan) scheduleForgedBursts() {
	r := newRNG(p.seed, 0x766f6c6c6579)
	span := units.Time(1.5*float64(p.last)) + units.Time(2*resolveInterval) +
		units.Time(logUniform(r,
			p.maxRTT/20+1, p.maxRTT))
	for i := range p.forgedBursts {
		v := &p.forgedBursts[i]
		v.at = uniform(r, 0, span)
		p.faults.end = max(p.faults.end, v.at.Add(v.gap*units.Duration(v.frames)))
	}
}

// startForgers schedules the forgers.
func (sim *simulation) startForgers() {
	for i := range sim.plan.forgedBursts {
		v := &sim.plan.forgedBursts[i]
		f := &forger{sim: sim, forgedBurst: v, rng: newRNG(sim.plan.seed,
			uint64(i)<<32|0x666f726765),
			left: v.frames}
		sim.net.At(v.at, f.sendNext)
	}
}

// checkHoldings checks that a host holds no more resources than its limits.
func (n *node) checkHoldings() {
	h := n.endpoint.Stats().Holdings
	most, pairs := endpoint.DefaultHeld, h.QueuePairs
	if held := n.traits().held; held > 0 {
		most = held
	}
	if h.Buffers > most || h.Gaps > pairs || h.Recoveries > pairs ||
		h.Neighbors > neigh.MaxEntries+len(n.host.Addrs()) {
		n.failf("holdings %+v exceed the limits of %d queue pairs and %d buffers", h, pairs, most)
	}
	if h.Buffers > n.host.NIC().Held() {
		n.failf("it holds %d buffers, of %d allocated from its NIC", h.Buffers,
			n.host.NIC().Held())
	}
}
