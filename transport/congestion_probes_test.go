package transport

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// steered is an algorithm that a test controls. It records its events and their times.
type steered struct {
	qp       *QueuePair
	decision cc.Decision
	events   []cc.Event
	at       []units.Time
	on       func(ev *cc.Event, now units.Time) // may change decision
	discards bool                               // records nothing
}

func (s *steered) Events() cc.EventSet {
	return cc.Events(cc.ACK, cc.ECN, cc.RTT, cc.RTO, cc.OOO, cc.TX, cc.POST)
}

func (s *steered) Start(units.Time) cc.Decision { return s.decision }

func (s *steered) On(ev *cc.Event, now units.Time) cc.Decision {
	if !s.discards {
		s.events, s.at = append(s.events, *ev), append(s.at, now)
	}
	if s.on != nil {
		s.on(ev, now)
	}
	return s.decision
}

// steer changes the decision at once.
func (s *steered) steer(d cc.Decision) {
	s.decision = d
	s.qp.cong.applyDecision(d)
}

// probes returns the events of probes.
func (s *steered) probes() (evs []cc.Event) {
	for _, ev := range s.events {
		if ev.Probe {
			evs = append(evs, ev)
		}
	}
	return evs
}

// stop and resume leave ProbeAt alone.
func (s *steered) stop()   { s.decision.Window = 0; s.steer(s.decision) }
func (s *steered) resume() { s.decision.Window = units.MiB; s.steer(s.decision) }

func (s *steered) probeAt(t units.Time) { s.decision.ProbeAt = t; s.steer(s.decision) }

// steeredPair is a connection whose client's algorithm is steered. The neighbour entries are
// resolved.
func steeredPair(t *testing.T, o sideOptions) (p *pair, a, b *side, s *steered) {
	p = newPair(t)
	s = &steered{decision: cc.Decision{Window: units.MiB}}
	server := o
	o.algorithm = s
	a, b = o.make(t, p.a), server.make(t, p.b)
	s.qp = a.qp
	a.connect(t, o, b)
	b.connect(t, server, a)
	p.settle(10 * units.Microsecond)
	p.la.record, p.lb.record = true, true
	return p, a, b, s
}

func probing() sideOptions {
	o := defaults()
	o.features = wire.FeatureProbe
	o.memory = 4 << 20
	return o
}

// packets returns what a link carried.
func (l *link) packets() (ps []wire.Packet) {
	for _, frame := range l.sent {
		if p, ok := parsed(frame); ok {
			ps = append(ps, p)
		}
	}
	return ps
}

// A probe leaves at its time, whatever the window, waits in the queues of the data, and comes back
// in the class of ACKs. It takes no PSN and acknowledges nothing.
func TestProbe(t *testing.T) {
	o := probing()
	o.class, o.answers = 0x2a, 0xc0 // ECT(0)
	p, a, b, s := steeredPair(t, o)
	p.la.classes, p.lb.classes = 1, 1
	p.la.tamper = func(frame []byte) int {
		ip := wire.View[wire.IPv4](frame[wire.EthernetLen:])
		ip.TTL -= 2
		ip.UpdateChecksum()
		return 1
	}
	s.stop()
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
		SGList: []SGE{a.mr.SGE(0, 3000)}})
	p.settle(10 * units.Microsecond)
	require.Empty(t, p.la.packets(), "stopped")
	at := p.now.Add(5 * units.Microsecond)
	s.probeAt(at)
	p.settle(20 * units.Microsecond)

	probe, answer := p.la.packets(), p.lb.packets()
	require.Len(t, probe, 1)
	require.Len(t, answer, 1)
	require.Equal(t, wire.Probe, probe[0].Op)
	require.Equal(t, uint8(0x2a), probe[0].TOS(), "DSCP and ECN of data")
	require.Equal(t, a.qp.loss.una, probe[0].PSN)
	require.Equal(t, wire.ProbeAck, answer[0].Op)
	require.Equal(t, uint8(0xc0), answer[0].TOS(), "those of ACKs")

	require.Len(t, s.probes(), 1)
	ev := s.probes()[0]
	require.Equal(t, cc.RTT, ev.Kind)
	require.InDelta(t, 2000, ev.Delay.Microseconds()*1000, 0.1)
	require.Equal(t, 2, ev.Hops)
	require.InDelta(t, 1000, ev.OneWay.Microseconds()*1000, 1, "both have one clock here")
	require.Zero(t, ev.Packets)
	require.Zero(t, ev.Bytes)
	require.Zero(t, ev.InFlight)
	require.EqualValues(t, 3000, ev.Left)
	require.Less(t, s.at[len(s.at)-1].Sub(at.Add(2*units.Microsecond)), 200*units.Nanosecond,
		"by a slot of the wheel")

	s.resume()
	require.Len(t, p.await(a, 1), 1)
	require.Equal(t, probe[0].SrcPort, p.la.packets()[1].SrcPort)
	require.Equal(t, probe[0].TOS(), p.la.packets()[1].TOS())
	require.Equal(t, probe[0].PSN, p.la.packets()[1].PSN, "the probe took no PSN")
	require.EqualValues(t, 1, p.a.counters.ProbesSent)
	require.EqualValues(t, 1, p.b.counters.ProbesAnswered)
	require.EqualValues(t, 1, p.a.counters.ProbeAnswers)
}

