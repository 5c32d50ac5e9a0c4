package transport

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// hearer is an algorithm that records its events.
type hearer struct {
	wants    cc.EventSet
	received []cc.Event
}

func (h *hearer) Events() cc.EventSet { return h.wants }
func (h *hearer) On(ev *cc.Event, _ units.Time) cc.Decision {
	h.received = append(h.received, *ev)
	return cc.Decision{Window: units.MiB}
}

// marking makes a link mark ECN capable data packets when marks returns true, as a switch does.
func (l *link) marking(marks func() bool) {
	l.tamper = func(frame []byte) int {
		var p wire.Packet
		if p.Parse(frame) == nil && p.ECN == wire.ECNECT0 && marks() {
			var t wire.Template
			if err := t.Set(wire.Address{Src: p.SrcIP(), Dst: p.DstIP()}); err != nil {
				panic(err)
			}
			t.SetFrameTOS(frame, wire.ECNCE)
		}
		return 1
	}
}

// marked makes a connection whose requester takes the given events, over a link that marks every
// n-th packet.
func marked(t *testing.T, echo bool, n int, wants ...cc.Kind) (p *pair, a, b *side, h *hearer) {
	p = newPair(t)
	h = &hearer{wants: cc.Events(wants...)}
	o := defaults()
	o.algorithm = h
	if echo {
		o.features = wire.FeatureECNEcho
	}
	a, b = p.connected(o)
	count := 0
	p.la.marking(func() bool { count++; return count%n == 0 })
	p.la.record, p.lb.record = true, true
	return p, a, b, h
}

func (h *hearer) sum() (packets, marks int) {
	for _, ev := range h.received {
		packets += ev.Packets
		marks += ev.Marked
	}
	return packets, marks
}

// From a peer of ours, a requester learns exactly how many of its packets were marked, even if ACKs
// are lost.
func TestMarksAreEchoed(t *testing.T) {
	for _, lossy := range []bool{false, true} {
		p, a, b, h := marked(t, true, 4, cc.ACK, cc.ECN)
		acks := 0
		p.lb.tamper = func([]byte) int {
			if acks++; lossy && acks%2 == 0 {
				return 0
			}
			return 1
		}
		for range 20 { // of 5 packets
			a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr,
				RKey: b.mr.RKey, SGList: []SGE{a.mr.SGE(0, 5*1024)}})
			require.Len(t, p.await(a, 1), 1)
		}
		packets, marks := h.sum()
		require.Equal(t, 100, packets)
		resent := int(p.a.counters.Retransmitted)
		if !lossy {
			require.Zero(t, resent)
		}
		require.Equal(t, (100+resent)/4, marks, "%d packets sent again", resent)
		require.EqualValues(t, marks, p.b.counters.MarkedCE)
		require.Zero(t, p.b.counters.CNPsSent)
		for _, ev := range h.received {
			require.Equal(t, ev.Marked > 0, ev.Kind == cc.ECN, "%+v", ev)
		}
	}
}

// Toward any other peer marks become CNPs, one in 50 µs, or as often as configured.
func TestMarksBecomeCNPs(t *testing.T) {
	for _, c := range []struct {
		kind     QPType
		interval units.Duration
	}{{RC, cc.CNPInterval}, {UC, cc.CNPInterval}, {RC, 4 * units.Microsecond}} {
		p := newPair(t)
		if c.interval != cc.CNPInterval {
			p.b.cnpInterval = c.interval
		}
		h := &hearer{wants: cc.Events(cc.CNP)}
		o := defaults()
		o.kind, o.algorithm = c.kind, h
		a, b := p.connected(o)
		p.la.marking(func() bool { return true })
		p.lb.record = true
		begun := p.now
		for range 200 {
			a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr,
				RKey: b.mr.RKey, SGList: []SGE{a.mr.SGE(0, 64)}})
			require.Len(t, p.await(a, 1), 1)
			p.settle(units.Microsecond)
		}
		each := p.now.Sub(begun) / 200
		every := (c.interval + each - 1) / each // how many messages later the next CNP may leave
		require.InDelta(t, int(200/every), p.b.counters.CNPsSent, 1)
		require.EqualValues(t, p.b.counters.CNPsSent, p.a.counters.CNPs)
		require.Len(t, h.received, int(p.a.counters.CNPs))
		require.EqualValues(t, 200, p.b.counters.MarkedCE)
		for _, frame := range p.lb.sent {
			var pkt wire.Packet
			if pkt.Parse(frame) == nil {
				require.True(t, pkt.ICRC())
				require.EqualValues(t, wire.ECNNotECT, pkt.ECN, "responses are not ECN capable")
				require.Equal(t, pkt.Op == wire.CNP, pkt.BTH().Congestion&wire.BTHBECN != 0)
			}
		}
	}
}

