package transport

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Every acknowledgement is a delay sample: that of its newest packet.
func TestEachAckIsASample(t *testing.T) {
	p := newPair(t)
	h := &eventRecorder{kinds: cc.Events(cc.ACK, cc.RTT)}
	o := defaults()
	o.algorithm = h
	a, b := p.connected(o)
	for range 50 {
		for range 3 {
			a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr,
				RKey: b.mr.RKey, SGList: []SGE{a.mr.SGE(0, 2000)}})
			p.settle(300 * units.Nanosecond)
		}
		p.await(a, 3)
	}
	require.GreaterOrEqual(t, len(h.events), 140, "some ACKs cover two messages")
	packets := 0
	for _, ev := range h.events {
		require.Equal(t, cc.RTT, ev.Kind)
		require.InDelta(t, 2, ev.Delay.Microseconds(), 0.5,
			"a microsecond each way, and the polling delay of each end")
		packets += ev.Packets
	}
	require.Equal(t, 300, packets)
	require.Nil(t, a.qp.cong.times, "nothing is in flight")
}

// A packet that was sent twice is not a sample, because it is unknown which of the two was
// answered. The packets behind it are samples again.
func TestNoSampleOfRetransmissions(t *testing.T) {
	for _, sack := range []uint16{0, 512} {
		p := newPair(t)
		h := &eventRecorder{kinds: cc.Events(cc.ACK, cc.RTT)}
		o := defaults()
		o.algorithm, o.sack = h, sack
		a, b := p.connected(o)
		lost := 0
		p.la.tamper = func(frame []byte) int {
			var pkt wire.Packet
			if pkt.Parse(frame) == nil && pkt.PSN == 103 && lost < 2 {
				lost++
				return 0
			}
			return 1
		}
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
			SGList: []SGE{a.mr.SGE(0, 20*1024)}})
		p.await(a, 1)
		for _, ev := range h.events {
			if ev.Kind == cc.RTT {
				require.LessOrEqual(t, ev.Delay.Microseconds(), 3., "%d SACK bits: %+v", sack, ev)
			}
		}
		h.events = nil
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
			SGList: []SGE{a.mr.SGE(0, 64)}})
		p.await(a, 1)
		require.Equal(t, cc.RTT, h.events[len(h.events)-1].Kind)
	}
}

// The first response of a READ is a sample; the others wait for those before them.
func TestReadIsOneSample(t *testing.T) {
	p := newPair(t)
	h := &eventRecorder{kinds: cc.Events(cc.ACK, cc.RTT)}
	o := defaults()
	o.algorithm = h
	a, b := p.connected(o)
	a.post(t, WorkRequest{Op: OpRead, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
		SGList: []SGE{a.mr.SGE(0, 10*1024)}})
	p.await(a, 1)
	require.Len(t, h.events, 10)
	for i, ev := range h.events {
		require.Equal(t, i == 0, ev.Kind == cc.RTT, "response %d", i)
	}
}

// With more packets in flight than entries some packets are samples, each with its own send time.
func TestSamplesOfManyInFlight(t *testing.T) {
	p := newPair(t)
	h := &eventRecorder{kinds: cc.Events(cc.ACK, cc.RTT)}
	o := defaults()
	o.algorithm, o.mtu, o.memory, o.timeout = h, 256, 1<<20, 14
	p.la.delay, p.lb.delay = units.Millisecond, units.Millisecond
	a, b := p.connected(o)
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
		SGList: []SGE{a.mr.SGE(0, 2000*256)}})
	p.await(a, 1)
	samples := 0
	for _, ev := range h.events {
		if ev.Kind == cc.RTT {
			samples++
			require.InDelta(t, 2000, ev.Delay.Microseconds(), 20)
		}
	}
	require.Positive(t, samples)
	require.Equal(t, cc.RTT, h.events[0].Kind)
}
