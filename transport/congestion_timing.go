package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Between endpoints that agreed to it, the delay of a round trip is divided as in Swift (SIGCOMM
// 2020, section 3.1): a packet that asks for it leaves at t1 and arrives at t2, its ACK leaves at
// t3, arrives at t4 and is handled at t5. The ACK carries t3−t2; t5−t4 is measured here. t2 and
// t4 are the port's time stamps if it has them, and otherwise the times of the polls: then the
// packet may have arrived up to the gap between two polls earlier, which a GAP in the ACK reports
// for t2.

// arrival is when a frame arrived: at, or up to gap before that. For the part away of the time
// from then until it was handled, the endpoint did not poll.
type arrival struct {
	at   units.Time
	gap  units.Duration
	away units.Duration
}

// setArrival records the arrival time of the frame being handled.
func (e *Endpoint) setArrival(t units.Time) {
	if t == 0 {
		held := e.info.RxCoalescing // meanwhile the endpoint polled an empty port
		e.arrived = arrival{e.now, e.rounds.gap + held, e.rounds.away + held}
		return
	}
	if t.After(e.now) {
		t = e.now
	}
	e.arrived = arrival{at: t, away: min(e.rounds.away, e.now.Sub(t))}
}

// hostDelay is the part of a delay that is known to have passed in the hosts.
type hostDelay struct {
	endpoint              units.Duration // t3−t2 and t5−t4
	local, remote         units.Duration // poll gaps
	localAway, remoteAway units.Duration // of both
}

// localDelay returns our part of the delay of a packet that left in the given round and whose
// answer is being handled.
func (e *Endpoint) localDelay(txRound uint32) hostDelay {
	h := hostDelay{endpoint: e.now.Sub(e.arrived.at), local: e.arrived.gap,
		localAway: e.arrived.away}
	if h.local > 0 { // no time stamps: when the packet left is uncertain, too
		duration, away := e.rounds.txDelay(txRound)
		h.local += duration
		h.localAway += away
	}
	return h
}

// addRemote adds the peer's part.
func (h *hostDelay) addRemote(residence, gap, away units.Duration) {
	h.endpoint += residence
	h.remote += gap
	h.remoteAway += away
}

// fill sets the hosts' part in an event.
func (h *hostDelay) fill(ev *cc.Event) {
	ev.Endpoint, ev.LocalGap, ev.RemoteGap = h.endpoint, h.local, h.remote
	ev.LocalAway, ev.RemoteAway = h.localAway, h.remoteAway
}

// recordArrival records that the request being handled asks for its residence time.
func (cong *congestion) recordArrival(p *wire.Packet) {
	qp := cong.conn()
	m := cong.ackEcho()
	m.timedPSN, m.ttl, m.arrival, m.timingDue = p.PSN, p.TTL(), qp.ep.arrived, true
}

// timingLen returns how many bytes of TLVs the next ACK needs to report a residence time.
func (cong *congestion) timingLen() int {
	if cong.cold().echo == nil || !cong.cold().echo.timingDue {
		return 0
	}
	if cong.cold().echo.arrival.isUncertain() {
		return extension.TimingLen + extension.GapLen
	}
	return extension.TimingLen
}

// activeGap returns how long, at most, the frame waited while its host polled and worked.
func (p *arrival) activeGap() units.Duration { return max(0, p.gap-p.away) }

// isUncertain reports whether the frame may have waited in the port, or its host did not poll.
func (p *arrival) isUncertain() bool { return p.gap > 0 || p.away > 0 }

func (cong *congestion) putTiming(area []byte) {
	qp := cong.conn()
	m := cong.cold().echo
	extension.Timing(area[:extension.TimingLen]).Set(uint32(m.timedPSN), m.ttl,
		qp.ep.now.Sub(m.arrival.at), m.arrival.at)
	if m.arrival.isUncertain() {
		gap := extension.Gap(area[extension.TimingLen:][:extension.GapLen])
		gap.Set(m.arrival.gap, m.arrival.away)
	}
	m.timingDue = false
}

// timedPacket is a packet of ours whose residence time at the peer is known.
type timedPacket struct {
	sent   sendTime // at 0: none
	host   hostDelay
	oneWay units.Duration
	hops   int
}

// parseTiming returns what an ACK reports of a packet that is outstanding or just acknowledged. It
// is void if the residence time is longer than the whole round trip.
func (cong *congestion) parseTiming(t extension.Timing, g extension.Gap) (by timedPacket) {
	qp := cong.conn()
	e := qp.ep
	sent := cong.sendTime(wire.PSN(t.PSN()))
	h := e.localDelay(sent.txRound)
	if g != nil {
		h.addRemote(t.Residence(), g.Gap(), g.Away())
	} else {
		h.addRemote(t.Residence(), 0, 0)
	}
	switch {
	case wire.PSN(t.PSN()).Before(qp.loss.oldest()) ||
		!wire.PSN(t.PSN()).Before(qp.loss.highest()) || sent.at == 0:
	case h.endpoint > e.now.Sub(sent.at):
		e.counters.BadTiming++
	default:
		by = timedPacket{sent, h, oneWay(sent.at, t.Arrived()),
			max(0, int(qp.tmpl.TTL())-int(t.TTL()))}
	}
	return by
}

// oneWay returns the one-way delay of a packet by two clocks whose difference is unknown: as in
// cc.Event.
func oneWay(sent units.Time, arrived units.Duration) units.Duration {
	return units.Duration(int32(arrived/units.Nanosecond-sent.Sub(0)/units.Nanosecond)) *
		units.Nanosecond
}
