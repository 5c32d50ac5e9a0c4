package transport

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// timedPair is a connection whose ends separate host delay from fabric delay, or do not.
func timedPair(t *testing.T, features wire.Features) (p *pair, a, b *side, h *eventRecorder) {
	p = newPair(t)
	h = &eventRecorder{kinds: cc.Events(cc.ACK, cc.RTT)}
	o := defaults()
	o.algorithm, o.features = h, features
	a, b = p.connected(o)
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
		SGList: []SGE{a.mr.SGE(0, 64)}})
	require.Len(t, p.await(a, 1), 1) // the neighbour entries are resolved
	p.la.record, p.lb.record, h.events = true, true, nil
	return p, a, b, h
}

func TestEndpointDelayIsSeparate(t *testing.T) {
	p, a, b, h := timedPair(t, wire.FeatureTiming)
	const late = 7 * units.Microsecond // delay of each end's poll, as on a busy host
	for range 20 {
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
			SGList: []SGE{a.mr.SGE(0, 3000)}})
		p.a.Poll(p.now)
		p.now = p.now.Add(units.Microsecond + late) // the server sleeps meanwhile
		p.b.Poll(p.now)
		p.now = p.now.Add(units.Microsecond + late) // and so does the client
		p.a.Poll(p.now)
		require.Len(t, p.await(a, 1), 1)
	}
	require.Len(t, h.events, 20)
	for _, ev := range h.events {
		require.Equal(t, cc.RTT, ev.Kind)
		require.Equal(t, 2*units.Microsecond+2*late, ev.Delay)
		require.Equal(t, 2*late, ev.Endpoint)
		require.InDelta(t, 1000, ev.OneWay.Microseconds()*1000, 1, "both have one clock here")
		require.Zero(t, ev.Hops)
	}
	require.Zero(t, p.a.counters.BadTiming)
}

// Toward a peer that has not agreed, and for an algorithm that takes no delays, there is no timing.
func TestNoTimingForPlainPeers(t *testing.T) {
	for _, features := range []wire.Features{0, wire.FeatureECNEcho, wire.FeatureTiming} {
		p, a, b, h := timedPair(t, features)
		if features == wire.FeatureTiming {
			a.qp.cong.events = cc.Events(cc.ACK)
		}
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
			SGList: []SGE{a.mr.SGE(0, 3000)}})
		require.Len(t, p.await(a, 1), 1)
		for _, frame := range append(p.la.sent, p.lb.sent...) {
			var pkt wire.Packet
			if pkt.Parse(frame) == nil {
				require.Zero(t, pkt.BTH().Ack&^wire.BTHAckReq)
				require.NotEqual(t, wire.XACK, pkt.Op)
			}
		}
		for _, ev := range h.events {
			require.Zero(t, ev.Endpoint)
		}
	}
}

// Hops are what was taken from the hop limit on the way.
func TestHopsAreCounted(t *testing.T) {
	p, a, b, h := timedPair(t, wire.FeatureTiming)
	p.la.tamper = func(frame []byte) int {
		var pkt wire.Packet
		if pkt.Parse(frame) == nil {
			ip := wire.View[wire.IPv4](frame[wire.EthernetLen:])
			ip.TTL -= 3
			ip.UpdateChecksum()
		}
		return 1
	}
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
		SGList: []SGE{a.mr.SGE(0, 64)}})
	require.Len(t, p.await(a, 1), 1)
	require.Equal(t, 3, h.events[0].Hops)
}

// A residence time longer than the whole round trip is ignored.
func TestImpossibleTiming(t *testing.T) {
	p, a, b, h := timedPair(t, wire.FeatureTiming)
	p.lb.tamper = func(frame []byte) int {
		var pkt wire.Packet
		if pkt.Parse(frame) == nil && pkt.Op == wire.XACK {
			extension.TLVs(pkt.TLVs()).Timing().Set(
				uint32(wire.PSN(extension.TLVs(pkt.TLVs()).Timing().PSN())), 64, units.Second, 0)
			pkt.SetICRC()
		}
		return 1
	}
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
		SGList: []SGE{a.mr.SGE(0, 64)}})
	require.Len(t, p.await(a, 1), 1)
	require.EqualValues(t, 1, p.a.counters.BadTiming)
	require.Equal(t, cc.RTT, h.events[0].Kind)
	require.Zero(t, h.events[0].Endpoint)
}