// The time in the hosts is reported separately, as with data.
func TestProbeEndpointDelay(t *testing.T) {
	p, _, _, s := steeredPair(t, probing())
	const late = 7 * units.Microsecond
	s.probeAt(p.now)
	p.run(units.Microsecond, func() bool { return p.a.counters.ProbesSent == 1 })
	p.now = p.now.Add(units.Microsecond + late)
	p.b.Poll(p.now)
	p.now = p.now.Add(units.Microsecond + late)
	p.a.Poll(p.now)
	require.Len(t, s.probes(), 1)
	require.Equal(t, 2*units.Microsecond+2*late, s.probes()[0].Delay)
	require.Equal(t, 2*late, s.probes()[0].Endpoint)
	require.Zero(t, s.probes()[0].Hops)
}

// Each new time is a new probe, the same time is not. A probe that has not left is replaced.
func TestEachProbeTimeIsOneProbe(t *testing.T) {
	p, _, _, s := steeredPair(t, probing())
	sent := func() uint64 { p.settle(20 * units.Microsecond); return p.a.counters.ProbesSent }
	s.probeAt(p.now.Add(units.Microsecond))
	require.EqualValues(t, 1, sent())
	s.steer(s.decision)
	require.EqualValues(t, 1, sent(), "the same time")
	s.probeAt(p.now.Add(30 * units.Microsecond))
	require.EqualValues(t, 1, sent())
	s.probeAt(p.now.Add(40 * units.Microsecond))
	require.EqualValues(t, 1, sent(), "put off")
	require.EqualValues(t, 1, sent())
	require.EqualValues(t, 2, sent())
	s.probeAt(p.now.Add(30 * units.Microsecond))
	require.EqualValues(t, 2, sent())
	s.probeAt(0)
	require.EqualValues(t, 2, sent())
	require.EqualValues(t, 2, sent(), "taken back")
	require.Nil(t, s.qp.cong.cold().prober)
	s.probeAt(p.now.Add(-units.Microsecond))
	require.EqualValues(t, 3, sent(), "a time in the past means now")
	s.probeAt(0)
	require.Nil(t, s.qp.cong.cold().prober)
	require.Len(t, s.probes(), 3)
}

