package transport

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// boltAlgorithm is an algorithm that takes switches' events. It records its events, and requests
// the given flags.
type boltAlgorithm struct {
	tags   cc.BoltFlags
	window units.Bytes
	events []cc.Event
}

func (*boltAlgorithm) Events() cc.EventSet { return cc.Events(cc.ACK, cc.RTT, cc.CST, cc.TX) }

func (b *boltAlgorithm) Start(units.Time) cc.Decision {
	return cc.Decision{Window: b.window, Tags: b.tags}
}

func (b *boltAlgorithm) On(ev *cc.Event, now units.Time) cc.Decision {
	if ev.Kind != cc.TX {
		b.events = append(b.events, *ev)
	}
	return b.Start(now)
}

// boltPair is a connection controlled by a boltAlgorithm. Its request frames pass through an
// emulated switch.
func boltPair(t *testing.T, algorithm cc.Algorithm, sack uint16,
	at func(frame []byte, flags extension.Bolt)) (p *pair, a, b *side) {
	p = newPair(t)
	o := defaults()
	o.algorithm, o.features, o.sack = algorithm, wire.FeatureBolt, sack
	a, b = p.connected(o)
	p.la.tamper = func(frame []byte) int {
		if flags := extension.AsBolt(wire.SwitchTLV(frame)); flags != nil {
			at(frame, flags)
		}
		return 1
	}
	return p, a, b
}

// The flags of wire and cc have the same values.
func TestBoltFlags(t *testing.T) {
	for mine, theirs := range map[cc.BoltFlags]extension.BoltFlags{
		cc.BoltFirst: extension.BoltFirst,
		cc.BoltLast:  extension.BoltLast,
		cc.BoltINC:   extension.BoltINC, cc.BoltDEC: extension.BoltDEC,
		cc.BoltAI: extension.BoltAI} {
		assert.EqualValues(t, mine, theirs)
	}
}

// Packets of a window that is followed by another request an increase, those of the last do not.
// Each request for AI marks one packet.
func TestBoltFlagsOnPackets(t *testing.T) {
	var sent []extension.BoltFlags
	h := &boltAlgorithm{window: 3 * 1024, tags: cc.BoltAI}
	p, a, b := boltPair(t, h, 0, func(_ []byte, f extension.Bolt) {
		sent = append(sent, f.Flags())
		h.tags = 0
	})
	fill(a.mem[:6*1024], 3)
	a.write(t, b, 2*1024)
	a.write(t, b, 4*1024)
	p.await(a, 2)
	require.Equal(t, a.mem[:4096], b.mem[:4096])
	inc, last := extension.BoltINC, extension.BoltLast
	require.Equal(t, []extension.BoltFlags{inc | extension.BoltAI, inc, inc, last, last, last},
		sent)
	sent = nil
	a.qp.cong.cold().echo.bolt.tags = cc.BoltFirst
	a.write(t, b, 4*1024)
	p.await(a, 1)
	first := extension.BoltFirst
	require.Equal(t, []extension.BoltFlags{first, first | last, first | last, first | last}, sent)
}

// The increases that switches allow come back as a count, and their reports as the newest one.
func TestBoltEchoReachesTheSender(t *testing.T) {
	for _, sack := range []uint16{0, 512} {
		n := 0
		h := &boltAlgorithm{window: units.MiB}
		p, a, b := boltPair(t, h, sack, func(_ []byte, f extension.Bolt) {
			switch n++; n % 4 {
			case 1:
				f.Clear(extension.BoltINC)
			case 2:
				f.Congest(extension.QueueReport{Drain: units.Duration(n) * units.Microsecond,
					Rate: 100 * units.Gbps})
			}
		})
		h.window = 1024 // every packet but the last one asks
		a.qp.cong.applyDecision(h.Start(0))
		a.write(t, b, 40*1024)
		p.await(a, 1)
		require.Equal(t, 40, n)
		increases, packets, last := 0, 0, cc.SRC{}
		for _, ev := range h.events {
			increases += ev.Increases
			packets += ev.Packets
			require.Equal(t, ev.Increases > 0, ev.Bolt&cc.BoltINC != 0)
			require.Equal(t, ev.SRC != cc.SRC{}, ev.Bolt&cc.BoltDEC != 0)
			if ev.SRC.Rate != 0 {
				last = ev.SRC
			}
		}
		require.Equal(t, 40, packets)
		require.Equal(t, 19, increases,
			"each third and fourth, except the last one, which has no flag")
		require.Equal(t, cc.SRC{Drain: 38 * units.Microsecond, Rate: 100 * units.Gbps}, last)
	}
}

// The loss of an ACK loses no increase: the next ACK has the total.
func TestBoltSurvivesLostACKs(t *testing.T) {
	seed := testSeed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	h := &boltAlgorithm{window: 1024}
	p, a, b := boltPair(t, h, 512, func([]byte, extension.Bolt) {})
	p.lb.tamper = func(frame []byte) int { return rng.IntN(2) }
	a.qp.cong.applyDecision(cc.Decision{Window: 8 * 1024})
	h.window = 8 * 1024
	a.write(t, b, 60*1024)
	p.await(a, 1)
	increases := 0
	for _, ev := range h.events {
		increases += ev.Increases
	}
	require.GreaterOrEqual(t, increases, 52,
		"60 packets less the last window requested an increase, and got it")
	require.LessOrEqual(t, increases, 60)
}

