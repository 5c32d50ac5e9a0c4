package transport

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// telemetryRecorder is an algorithm that reads telemetry and records it.
type telemetryRecorder struct {
	eventRecorder
	hops [][]cc.Hop
}

func (s *telemetryRecorder) Telemetry() int { return 2 }
func (s *telemetryRecorder) On(ev *cc.Event, now units.Time) cc.Decision {
	s.hops = append(s.hops, append([]cc.Hop(nil), ev.INT...))
	return s.eventRecorder.On(ev, now)
}

// What switches write into requests comes back with the ACKs, to the algorithm that reads it.
func TestTelemetryIsEchoed(t *testing.T) {
	for _, sack := range []uint16{0, 512} {
		p := newPair(t)
		h := &telemetryRecorder{eventRecorder: eventRecorder{kinds: cc.Events(cc.ACK)}}
		o := defaults()
		o.algorithm, o.features, o.sack = h, wire.FeatureINT, sack
		a, b := p.connected(o)
		packets := uint32(0)
		p.la.tamper = func(frame []byte) int {
			var pkt wire.Packet
			if pkt.Parse(frame) == nil && pkt.Op == wire.XDATA {
				packets++
				for port := range uint16(3) { // one more than there is room for
					extension.Stamp(wire.SwitchTLV(frame),
						extension.INTRecord{Port: port, Rate: 100 * units.Gbps,
							Time: p.now, Sent: units.Bytes(packets), Queue: 42})
				}
			}
			return 1
		}
		fill(a.mem[:9000], 5)
		for _, op := range []Op{OpWrite, OpSend, OpWriteImm} {
			b.recv(t, 1, 10000, 9000)
			a.post(t, WorkRequest{Op: op, Signaled: true, RemoteAddr: b.mr.Addr + 10000,
				RKey: b.mr.RKey, SGList: []SGE{a.mr.SGE(0, 9000)}})
			require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status, "%v", op)
			require.Equal(t, a.mem[:9000], b.mem[10000:19000], "%v", op)
			if op == OpWrite {
				b.qp.rcv.queue.pop() // its receive was not consumed
			}
		}
		require.EqualValues(t, 27, packets, "each request packet has room")
		require.NotEmpty(t, h.hops)
		for _, hops := range h.hops {
			require.Len(t, hops, 2)
			for i, hop := range hops {
				require.EqualValues(t, i, hop.Port)
				require.Equal(t, 100*units.Gbps, hop.Rate)
				require.EqualValues(t, 42, hop.Queue)
			}
		}
		last := h.hops[len(h.hops)-1][0]
		require.EqualValues(t, packets, last.Sent, "the newest")
	}
}

// A peer that has not agreed gets plain packets.
func TestNoTelemetryForPlainPeers(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.algorithm = &telemetryRecorder{eventRecorder: eventRecorder{kinds: cc.Events(cc.ACK)}}
	a, b := p.connected(o)
	p.la.record = true
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
		SGList: []SGE{a.mr.SGE(0, 3000)}})
	p.await(a, 1)
	for _, frame := range p.la.sent {
		var pkt wire.Packet
		if pkt.Parse(frame) == nil {
			require.NotEqual(t, wire.XDATA, pkt.Op)
		}
	}
}

// No packet allocates, whatever controls it and whatever both ends report about it.
func TestControlAllocatesNothing(t *testing.T) {
	path := cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 10 * units.Microsecond, Payload: 1024,
		Signals: cc.SignalDelay | cc.SignalEndpoint | cc.SignalMarks | cc.SignalINT | cc.SignalSRC}
	for _, name := range []string{"swift", "dctcp", "hpcc", "bolt", "timely", "ledbat", "dcqcn"} {
		spec, err := cc.Parse(name)
		require.NoError(t, err)
		o := defaults()
		o.features = wire.FeatureTiming | wire.FeatureECNEcho | wire.FeatureINT | wire.FeatureBolt
		o.algorithm, err = spec.New(path)
		require.NoError(t, err)
		p, as, bs := crossedPair(t, o, 1)
		s := newStream(p, as[0], bs[0], OpSend, 4000)
		for range 20 {
			s.burst(packet.Burst)
		}
		require.Zero(t, testing.AllocsPerRun(50, func() { s.burst(packet.Burst) }), name)
	}
}