// Toward either kind of peer the loss of a probe is reported to the algorithm after the flow's
// timeout, and it requests the next one; the queue pair survives many losses, and so does its data.
func TestLostProbes(t *testing.T) {
	for _, features := range []wire.Features{wire.FeatureProbe, 0} {
		o := probing()
		o.features, o.retries = features, 1
		p, a, b, s := steeredPair(t, o)
		s.on = func(ev *cc.Event, now units.Time) {
			if ev.Probe && ev.Kind == cc.RTO {
				s.decision.ProbeAt = now.Add(units.Microsecond)
			}
		}
		fill(a.mem[:10000], 3)
		s.stop()
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
			SGList: []SGE{a.mr.SGE(0, 10000)}})
		p.la.tamper = func([]byte) int { return 0 }
		s.probeAt(p.now)
		rto := wire.AckTimeout(o.timeout)
		p.settle(50 * (rto + units.Microsecond))
		require.InDelta(t, 50, len(s.probes()), 1)
		for _, ev := range s.probes() {
			require.Equal(t, cc.RTO, ev.Kind)
			require.Equal(t, uint32(a.qp.loss.una), ev.PSN)
		}
		require.EqualValues(t, len(s.probes()), p.a.counters.ProbesLost)
		require.Zero(t, p.a.counters.Timeouts)
		require.Equal(t, ReadyToSend, a.qp.State())
		p.la.tamper = nil
		s.events = nil
		p.settle(2 * rto)
		require.Equal(t, cc.RTT, s.probes()[len(s.probes())-1].Kind, "%v", features)
		s.resume()
		require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
		require.Equal(t, a.mem[:10000], b.mem[:10000])
	}
}

// A flow that only probes ends when its peer is gone, like one whose packets are not acknowledged.
// A flow that has nothing to send does not.
func TestProbesOfAPeerThatIsGone(t *testing.T) {
	for _, features := range []wire.Features{wire.FeatureProbe, 0} {
		o := probing()
		o.features = features
		p, a, b, s := steeredPair(t, o)
		s.on = func(ev *cc.Event, now units.Time) {
			if ev.Probe && ev.Kind == cc.RTO {
				s.decision.ProbeAt = now.Add(units.Microsecond)
			}
		}
		s.stop()
		p.la.tamper = func([]byte) int { return 0 }
		s.probeAt(p.now)
		p.settle(3 * minGateTimeout)
		require.Equal(t, ReadyToSend, a.qp.State(), "it has nothing to send")
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
			SGList: []SGE{a.mr.SGE(0, 10000)}})
		p.settle(minGateTimeout - units.Millisecond)
		require.Equal(t, ReadyToSend, a.qp.State(), "it has waited for a shorter time")
		p.settle(2 * units.Millisecond)
		require.Equal(t, Errored, a.qp.State())
		require.Equal(t, StatusRetryExcErr, p.await(a, 1)[0].Status)
		require.EqualValues(t, 1, p.a.counters.RetriesExceeded)
	}
}

// An answer counts once, and only while its probe is outstanding.
func TestStaleProbeResponses(t *testing.T) {
	p, _, _, s := steeredPair(t, probing())
	p.lb.tamper = func([]byte) int { return 2 }
	s.probeAt(p.now)
	p.settle(20 * units.Microsecond)
	require.Len(t, s.probes(), 1)
	require.EqualValues(t, 1, p.a.counters.DropStaleProbe, "a copy")

	p.lb.tamper = nil
	slow := true
	p.lb.late = func([]byte) units.Duration {
		if slow {
			slow = false
			return 10 * units.Microsecond
		}
		return 0
	}
	first := p.now
	s.probeAt(first)
	p.settle(3 * units.Microsecond)
	s.probeAt(p.now) // while the other one is outstanding
	second := p.now
	p.settle(20 * units.Microsecond)
	require.Len(t, s.probes(), 2)
	require.Less(t, s.probes()[1].Delay, 3*units.Microsecond,
		"the answer to the second, which overtook the first's")
	require.EqualValues(t, 2, p.a.counters.DropStaleProbe, "the first answer is stale")
	require.True(t, second.After(first))

	slow = true // the answer comes after the probe counts as lost
	p.lb.late = func([]byte) units.Duration { return 100 * units.Microsecond }
	s.probeAt(p.now)
	p.settle(300 * units.Microsecond)
	require.Len(t, s.probes(), 3)
	require.Equal(t, cc.RTO, s.probes()[2].Kind)
	require.EqualValues(t, 3, p.a.counters.DropStaleProbe)
}

