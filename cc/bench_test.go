package cc

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/units"
)

// traffic is the events of a flow on a path with a little congestion: acknowledgements of two
// packets, every tenth with a mark, every fiftieth with a CNP and a report of a switch.
type traffic struct {
	now  units.Time
	n    uint32
	hops [3]Hop
	ev   Event
}

func (tr *traffic) next(a Algorithm) Decision {
	tr.n++
	tr.now = tr.now.Add(160 * units.Nanosecond)
	kind := RTT
	switch {
	case tr.n%50 == 0:
		kind = CNP
	case tr.n%50 == 1:
		kind = CST
	case tr.n%50 == 2:
		kind = TIMER
	case tr.n%10 == 0:
		kind = ECN
	}
	if !a.Events().Has(kind) {
		kind = ACK
	}
	for i := range tr.hops {
		tr.hops[i] = Hop{uint16(i), 100 * gbps, tr.hops[i].Time + 160, tr.hops[i].Sent + 2000,
			units.Bytes(tr.n % 7 * 1000)}
	}
	tr.ev = Event{Kind: kind, PSN: 2 * tr.n & 0xffffff, SndNxt: (2*tr.n + 100) & 0xffffff,
		Packets: 2, Bytes: 2000,
		Delay: units.Duration(20+tr.n%40) * us, InFlight: 100_000, Left: 1 << 20, INT: tr.hops[:],
		SRC: SRC{units.Microsecond, 100 * gbps, tr.now.Add(-4 * us)}}
	if kind == ECN {
		tr.ev.Marked = 1
	}
	if kind == TIMER || kind == CNP {
		tr.ev.Packets = 0
	}
	return a.On(&tr.ev, tr.now)
}

func TestNoEventAllocates(t *testing.T) {
	for _, name := range Names() {
		a := make1[Algorithm](t, name, everything)
		var tr traffic
		assert.Zero(t, testing.AllocsPerRun(1000, func() {
			tr.next(a)
			a.(Observable).Snapshot()
		}), name)
	}
}

var sink Decision

// benchmarkAck measures the arithmetic of one acknowledgement.
func benchmarkAck(b *testing.B, spec string) { benchmarkAckOf(b, spec, Event{}) }

// benchmarkAckOf measures acknowledgements with the host fields of ev.
func benchmarkAckOf(b *testing.B, spec string, ev Event) {
	a := make1[Algorithm](b, spec, everything)
	hops := [3]Hop{{Rate: 100 * gbps}, {Rate: 100 * gbps}, {Rate: 100 * gbps}}
	ev.Kind, ev.Packets, ev.Bytes, ev.Delay, ev.InFlight, ev.INT = RTT, 1, 1000, 20*us, 100_000,
		hops[:]
	if !a.Events().Has(RTT) {
		ev.Kind = ACK
	}
	if !a.Events().Has(ev.Kind) {
		ev.Kind = TX
	}
	now := units.Time(0)
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(80 * units.Nanosecond)
		ev.PSN = (ev.PSN + 1) & 0xffffff
		ev.SndNxt = (ev.PSN + 100) & 0xffffff
		ev.Delay = units.Duration(20+ev.PSN%32) * us
		if spec == "hpcc" {
			for i := range hops {
				hops[i].Time, hops[i].Sent = hops[i].Time+80, hops[i].Sent+1000
			}
		}
		sink = a.On(&ev, now)
	}
}

func BenchmarkSwift(b *testing.B)    { benchmarkAck(b, "swift") }
func BenchmarkLEDBAT(b *testing.B)   { benchmarkAck(b, "ledbat") }
func BenchmarkLEDBATDC(b *testing.B) { benchmarkAck(b, "ledbat-dc") }
func BenchmarkTIMELY(b *testing.B)   { benchmarkAck(b, "timely") }
func BenchmarkDCTCP(b *testing.B)    { benchmarkAck(b, "dctcp") }
func BenchmarkIDCTCP(b *testing.B)   { benchmarkAck(b, "idctcp") }
func BenchmarkD2TCP(b *testing.B)    { benchmarkAck(b, "d2tcp:deadline=1s") }
func BenchmarkDCQCN(b *testing.B)    { benchmarkAck(b, "dcqcn") }
func BenchmarkDCQCNNIC(b *testing.B) { benchmarkAck(b, "dcqcn-nic") }
func BenchmarkHPCC(b *testing.B)     { benchmarkAck(b, "hpcc") }
func BenchmarkBolt(b *testing.B)     { benchmarkAck(b, "bolt") }

// BenchmarkSwiftHost measures Swift on hosts without time stamps, which nap.
func BenchmarkSwiftHost(b *testing.B) {
	benchmarkAckOf(b, "swift", Event{Endpoint: 2 * us, LocalGap: 5 * us, RemoteGap: 3 * us,
		LocalAway: 4 * us, RemoteAway: 2 * us})
}

// BenchmarkNothing measures the calls without an algorithm.
func BenchmarkNothing(b *testing.B) { benchmarkAck(b, "fixed") }
