package main

import (
	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// The mode hostile: some hosts, beside what they honestly do, send what they should not toward
// queue pairs of others, as if they were their peers. They know all addresses and queue pair
// numbers, see what others send, and know tags.
//
// The oracle excuses nothing: no forged packet may end a connection, change what it delivers, or
// cost memory. For that, forgers leave out what RoCEv2 cannot tell from its peer's packets, whoever
// knows enough to send it:
//
//   - a request with the PSN that is expected, or one that will come and is within the window of
//     selective repeat: it is executed;
//   - an ACK, NAK or response about a packet that is outstanding: it counts;
//   - any message to an unreliable connection, which takes every PSN, and a datagram with the right
//     Q_Key;
//   - a TOKEN, RTS or CREDIT, or an ACK that carries credits, with the right tag to a connection
//     that has agreed to them: a number that the peer could have said is believed.
//
// Each of these takes the PSN or the Q_Key or the tag, 16 to 24 bits that only somebody on the path
// sees.
//
// What costs time, and nothing else, stays in: CNPs, marks, NAKs that a packet behind a gap
// provokes, answers to what is repeated. A NAK costs its requester one of its retries. So bad luck
// needs one loss less to exceed them (plan.judge), and a side that has none may have its connection
// ended by a forged packet behind the PSN that is expected, which costs the forger no knowledge of
// it: in this mode every side has one at least.

// volley is packets that a host sends toward one side's queue pair.
type volley struct {
	at      units.Time
	from    int // host
	session int
	side    int // whose queue pair it is for
	forgery forgery
	frames  int
	gap     units.Duration // between two
}

// mostForged is how many packets the volleys of a world have at most.
const mostForged = 4000

// drawHostile draws who sends how much, from dice of its own: other modes draw what they drew
// before.
func (p *plan) drawHostile() {
	if !p.mode.hostile {
		return
	}
	d := newDice(p.seed, 0x686f7374696c65)
	var from []int
	for range between(d, 1, max(1, p.topology.hosts/4)) {
		from = append(from, d.IntN(p.topology.hosts))
	}
	left := scale(d, 50, mostForged)
	for left > 0 {
		v := volley{from: oneOf(d, from...), session: d.IntN(len(p.sessions)), side: d.IntN(2),
			forgery: forgery(d.IntN(int(forgeries)))}
		v.frames = min(left, scale(d, 1, 300))
		if d.chance(0.5) {
			v.gap = scale(d, units.Nanosecond, 10*units.Microsecond)
		}
		left -= v.frames
		p.volleys = append(p.volleys, v)
	}
	for _, s := range p.sessions {
		for _, x := range s.sides {
			x.retries = max(x.retries, 1)
		}
	}
}

// placeVolleys draws when, once it is known how long everything takes.
func (p *plan) placeVolleys() {
	d := newDice(p.seed, 0x766f6c6c6579)
	span := units.Time(1.5*float64(p.last)) + units.Time(2*greeting) + units.Time(scale(d,
		p.slack/20+1, p.slack))
	for i := range p.volleys {
		v := &p.volleys[i]
		v.at = between(d, 0, span)
		p.faults.end = max(p.faults.end, v.at.Add(v.gap*units.Duration(v.frames)))
	}
}

// beginHostility makes the volleys happen.
func (w *world) beginHostility() {
	for i := range w.plan.volleys {
		v := &w.plan.volleys[i]
		f := &forger{world: w, volley: v, dice: newDice(w.plan.seed, uint64(i)<<32|0x666f726765),
			left: v.frames}
		w.net.At(v.at, f.fire)
	}
}

// withinBudget checks that nobody makes a host keep more than it may.
func (n *node) withinBudget() {
	h := n.endpoint.Holdings()
	most, pairs := transport.DefaultHeld, n.endpoint.QueuePairs()
	if held := n.traits().held; held > 0 {
		most = held
	}
	if h.Buffers > most || h.Gaps > pairs || h.Recoveries > pairs ||
		h.Neighbors > neigh.MaxEntries+len(n.host.Addrs()) {
		n.violated("it keeps %+v, with %d queue pairs and %d buffers to hold", h, pairs, most)
	}
	if h.Buffers > n.host.NIC().Held() {
		n.violated("it holds %d buffers, and its NIC has given out %d", h.Buffers,
			n.host.NIC().Held())
	}
}