// Each impossible probe and answer has a drop counter of its own, is not answered, and is not a
// sample.
func TestForgedProbes(t *testing.T) {
	for _, c := range []struct {
		name  string
		op    wire.Opcode
		mode  extension.ProbeMode
		psn   wire.PSN // PSNs begin with 100
		seq   uint8
		tag   uint16
		plain bool
		count func(*Stats) uint64
	}{
		{"PROBE", wire.Probe, extension.ProbeAlone, 100, 0, 0, false, func(c *Stats) uint64 {
			return c.ProbesAnswered
		}},
		{"PROBE from far behind: valid", wire.Probe, extension.ProbeAlone,
			(100 - 1<<16) & wire.PSNMask,
			0, 0, false, func(c *Stats) uint64 {
				return c.ProbesAnswered
			}},
		{"nothing agreed", wire.Probe, extension.ProbeAlone, 100, 0, 0, true,
			func(c *Stats) uint64 {
				return c.DropUnnegotiated
			}},
		{"another connection's tag", wire.Probe, extension.ProbeAlone, 100, 0, 1, false,
			func(c *Stats) uint64 {
				return c.DropTag
			}},
		{"PROBE that is a response", wire.Probe, extension.ProbeResponse, 100, 0, 0, false,
			func(c *Stats) uint64 {
				return c.DropProbe
			}},
		{"PROBE beside data", wire.Probe, 1, 100, 0, 0, false, func(c *Stats) uint64 {
			return c.DropProbe
		}},
		{"PROBE from too far ahead", wire.Probe, extension.ProbeAlone, 101 + 1<<16, 0, 0, false,
			func(c *Stats) uint64 {
				return c.DropProbe
			}},
		{"PROBE from too far behind", wire.Probe, extension.ProbeAlone, (99 - 1<<16) & wire.PSNMask,
			0,
			0, false, func(c *Stats) uint64 {
				return c.DropProbe
			}},
		{"answer, nothing agreed", wire.ProbeAck, extension.ProbeResponse, 99, 1, 0, true,
			func(c *Stats) uint64 {
				return c.DropUnnegotiated
			}},
		{"answer with another tag", wire.ProbeAck, extension.ProbeResponse, 99, 1, 1, false,
			func(c *Stats) uint64 {
				return c.DropTag
			}},
		{"answer that is not a response", wire.ProbeAck, extension.ProbeAlone, 99, 1, 0, false,
			func(c *Stats) uint64 {
				return c.DropProbe
			}},
		{"answer to a packet never sent", wire.ProbeAck, extension.ProbeResponse, 100, 1, 0, false,
			func(c *Stats) uint64 {
				return c.DropProbe
			}},
		{"answer from too far behind", wire.ProbeAck, extension.ProbeResponse,
			(99 - 1<<16) & wire.PSNMask, 1, 0, false, func(c *Stats) uint64 {
				return c.DropProbe
			}},
		{"answer to no probe", wire.ProbeAck, extension.ProbeResponse, 99, 1, 0, false,
			func(c *Stats) uint64 {
				return c.DropStaleProbe
			}},
		{"answer to another probe", wire.ProbeAck, extension.ProbeResponse, 99, 2, 0, false,
			func(c *Stats) uint64 {
				return c.DropStaleProbe
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			o := probing()
			if c.plain {
				o.features = wire.FeatureTiming
			}
			s := &steered{decision: cc.Decision{Window: units.MiB}}
			a := o.make(t, p.a)
			o.algorithm = s
			b := o.make(t, p.b)
			s.qp = b.qp
			a.connect(t, o, b)
			b.connect(t, o, a)
			p.settle(units.Microsecond)
			if c.seq == 2 {
				p.lb.tamper = func([]byte) int { return 0 } // no acknowledgements
				s.probeAt(p.now)
				p.settle(units.Microsecond)
			}
			f := newForger(p, b)
			f.send(wire.Fields{Op: c.op, PSN: c.psn}, 0, func(ext []byte) {
				wire.View[wire.XCH](ext).Set(b.tag()^c.tag, 0)
				if c.op == wire.Probe {
					extension.ProbeField(ext[wire.XCHLen:]).Set(c.mode, c.seq, p.now)
					return
				}
				var field [extension.ProbeLen]byte
				extension.ProbeField(field[:]).Set(c.mode, c.seq, p.now)
				extension.ProbeEcho(ext[wire.XCHLen:]).Set(field[:], 0, p.now, 64, 0)
				ext[wire.XCHLen] = uint8(c.mode)
			}, nil)
			p.settle(units.Microsecond)
			require.EqualValues(t, 1, c.count(&p.b.counters), "%+v", p.b.counters)
			require.Equal(t,
				c.op == wire.Probe && c.count(&p.b.counters) == p.b.counters.ProbesAnswered,
				p.b.counters.ProbesAnswered == 1)
			require.Empty(t, s.probes())
			require.Equal(t, ReadyToSend, b.qp.State())
			p.conserved()
		})
	}
}

