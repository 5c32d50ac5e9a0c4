package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Between endpoints that agreed to it, the delay of a round trip is divided as in Swift (SIGCOMM
// 2020, section 3.1): a packet that asks for it leaves at t1 and arrives at t2, its ACK leaves at
// t3, arrives at t4 and is handled at t5. The ACK carries t3−t2; t5−t4 is measured here. t2 and t4
// are the port's time stamps if it has them, and otherwise the times of the polls: then the packet
// may have arrived up to the gap between two polls earlier, which a GAP in the ACK reports for t2.

// presence is when a frame arrived: at, or up to gap before that. For the part away of the time
// from then until it was handled, the endpoint did not poll.
type presence struct {
	at   units.Time
	gap  units.Duration
	away units.Duration
}

// cameAt records the arrival time of the frame being handled.
func (e *Endpoint) cameAt(t units.Time) {
	if t == 0 {
		held := e.info.RxCoalescing // meanwhile the endpoint polled an empty port
		e.arrived = presence{e.now, e.rounds.gap + held, e.rounds.away + held}
		return
	}
	if t.After(e.now) {
		t = e.now
	}
	e.arrived = presence{at: t, away: min(e.rounds.away, e.now.Sub(t))}
}

// hosts is the part of a delay that is known to have passed in the hosts.
type hosts struct {
	endpoint              units.Duration // t3−t2 and t5−t4
	local, remote         units.Duration // poll gaps
	localAway, remoteAway units.Duration // of both
}

// here returns our part of the delay of a packet that left in the given departure and whose answer
// is being handled.
func (e *Endpoint) here(departure uint32) hosts {
	h := hosts{endpoint: e.now.Sub(e.arrived.at), local: e.arrived.gap, localAway: e.arrived.away}
	if h.local > 0 { // no time stamps: when the packet left is uncertain, too
		took, away := e.rounds.departed(departure)
		h.local += took
		h.localAway += away
	}
	return h
}

// there adds the peer's part.
func (h *hosts) there(residence, gap, away units.Duration) {
	h.endpoint += residence
	h.remote += gap
	h.remoteAway += away
}

// fill sets the hosts' part in an event.
func (h *hosts) fill(ev *cc.Event) {
	ev.Endpoint, ev.LocalGap, ev.RemoteGap = h.endpoint, h.local, h.remote
	ev.LocalAway, ev.RemoteAway = h.localAway, h.remoteAway
}

// recordArrival records that the request being handled asks for its residence time.
func (cong *congestion) recordArrival(p *wire.Packet) {
	qp := cong.conn()
	m := cong.ackEcho()
	m.timed, m.ttl, m.came, m.asked = p.PSN, p.TTL(), qp.ep.arrived, true
}

// timingLen returns how many bytes of TLVs the next ACK needs to report a residence time.
func (cong *congestion) timingLen() int {
	if cong.cold().echo == nil || !cong.cold().echo.asked {
		return 0
	}
	if cong.cold().echo.came.uncertain() {
		return extension.TimingLen + extension.GapLen
	}
	return extension.TimingLen
}

// worked returns how long, at most, the frame waited while its host polled and worked.
func (p *presence) worked() units.Duration { return max(0, p.gap-p.away) }

// uncertain reports whether the frame may have waited in the port, or its host did not poll.
func (p *presence) uncertain() bool { return p.gap > 0 || p.away > 0 }

func (cong *congestion) putTiming(area []byte) {
	qp := cong.conn()
	m := cong.cold().echo
	extension.Timing(area[:extension.TimingLen]).Set(uint32(m.timed), m.ttl,
		qp.ep.now.Sub(m.came.at), m.came.at)
	if m.came.uncertain() {
		extension.Gap(area[extension.TimingLen:][:extension.GapLen]).Set(m.came.gap, m.came.away)
	}
	m.asked = false
}

// timed is a packet of ours whose residence time at the peer is known.
type timed struct {
	left   sendTime // at 0: none
	hosts  hosts
	oneWay units.Duration
	hops   int
}

// timedBy returns what an ACK reports of a packet that is outstanding or just acknowledged. It is
// void if the residence time is longer than the whole round trip.
func (cong *congestion) timedBy(t extension.Timing, g extension.Gap) (by timed) {
	qp := cong.conn()
	e := qp.ep
	left := cong.sendTime(wire.PSN(t.PSN()))
	h := e.here(left.departure)
	if g != nil {
		h.there(t.Residence(), g.Gap(), g.Away())
	} else {
		h.there(t.Residence(), 0, 0)
	}
	switch {
	case wire.PSN(t.PSN()).Before(qp.loss.oldest()) ||
		!wire.PSN(t.PSN()).Before(qp.loss.highest()) || left.at == 0:
	case h.endpoint > e.now.Sub(left.at):
		e.counters.BadTiming++
	default:
		by = timed{left, h, oneWay(left.at, t.Arrived()),
			max(0, int(qp.tmpl.TTL())-int(t.TTL()))}
	}
	return by
}

// oneWay returns the one-way delay of a packet by two clocks whose difference is unknown: as in
// cc.Event.
func oneWay(left units.Time, arrived units.Duration) units.Duration {
	return units.Duration(int32(arrived/units.Nanosecond-left.Sub(0)/units.Nanosecond)) *
		units.Nanosecond
}
