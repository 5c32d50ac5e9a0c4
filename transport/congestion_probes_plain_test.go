package transport

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// withoutProbes returns the options of a connection to a peer without probes; with SACK bits it is
// an older peer of ours.
func withoutProbes(sack uint16) sideOptions {
	o := probing()
	o.features, o.sack = 0, sack
	return o
}

// probeRepeatedly requests n probes one after another, each some time after the response to the
// one before.
func (s *steered) probeRepeatedly(n int, now units.Time, after func()) {
	s.on = func(ev *cc.Event, now units.Time) {
		switch n--; {
		case !ev.Probe:
			n++
		case n > 0:
			s.decision.ProbeAt = now.Add(3 * units.Microsecond)
		default:
			s.decision.ProbeAt = 0
			after()
		}
	}
	s.probeAt(now.Add(units.Microsecond))
}

// A flow that is stopped inside a message probes a peer without probes, with no effect on the
// message, the queue pair, or the program at either end.
func TestProbesInsideAMessage(t *testing.T) {
	const size, n = 1 << 20, 20
	for _, sack := range []uint16{0, 512} {
		for _, op := range []Op{OpSend, OpWrite, OpWriteImm, OpRead} {
			t.Run(fmt.Sprint(op, sack), func(t *testing.T) {
				p, a, b, s := steeredPair(t, withoutProbes(sack))
				from, to := a, b
				if op == OpRead {
					from, to = b, a
				}
				fill(from.mem[:size], 9)
				b.recv(t, 1, 0, size)
				s.steer(cc.Decision{Window: 50 * units.KiB})
				acked := units.Bytes(0)
				s.on = func(ev *cc.Event, _ units.Time) {
					if acked += ev.Bytes; ev.Kind == cc.RTT && acked > size/2 {
						s.decision.Window = 0
					}
				}
				a.post(t, WorkRequest{Op: op, Signaled: true, RemoteAddr: b.mr.Addr,
					RKey: b.mr.RKey, SGList: []SGE{a.mr.SGE(0, size)}})
				p.settle(60 * units.Microsecond)
				require.EqualValues(t, 0, s.decision.Window, "stopped")
				left := a.qp.snd.unackedBytes()
				require.Less(t, left, units.Bytes(size))
				require.NotZero(t, left)
				una, ePSN := a.qp.loss.una, b.qp.rcv.ePSN

				p.la.sent = nil
				s.probeRepeatedly(n, p.now, func() { s.decision.Window = units.MiB })
				p.run(units.Millisecond, func() bool { return len(s.probes()) == n })
				require.Equal(t, una, a.qp.loss.una)
				require.Equal(t, ePSN, b.qp.rcv.ePSN)
				for _, probe := range p.la.packets()[:n] {
					require.Equal(t, wire.RCWriteOnly, probe.Op)
					require.Equal(t, una.Add(wire.PSNMask), probe.PSN,
						"the last acknowledged PSN")
					require.True(t, probe.AckReq)
					require.Empty(t, probe.Payload())
					require.Len(t, probe.Frame, 74)
				}
				for _, ev := range s.probes() {
					require.Equal(t, cc.RTT, ev.Kind)
					require.InDelta(t, 2, ev.Delay.Microseconds(), 0.001)
					require.Equal(t, left, ev.Left)
				}
				wcs := p.await(a, 1)
				require.Equal(t, StatusSuccess, wcs[0].Status)
				require.Empty(t, a.poll(), "no probe completes")
				require.True(t, bytes.Equal(from.mem[:size], to.mem[:size]))
				require.Zero(t, p.a.counters.Retransmitted)
				require.Zero(t, p.a.counters.DropStaleAck)
				require.Equal(t, ReadyToSend, a.qp.State())
				require.Equal(t, ReadyToSend, b.qp.State())
				p.conserved()
			})
		}
	}
}

// It does so before its first message, between messages of any kind, and without the right to write
// to the peer.
func TestProbesBetweenMessages(t *testing.T) {
	for _, may := range []Access{0, RemoteWrite | RemoteRead | RemoteAtomic} {
		p, a, b, s := steeredPair(t, withoutProbes(0))
		b.qp.access = may
		ops := []Op{OpSend}
		if may != 0 {
			ops = []Op{OpSend, OpRead, OpWrite, OpFetchAdd, OpSend}
		}
		for i, op := range append(ops, OpSend) {
			probed := false
			s.probeRepeatedly(3, p.now, func() { probed = true })
			require.True(t, p.run(units.Millisecond, func() bool {
				return probed
			}), "before %v", op)
			b.recv(t, uint64(i), 0, 3000)
			n := 3000
			if op == OpFetchAdd {
				n = 8
			}
			a.post(t, WorkRequest{Op: op, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
				SGList: []SGE{a.mr.SGE(0, n)}})
			require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
		}
		for _, ev := range s.probes() {
			require.Equal(t, cc.RTT, ev.Kind)
		}
		require.Equal(t, ReadyToSend, b.qp.State())
		p.conserved()
	}
}