// The responses of a READ are controlled by its requester, which sees their marks itself.
func TestMarksOnResponses(t *testing.T) {
	p, a, b, h := marked(t, true, 1, cc.ACK, cc.ECN)
	p.lb.marking(func() bool { return true })
	a.post(t, WorkRequest{Op: OpRead, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
		SGList: []SGE{a.mr.SGE(0, 5*1024)}})
	require.Len(t, p.await(a, 1), 1)
	packets, marks := h.sum()
	require.Equal(t, 5, packets)
	require.Equal(t, 5, marks)
}

// Only a flow whose algorithm takes marks sends ECN capable packets.
func TestECNCapable(t *testing.T) {
	for _, c := range []struct {
		wants []cc.Kind
		ecn   uint8
	}{{nil, wire.ECNNotECT}, {[]cc.Kind{cc.RTT, cc.ACK}, wire.ECNNotECT},
		{[]cc.Kind{cc.ECN}, wire.ECNECT0}, {[]cc.Kind{cc.CNP}, wire.ECNECT0}} {
		p, a, b, _ := marked(t, false, 1000, c.wants...)
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
			SGList: []SGE{a.mr.SGE(0, 64)}})
		require.Len(t, p.await(a, 1), 1)
		requests := 0
		for _, frame := range p.la.sent {
			var pkt wire.Packet
			if pkt.Parse(frame) == nil {
				requests++
				require.Equal(t, c.ecn, uint8(pkt.ECN), "%v", c.wants)
			}
		}
		require.Positive(t, requests)
	}
}

// ACKs may have a traffic class of their own.
func TestAnswerClass(t *testing.T) {
	for _, c := range []struct{ path, answers, want uint8 }{{0x6a, 0, 0x68}, {0, 0xc3, 0xc0},
		{0x20, 0x40, 0x40}, {0x20, 0x20, 0x20}} {
		p := newPair(t)
		o := defaults()
		o.class, o.answers = c.path, c.answers
		a, b := p.connected(o)
		p.lb.record, p.la.record = true, true
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
			SGList: []SGE{a.mr.SGE(0, 64)}})
		require.Len(t, p.await(a, 1), 1)
		for l, want := range map[*link]uint8{p.la: c.path, p.lb: c.want} {
			packets := 0
			for _, frame := range l.sent {
				var pkt wire.Packet
				if pkt.Parse(frame) == nil {
					packets++
					require.True(t, pkt.ICRC())
					require.Equal(t, want, pkt.DSCP<<2|pkt.ECN)
				}
			}
			require.Positive(t, packets)
		}
	}
}

// An acknowledgement is one event: the most informative kind that the algorithm takes.
func TestOneAcknowledgementIsOneEvent(t *testing.T) {
	for _, c := range []struct {
		wants []cc.Kind
		want  cc.Kind
	}{
		{[]cc.Kind{cc.ACK, cc.ECN, cc.RTT}, cc.RTT},
		{[]cc.Kind{cc.ACK, cc.ECN}, cc.ECN},
		{[]cc.Kind{cc.ACK}, cc.ACK},
		{[]cc.Kind{cc.ECN}, cc.ECN},
		{[]cc.Kind{cc.RTT}, cc.RTT},
	} {
		wants := append(c.wants, cc.CNP) // to be ECN capable
		p, a, b, h := marked(t, true, 1, wants...)
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
			SGList: []SGE{a.mr.SGE(0, 64)}})
		require.Len(t, p.await(a, 1), 1)
		require.Len(t, h.received, 1)
		require.Equal(t, c.want, h.received[0].Kind)
		require.Equal(t, 1, h.received[0].Marked)
	}
}