// A switch's report is an event at once, with the send time of its packet.
func TestSwitchReports(t *testing.T) {
	var left units.Time
	h := &boltAlgorithm{window: units.MiB}
	var p *pair
	report := extension.QueueReport{Drain: 5 * units.Microsecond, Rate: 400 * units.Gbps}
	spoil := func([]byte) {}
	p, a, b := boltPair(t, h, 0, func(frame []byte, f extension.Bolt) {
		if left != 0 {
			return
		}
		left = p.now
		src := wire.BuildSRC(make([]byte, 128), frame, 0xe0, report.Bytes())
		spoil(src)
		var one [1]packet.Buf
		p.la.Alloc(one[:])
		one[0].SetLen(copy(one[0].Room(), src))
		one[0].Time = p.now.Add(300 * units.Nanosecond)
		p.la.inbox = append([]packet.Buf{one[0]}, p.la.inbox...)
	})
	a.write(t, b, 64)
	p.await(a, 1)
	require.NotEmpty(t, h.events)
	ev := h.events[0]
	require.Equal(t, cc.CST, ev.Kind)
	require.Equal(t, cc.SRC{Drain: report.Drain, Rate: report.Rate, Sent: left}, ev.SRC)
	require.EqualValues(t, 64, ev.InFlight, "before the ACK")
	require.EqualValues(t, 1, p.a.counters.SwitchReports)

	for name, c := range map[string]struct {
		spoil func(*wire.Packet)
		count *uint64
	}{
		"another connection's tag": {func(p *wire.Packet) {
			p.XCH().Tag[1]++
		}, &p.a.counters.DropTag},
		"a packet never sent": {func(p *wire.Packet) {
			p.BTH().PSN.Set(uint32(p.PSN.Add(1)))
		}, &p.a.counters.DropGhostReport},
		"another sender": {func(p *wire.Packet) {
			p.BTH().DestQP.Set(uint32(p.DestQP + 1))
		}, &p.a.counters.DropUnknownQP},
		"not from the peer's address": {func(p *wire.Packet) {
			p.IPv4().Src[3]++
			p.IPv4().UpdateChecksum()
		}, &p.a.counters.DropPeer},
	} {
		left, h.events = 0, nil
		spoil = func(frame []byte) {
			var pkt wire.Packet
			require.NoError(t, pkt.Parse(frame))
			c.spoil(&pkt)
			pkt.SetICRC()
		}
		before := *c.count
		a.write(t, b, 64)
		p.await(a, 1)
		require.Equal(t, before+1, *c.count, name)
		for _, ev := range h.events {
			require.NotEqual(t, cc.CST, ev.Kind, name)
		}
	}
	require.EqualValues(t, 1, p.a.counters.SwitchReports)
	p.conserved()
}

// Toward a peer that has not agreed, packets are plain and switches' reports are dropped; nor are
// flags of a peer accepted that were not agreed to.
func TestNoBoltForPlainPeers(t *testing.T) {
	for _, features := range []wire.Features{0, wire.FeatureINT | wire.FeatureTiming} {
		p := newPair(t)
		o := defaults()
		o.algorithm, o.features = &boltAlgorithm{window: units.MiB}, features
		a, b := p.connected(o)
		p.la.record = true
		a.write(t, b, 3000)
		p.await(a, 1)
		for _, frame := range p.la.sent {
			var pkt wire.Packet
			if pkt.Parse(frame) == nil {
				require.NotEqual(t, wire.XDATA, pkt.Op)
			}
		}
		f := newForger(p, b)
		f.send(wire.Fields{Op: wire.SRC, PSN: 99}, 0, func(ext []byte) {
			wire.View[wire.XCH](ext).Set(a.tag(), 0)
		}, nil)
		f.send(wire.Fields{Op: wire.XDATA, PSN: 103}, extension.BoltLen, func(ext []byte) {
			wire.View[wire.XCH](ext).Set(b.tag(), extension.BoltLen)
			wire.SetInner(ext[wire.XCHLen:], wire.RCSendOnly)
			extension.Bolt(ext[wire.XCHLen+wire.InnerLen:][:extension.BoltLen]).Set(
				extension.BoltINC, uint32(1))
		}, nil)
		p.settle(units.Microsecond)
		require.EqualValues(t, 2, p.b.counters.DropUnnegotiated, "%v: %+v", features, p.b.counters)
	}
}

// Each burst begins anew: what is posted once everything has left is FIRST until part of it is
// acknowledged.
func TestBoltRestartsWithEachBurst(t *testing.T) {
	spec, err := cc.Parse("bolt:init_cwnd=4,max_cwnd=4")
	require.NoError(t, err)
	bolt, err := spec.New(cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 2 * units.Microsecond,
		Payload: 1024, Signals: cc.SignalSRC})
	require.NoError(t, err)
	var sent []extension.BoltFlags
	p, a, b := boltPair(t, bolt, 512, func(_ []byte, f extension.Bolt) {
		sent = append(sent, f.Flags())
	})
	first, last, inc := extension.BoltFirst, extension.BoltLast, extension.BoltINC
	for range 2 {
		sent = nil
		a.write(t, b, 12*1024)
		p.await(a, 1)
		require.Len(t, sent, 12)
		require.Equal(t, []extension.BoltFlags{first, first, first, first}, sent[:4],
			"the first window")
		for _, f := range sent[4:8] {
			require.Equal(t, inc, f&^extension.BoltAI)
		}
		require.Equal(t, last, sent[11]&^extension.BoltAI)
	}
}
