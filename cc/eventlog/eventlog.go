package eventlog

import (
	"math/rand/v2"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

const (
	us      = units.Microsecond
	psnMask = 1<<24 - 1
)

// Log is the events of some flows, drawn by lot.
type Log struct {
	*rand.Rand
	psn  []uint32
	hops [3]cc.Hop
	ev   cc.Event
}

// New makes the log of so many flows.
func New(flows int, r *rand.Rand) *Log { return &Log{Rand: r, psn: make([]uint32, flows)} }

// kinds are drawn from as often as they stand here, but losses, of which nine in ten are round
// trips.
var kinds = [...]cc.Kind{cc.RTT, cc.RTT, cc.RTT, cc.RTT, cc.ACK, cc.ACK, cc.ECN, cc.TX, cc.TX,
	cc.TX, cc.CNP, cc.OOO, cc.RTO, cc.CST, cc.POST}

// Next answers what happens next to a flow, now. It is borrowed until the next call.
func (l *Log) Next(flow cc.Flow, now units.Time) *cc.Event {
	kind := kinds[l.IntN(len(kinds))]
	if (kind == cc.RTO || kind == cc.OOO) && l.IntN(10) > 0 {
		kind = cc.RTT
	}
	psn := &l.psn[flow]
	l.ev = cc.Event{
		Kind: kind, Flow: flow, PSN: *psn & psnMask, SndNxt: (*psn + 50) & psnMask,
		InFlight: units.Bytes(l.IntN(1 << 18)), Left: units.Bytes(1 + l.IntN(1<<20)),
	}
	switch kind {
	case cc.RTT, cc.ACK, cc.ECN:
		l.acknowledge(psn, now)
	case cc.TX:
		l.ev.Packets, l.ev.Bytes = 1, 4096
		l.ev.Left += l.ev.InFlight
	case cc.CST:
		l.ev.SRC = cc.SRC{Drain: l.below(20 * us), Rate: 100 * units.Gbps, Sent: now.Add(-5 * us)}
	}
	if l.IntN(40) == 0 {
		l.ev.INT = nil
	}
	return &l.ev
}

func (l *Log) acknowledge(psn *uint32, now units.Time) {
	n := 1 + l.IntN(8)
	*psn += uint32(n)
	ev := &l.ev
	ev.PSN, ev.Packets, ev.Bytes, ev.Hops = *psn&psnMask, n, units.Bytes(4096*n), 3
	if ev.Kind != cc.ACK {
		ev.Marked = l.IntN(n + 1)
	}
	if ev.Kind == cc.RTT {
		ev.Delay = 10*us + l.below(60*us)
		ev.Endpoint = ev.Delay / 3
		ev.OneWay = l.below(1000 * us)
	}
	for i := range l.hops {
		h := &l.hops[i]
		*h = cc.Hop{Port: uint16(i), Rate: 100 * units.Gbps, Time: h.Time + uint32(l.IntN(2000)),
			Sent: h.Sent + uint32(l.IntN(25_000)), Queue: units.Bytes(l.IntN(100_000))}
	}
	ev.INT = l.hops[:]
	ev.Bolt = cc.BoltFlags(l.IntN(32))
	ev.Increases = l.IntN(n + 1)
	if ev.Bolt&cc.BoltDEC != 0 {
		ev.SRC = cc.SRC{Drain: l.below(20 * us), Rate: 100 * units.Gbps, Sent: now.Add(-10 * us)}
	}
}

func (l *Log) below(d units.Duration) units.Duration { return units.Duration(l.Int64N(int64(d))) }