// An answer that claims a residence time longer than the round trip is a sample without it.
func TestProbeWithImpossibleResidence(t *testing.T) {
	p, _, _, s := steeredPair(t, probing())
	p.lb.tamper = func(frame []byte) int {
		if q, ok := parsed(frame); ok && q.Op == wire.ProbeAck {
			f := bytes.Clone(extension.ProbeEcho(q.Body()).Field())
			extension.ProbeEcho(q.Body()).Set(f, units.Second, 0, 64, 0)
			q.SetICRC()
		}
		return 1
	}
	s.probeAt(p.now)
	p.settle(20 * units.Microsecond)
	require.Len(t, s.probes(), 1)
	require.Zero(t, s.probes()[0].Endpoint)
	require.EqualValues(t, 1, p.a.counters.BadTiming)
}

// However many probes arrive, a queue pair acknowledges one in probeInterval.
func TestProbeFlood(t *testing.T) {
	p := newPair(t)
	_, b := p.connected(probing())
	p.settle(units.Microsecond)
	f := newForger(p, b)
	const each, rounds = 10, 100
	begun := p.now
	for range rounds {
		for seq := range uint8(each) {
			f.send(wire.Fields{Op: wire.Probe, PSN: 100}, 0, func(ext []byte) {
				wire.View[wire.XCH](ext).Set(b.tag(), 0)
				extension.ProbeField(ext[wire.XCHLen:]).Set(extension.ProbeAlone, seq, p.now)
			}, nil)
		}
		p.settle(50 * units.Nanosecond)
	}
	answered := p.b.counters.ProbesAnswered
	require.LessOrEqual(t, answered, uint64(p.now.Sub(begun)/probeInterval)+1)
	require.Greater(t, answered, uint64(10))
	require.Positive(t, p.b.counters.DropProbeRate)
}

// A window of 0 stops a flow inside a message. Packets in flight are acknowledged or time out as
// usual; lost packets wait, and cost one retry however long they wait.
func TestStoppedFlow(t *testing.T) {
	for _, sack := range []uint16{0, 512} {
		for _, lossy := range []bool{false, true} {
			o := probing()
			o.sack, o.retries = sack, 2
			p, a, b, s := steeredPair(t, o)
			const size = 1 << 20
			fill(a.mem[:size], 9)
			count := 0
			s.on = func(ev *cc.Event, _ units.Time) {
				if ev.Kind == cc.RTT {
					if count++; count == 3 && lossy {
						p.la.tamper = func([]byte) int { return 0 }
					} else if count >= 4 {
						s.decision.Window = 0
					}
				}
			}
			s.steer(cc.Decision{Window: 20 * units.KiB, Rate: 10 * units.Gbps})
			a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr,
				RKey: b.mr.RKey, SGList: []SGE{a.mr.SGE(0, size)}})
			p.settle(10 * units.Millisecond)
			last := s.events[len(s.events)-1]
			if lossy {
				require.Equal(t, cc.RTO, last.Kind, "it timed out")
				require.EqualValues(t, 1, p.a.counters.Timeouts, "and nothing was sent since")
			} else {
				require.Zero(t, last.InFlight)
				require.EqualValues(t, size, last.Left+sum(s.events))
				require.Zero(t, p.a.counters.Timeouts)
			}
			p.la.sent = nil
			p.settle(10 * units.Millisecond)
			require.Empty(t, p.la.sent)
			s.on, p.la.tamper = nil, nil
			s.resume()
			require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
			require.True(t, bytes.Equal(a.mem[:size], b.mem[:size]))
			require.Zero(t, s.events[len(s.events)-1].Left)
		}
	}
}