// A probe waits until everything in flight is acknowledged: their acknowledgements could not be
// told apart.
func TestPlainProbeWaitsForWhatIsUnderWay(t *testing.T) {
	p, a, b, s := steeredPair(t, withoutProbes(0))
	p.la.delay, p.lb.delay = 20*units.Microsecond, 20*units.Microsecond
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
		SGList: []SGE{a.mr.SGE(0, 20000)}})
	p.settle(units.Microsecond)
	asked := p.now
	s.probeAt(asked)
	p.settle(30 * units.Microsecond)
	require.Zero(t, p.a.counters.ProbesSent)
	p.settle(60 * units.Microsecond)
	require.Len(t, s.probes(), 1)
	require.InDelta(t, 40, s.probes()[0].Delay.Microseconds(), 0.01, "since it left")
	require.Len(t, a.poll(), 1)
}

// Lost packets do not delay a probe for longer than the flow's timeout. The probe does not affect
// them, and they are retransmitted when the flow goes on.
func TestPlainProbeOfAFlowThatLost(t *testing.T) {
	for _, lost := range []string{"data", "ACKs"} {
		for _, sack := range []uint16{0, 512} {
			o := withoutProbes(sack)
			o.retries = 1
			p, a, b, s := steeredPair(t, o)
			fill(a.mem[:20000], 4)
			link := p.la
			if lost == "ACKs" {
				link = p.lb
			}
			link.tamper = func([]byte) int { return 0 }
			a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr,
				RKey: b.mr.RKey, SGList: []SGE{a.mr.SGE(0, 20000)}})
			p.settle(units.Microsecond)
			s.stop()
			s.probeAt(p.now)
			p.settle(10 * units.Microsecond)
			link.tamper = nil
			require.Zero(t, p.a.counters.ProbesSent)
			p.settle(100 * units.Microsecond)
			require.Len(t, s.probes(), 1, "%s %d", lost, sack)
			require.Equal(t, cc.RTT, s.probes()[0].Kind)
			require.EqualValues(t, 1, p.a.counters.Timeouts)
			if lost == "ACKs" {
				require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status,
					"acknowledged by the probe's answer")
				continue
			}
			require.Zero(t, p.a.counters.Retransmitted)
			s.resume()
			require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
			require.Equal(t, a.mem[:20000], b.mem[:20000])
		}
	}
}

// When data leaves behind a probe, the probe's answer cannot be recognised, and is not a sample.
func TestDataBehindAPlainProbe(t *testing.T) {
	p, a, b, s := steeredPair(t, withoutProbes(0))
	p.la.tamper = func(frame []byte) int { // the probe is lost
		if q, ok := parsed(frame); ok && q.Op == wire.RCWriteOnly && len(q.Payload()) == 0 {
			return 0
		}
		return 1
	}
	s.probeAt(p.now)
	require.True(t, p.run(units.Microsecond, func() bool { return p.a.counters.ProbesSent == 1 }))
	a.post(t, WorkRequest{Op: OpSend, Signaled: true, SGList: []SGE{a.mr.SGE(0, 3000)}})
	b.recv(t, 1, 0, 3000)
	p.await(a, 1)
	p.settle(units.Millisecond)
	require.Empty(t, s.probes())
	p.la.tamper = nil
	s.probeAt(p.now)
	p.settle(10 * units.Microsecond)
	require.Len(t, s.probes(), 1, "only the next one")
}

// A probe that waits for a lost one is not lost with it.
func TestPlainProbesOneAfterAnother(t *testing.T) {
	p, _, _, s := steeredPair(t, withoutProbes(0))
	p.la.tamper = func([]byte) int { return 0 }
	s.probeAt(p.now)
	p.settle(5 * units.Microsecond)
	s.probeAt(p.now)
	p.settle(5 * units.Microsecond)
	require.EqualValues(t, 1, p.a.counters.ProbesSent)
	p.la.tamper = nil
	p.settle(100 * units.Microsecond)
	require.Len(t, s.probes(), 2)
	require.Equal(t, cc.RTO, s.probes()[0].Kind)
	require.Equal(t, cc.RTT, s.probes()[1].Kind)
	require.InDelta(t, 2, s.probes()[1].Delay.Microseconds(), 0.001)
}

// Unreliable services have no probes.
func TestNoProbesWithoutAcknowledgements(t *testing.T) {
	o := withoutProbes(0)
	o.kind = UC
	p, _, _, s := steeredPair(t, o)
	s.probeAt(p.now.Add(units.Microsecond))
	p.settle(units.Millisecond)
	require.Zero(t, p.a.counters.ProbesSent)
	require.Nil(t, s.qp.cong.cold().prober)
}