func sum(evs []cc.Event) (n units.Bytes) {
	for _, ev := range evs {
		if ev.Kind == cc.RTT || ev.Kind == cc.ACK {
			n += ev.Bytes
		}
	}
	return n
}

// POST is reported when something is posted to an idle queue pair, before it leaves, and its
// Decision applies to the first packet; it is not reported for what is posted behind.
func TestPost(t *testing.T) {
	p, a, b, s := steeredPair(t, probing())
	write := func(n int) {
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
			SGList: []SGE{a.mr.SGE(0, n)}})
	}
	s.on = func(ev *cc.Event, _ units.Time) {
		if ev.Kind == cc.POST {
			s.decision.Window = 0
		}
	}
	write(3000)
	write(500)
	write(0)
	p.settle(10 * units.Microsecond)
	require.Empty(t, p.la.packets())
	require.Len(t, s.events, 1)
	require.Equal(t, cc.POST, s.events[0].Kind)
	require.EqualValues(t, 3500, s.events[0].Left, "all that was posted by then")
	s.resume()
	require.Len(t, p.await(a, 3), 3)
	kinds := map[cc.Kind]int{}
	for _, ev := range s.events {
		kinds[ev.Kind]++
	}
	require.Equal(t, 1, kinds[cc.POST])
	write(0)
	p.settle(units.Microsecond)
	require.Equal(t, cc.POST, s.events[len(s.events)-1].Kind, "a message without payload, too")
}

// Left is not 0 while messages without payload are posted: an algorithm that stopped would not
// begin again for them.
func TestLeftWithoutPayload(t *testing.T) {
	p, a, b, s := steeredPair(t, probing())
	s.steer(cc.Decision{Window: 1})
	var left []units.Bytes
	s.on = func(ev *cc.Event, _ units.Time) {
		if ev.Kind == cc.RTT || ev.Kind == cc.ACK {
			left = append(left, ev.Left)
		}
	}
	for _, n := range []int{700, 0, 0} {
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
			SGList: []SGE{a.mr.SGE(0, n)}})
	}
	require.Len(t, p.await(a, 3), 3)
	require.NotZero(t, left[0], "two messages have not been acknowledged: %v", left)
	require.Zero(t, left[len(left)-1])
}

// A paced flow gets POST, too, before its first packet has a start time.
func TestPostOfPacedFlow(t *testing.T) {
	p, a, b, s := steeredPair(t, probing())
	s.steer(cc.Decision{Window: units.MiB, Rate: 10 * units.Gbps})
	s.on = func(ev *cc.Event, _ units.Time) {
		if ev.Kind == cc.POST {
			s.decision.Window = 0
		}
	}
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
		SGList: []SGE{a.mr.SGE(0, 5000)}})
	p.settle(50 * units.Microsecond)
	require.Empty(t, p.la.packets())
	require.Len(t, s.events, 1)
	s.resume()
	require.Len(t, p.await(a, 1), 1)
}

// Left is what is posted and not acknowledged, whatever the operation, and ends at 0.
func TestLeft(t *testing.T) {
	seed := testSeed(t)
	for _, sack := range []uint16{0, 512} {
		rng := rand.New(rand.NewPCG(seed, uint64(sack)))
		o := probing()
		o.sack = sack
		p, a, b, s := steeredPair(t, o)
		p.la.tamper = func([]byte) int { return min(1, rng.IntN(30)) }
		p.lb.tamper = func([]byte) int { return min(1, rng.IntN(30)) }
		s.decision.Window = 40 * units.KiB
		posted := units.Bytes(0)
		for i := range 60 {
			n := 8
			op := []Op{OpSend, OpWrite, OpWriteImm, OpRead, OpFetchAdd}[rng.IntN(5)]
			if op != OpFetchAdd {
				n = rng.IntN(20000)
			}
			b.recv(t, uint64(i), 1<<20, 20000)
			a.post(t, WorkRequest{Op: op, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
				SGList: []SGE{a.mr.SGE(0, n)}})
			posted += units.Bytes(n)
		}
		p.await(a, 60)
		before := posted
		for _, ev := range s.events {
			require.GreaterOrEqual(t, ev.Left, ev.InFlight, "%+v", ev)
			require.LessOrEqual(t, ev.Left, before, "nothing new was posted: %+v", ev)
			if ev.Kind == cc.TX {
				require.GreaterOrEqual(t, ev.Left, ev.Bytes)
			}
			before = ev.Left
		}
		require.Zero(t, s.events[len(s.events)-1].Left)
		require.Zero(t, a.qp.snd.cold().pending)
	}
}

// D2TCP's deadlines depend on Left: of two flows whose packets are marked, the one with the nearer
// deadline yields less.
func TestDeadlinesHold(t *testing.T) {
	path := cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 10 * units.Microsecond, Payload: 1024,
		Signals: cc.SignalDelay | cc.SignalMarks}
	window := func(deadline string) units.Bytes {
		spec, err := cc.Parse("d2tcp:alpha=0.5,deadline=" + deadline)
		require.NoError(t, err)
		o := probing()
		o.features |= wire.FeatureECNEcho
		o.algorithm, err = spec.New(path)
		require.NoError(t, err)
		p := newPair(t)
		p.la.delay, p.lb.delay = path.BaseRTT/2, path.BaseRTT/2
		a, b := p.connected(o)
		n := 0
		p.la.marking(func() bool { n++; return n%8 == 0 })
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey,
			SGList: []SGE{a.mr.SGE(0, 4<<20)}})
		p.settle(60 * units.Microsecond)
		require.NotZero(t, a.qp.snd.cold().pending, "inside the message")
		return a.qp.cong.window
	}
	near, none, far := window("20us"), window("0s"), window("1s")
	require.Greater(t, near, none)
	require.Greater(t, none, far)
}

// Probes allocate nothing, to either kind of peer.
func TestProbesAllocateNothing(t *testing.T) {
	for _, features := range []wire.Features{wire.FeatureProbe, 0} {
		o := probing()
		o.features = features
		s := &steered{decision: cc.Decision{Window: units.MiB}, discards: true}
		o.algorithm = s
		p, as, bs := crossedPair(t, o, 1)
		s.qp = as[0].qp
		stream := newStream(p, as[0], bs[0], OpSend, 4000)
		answers := uint64(0)
		round := func() {
			stream.burst(packet.Burst)
			s.probeAt(p.now)
			for was := p.a.counters.ProbeAnswers; p.a.counters.ProbeAnswers == was; {
				p.poll()
			}
			answers++
			s.probeAt(0)
		}
		for range 20 {
			round()
		}
		require.Zero(t, testing.AllocsPerRun(50, round))
		require.EqualValues(t, answers, p.a.counters.ProbeAnswers)
		require.Len(t, p.a.probers.free, 1, "given back each time")
	}
}

// stopAtRandom makes a flow stop at random, and go on at random when a probe is answered.
func (s *steered) stopAtRandom(rng *rand.Rand) {
	s.discards = true
	stopped := false
	s.on = func(ev *cc.Event, now units.Time) {
		switch {
		case ev.Probe && ev.Kind == cc.RTT && stopped && rng.IntN(3) > 0:
			stopped = false
			s.decision = cc.Decision{Window: units.Bytes(1 + rng.IntN(50_000))}
		case ev.Probe && stopped, !stopped && rng.IntN(20) == 0:
			stopped = true
			s.decision = cc.Decision{ProbeAt: now.Add(units.Duration(rng.IntN(10_000)) *
				units.Nanosecond)}
		}
	}
}

// Flows that stop and probe at random deliver all their messages over a link that loses, repeats
// and reorders, intact and in order, toward any kind of peer.
func TestFlowsThatStopAndProbeAtRandom(t *testing.T) {
	seed, notReady := testSeed(t), uint64(0)
	for i, c := range []struct {
		features wire.Features
		sack     uint16
	}{{wire.FeatureProbe, 512}, {wire.FeatureProbe, 0}, {0, 0}, {0, 128},
		{wire.FeatureProbe | wire.FeatureTiming | wire.FeatureECNEcho, 64}} {
		for _, bad := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			o := probing()
			o.features, o.sack, o.timeout = c.features, c.sack, 5
			p, a, b, s := steeredPair(t, o)
			p.la.record, p.lb.record = false, false
			s.stopAtRandom(rng)
			if bad {
				for _, l := range []*link{p.la, p.lb} {
					l.tamper = func([]byte) int {
						return 1 + (rng.IntN(50)+1)/50 - (rng.IntN(50)+1)/50
					}
					l.swap = func() bool { return rng.IntN(30) == 0 }
				}
			}
			const messages, slot = 40, 40_000
			fill(a.mem[:messages*slot], 1)
			fill(b.mem[messages*slot:][:messages*slot], 2)
			ops := make([]Op, messages)
			sizes := make([]int, messages)
			var receives []int
			for i := range messages {
				ops[i], sizes[i] = []Op{OpSend, OpWrite, OpWriteImm, OpRead,
					OpFetchAdd}[rng.IntN(5)], rng.IntN(slot)
				wr := WorkRequest{ID: uint64(i), Op: ops[i], Signaled: true, RKey: b.mr.RKey}
				switch ops[i] {
				case OpSend, OpWrite, OpWriteImm:
					wr.RemoteAddr = b.mr.Addr + uint64(i*slot)
					wr.SGList = []SGE{a.mr.SGE(i*slot, sizes[i])}
				case OpRead:
					wr.RemoteAddr = b.mr.Addr + uint64((messages+i)*slot)
					wr.SGList = []SGE{a.mr.SGE((messages+i)*slot, sizes[i])}
				case OpFetchAdd:
					wr.RemoteAddr, wr.CompareAdd = b.mr.Addr+4<<20-8, 1
					wr.SGList = []SGE{a.mr.SGE(4<<20-8, 8)}
				}
				if ops[i] == OpSend || ops[i] == OpWriteImm {
					receives = append(receives, i)
				}
				a.post(t, wr)
			}
			rounds := 0
			// the peer is not ready for all of them
			require.True(t, p.run(20*units.Second, func() bool {
				if rounds++; rounds%10 == 0 && len(receives) > 0 {
					b.recv(t, 0, receives[0]*slot, slot)
					receives = receives[1:]
				}
				return len(a.poll()) == messages
			}), "%v, %v: %d messages\na %+v\nb %+v", c, bad, len(a.comp), p.a.counters,
				p.b.counters)
			for i, wc := range a.comp {
				require.Equal(t, StatusSuccess, wc.Status, "%v, %v: message %d", c, bad, i)
				require.EqualValues(t, i, wc.ID)
			}
			adds := uint64(0)
			for i, op := range ops {
				switch op {
				case OpSend, OpWrite, OpWriteImm:
					require.True(t,
						bytes.Equal(a.mem[i*slot:][:sizes[i]], b.mem[i*slot:][:sizes[i]]),
						"%v, %v: %v %d", c, bad, op, i)
				case OpRead:
					at := (messages + i) * slot
					require.True(t, bytes.Equal(a.mem[at:][:sizes[i]], b.mem[at:][:sizes[i]]),
						"%v, %v: READ %d", c, bad, i)
				case OpFetchAdd:
					adds++
				}
			}
			require.Equal(t, adds, binary.NativeEndian.Uint64(b.mem[4<<20-8:]))
			require.Positive(t, p.a.counters.ProbesSent)
			require.Positive(t, p.a.counters.ProbeAnswers)
			notReady += p.b.counters.RNRSent
			s.on = nil
			s.steer(cc.Decision{Window: units.MiB})
			p.conserved()
		}
	}
	require.Positive(t, notReady)
}
