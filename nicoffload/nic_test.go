package nicoffload

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/units"
)

const us = units.Microsecond

func at(n int) units.Time { return units.Time(units.Duration(n) * us) }

func newNIC(t testing.TB, c Config) *NIC {
	n, err := NewNIC(c, 0)
	require.NoError(t, err)
	return n
}

// fetch returns all messages that can be fetched, in order.
func fetch(t testing.TB, d Device) (all []Message) {
	b := make([]byte, 1<<20)
	b = b[:d.Fetch(b)]
	for len(b) > 0 {
		var m Message
		n, err := m.Decode(b)
		require.NoError(t, err)
		all, b = append(all, m), b[n:]
	}
	return all
}

func open(t testing.TB, n *NIC, h Handle, b Binding) {
	n.Open(h, cc.Decision{Window: 1}, 0)
	require.NoError(t, n.Configure(h, b))
	agg := n.agg
	n.agg = Immediate
	n.Poll(0)
	n.agg = agg
	fetch(t, n)
	n.counters = Counters{}
}

// A worked example: periods of 10 µs, a threshold of 64 B, a deadline of 5 µs. Nine signals make
// three messages in two bursts.
func TestWorkedExample(t *testing.T) {
	n := newNIC(t, Config{Aggregation: Aggregation{Accumulable: 10 * us, Coalescent: 10 * us,
		Threshold: 64, Deadline: 5 * us}})
	flow := NewHandle(7, 0)
	open(t, n, flow, Binding{Brief: true})
	signals := map[int][]cc.Event{
		1: {{Kind: cc.ACK, Bytes: 4096, Packets: 1}},
		2: {{Kind: cc.ACK, Bytes: 4096, Packets: 1}, {Kind: cc.OOO, PSN: 20}},
		3: {{Kind: cc.ACK, Bytes: 4096, Packets: 1}, {Kind: cc.OOO, PSN: 21}},
		4: {{Kind: cc.ACK, Bytes: 4096, Packets: 1}, {Kind: cc.RTT, Delay: 12 * us}},
		6: {{Kind: cc.OOO, PSN: 22}},
		9: {{Kind: cc.ACK, Bytes: 4096, Packets: 1}},
	}
	type received struct {
		at       int
		kind     cc.Kind
		count    uint16
		first    units.Time
		reported units.Time
	}
	var got []received
	for now := range 20 {
		for i := range signals[now] {
			n.Report(flow, &signals[now][i], at(now))
		}
		n.Poll(at(now))
		for _, m := range fetch(t, n) {
			got = append(got, received{now, m.Event.Kind, m.Count, m.First, m.Reported})
			switch m.Event.Kind {
			case cc.ACK:
				assert.EqualValues(t, 20480, m.Event.Bytes)
			case cc.OOO:
				assert.EqualValues(t, 20, m.Event.PSN, "the first one")
			}
		}
	}
	assert.Equal(t, []received{
		{9, cc.RTT, 1, at(4), at(9)},
		{15, cc.ACK, 5, at(1), at(15)},
		{15, cc.OOO, 3, at(2), at(15)},
	}, got)
	c := n.Counters()
	assert.Equal(t, [4]uint64{9, 3, 2, 96}, [4]uint64{c.Signals, c.Messages, c.Bursts, c.Bytes})
}

// A signal at the end of a period belongs to the next one. Poll returns when it has to be called.
func TestEndsOfPeriods(t *testing.T) {
	n := newNIC(t, Config{Aggregation: Aggregation{Accumulable: 10 * us, Coalescent: 20 * us}})
	open(t, n, 1, Binding{})
	ev := cc.Event{Kind: cc.ACK, Packets: 1, Bytes: 1}
	n.Report(1, &ev, at(3))
	assert.Equal(t, at(10), n.Poll(at(3)))
	n.Report(1, &ev, at(10))
	m := fetch(t, n)
	require.Empty(t, m, "swapped, but not flushed yet")
	assert.Equal(t, at(20), n.Poll(at(10)))
	m = fetch(t, n)
	require.Len(t, m, 1)
	assert.Equal(t, [2]any{uint16(1), at(3)}, [2]any{m[0].Count, m[0].First})
	// A new period begins with the next swap.
	require.NoError(t, n.Aggregate(Aggregation{Accumulable: 4 * us}))
	assert.Equal(t, at(20), n.Poll(at(11)))
	n.Poll(at(20))
	require.Len(t, fetch(t, n), 1)
	n.Report(1, &ev, at(21))
	assert.Equal(t, at(24), n.Poll(at(21)))
	// Much later, the end is still a multiple of the period.
	n.Report(1, &ev, at(1001))
	assert.Equal(t, at(1004), n.Poll(at(1001)))
}

func TestAcknowledgementsAreOneSum(t *testing.T) {
	n := newNIC(t, Config{Aggregation: Aggregation{Accumulable: 10 * us}})
	open(t, n, 1, Binding{})
	for i := range 10 {
		ev := cc.Event{Kind: cc.ACK, PSN: uint32(i), SndNxt: 100, Packets: 2, Bytes: 2000,
			InFlight: units.Bytes(50_000 - i), Left: 9}
		if i%3 == 0 {
			ev.Kind, ev.Marked = cc.ECN, 1
		}
		n.Report(1, &ev, at(i))
	}
	n.Poll(at(10))
	m := fetch(t, n)
	require.Len(t, m, 1)
	assert.Equal(t, cc.Event{Kind: cc.ECN, PSN: 9, SndNxt: 100, Packets: 20, Bytes: 20_000,
		Marked: 4, InFlight: 49_991, Left: 9}, m[0].Event)
	assert.Equal(t, uint16(10), m[0].Count)
}

func TestMergedRTT(t *testing.T) {
	n := newNIC(t, Config{Aggregation: Aggregation{Accumulable: 10 * us}})
	open(t, n, 1, Binding{Merged: cc.Events(cc.RTT)})
	for i := range 3 {
		n.Report(1, &cc.Event{Kind: cc.RTT, Packets: 1, Bytes: 1000,
			Delay: units.Duration(10+i) * us, LocalGap: units.Duration(3*i) * us,
			RemoteGap: us, LocalAway: units.Duration(i) * us, RemoteAway: units.Duration(2-i) * us},
			at(i))
	}
	n.Poll(at(10))
	m := fetch(t, n)
	require.Len(t, m, 1)
	assert.Equal(t, cc.Event{Kind: cc.RTT, Packets: 3, Bytes: 3000, Delay: 12 * us,
		LocalGap: 6 * us, RemoteGap: us, LocalAway: 2 * us}, m[0].Event,
		"delay and gaps are the newest's")
}

// Signals with parts that a merged message has no room for are not merged.
func TestSignalsNeverMerged(t *testing.T) {
	n := newNIC(t, Config{Aggregation: Aggregation{Accumulable: 10 * us, Coalescent: 10 * us}})
	open(t, n, 1, Binding{Raw: cc.Events(cc.TX)})
	events := []cc.Event{
		{Kind: cc.TX, Bytes: 1}, {Kind: cc.RTT, Delay: us}, {Kind: cc.RTO}, {Kind: cc.RTO,
			Probe: true}, {Kind: cc.CNP}, {Kind: cc.POST}, {Kind: cc.CST},
		{Kind: cc.ACK, INT: make([]cc.Hop, 2)}, {Kind: cc.ACK, SRC: cc.SRC{Rate: 1}},
	}
	for i := range events {
		n.Report(1, &events[i], at(1))
	}
	m := fetch(t, n)
	require.Len(t, m, len(events))
	for i := range m {
		assert.Equal(t, events[i], m[i].Event)
	}
}

func TestBinding(t *testing.T) {
	n := newNIC(t, Config{})
	open(t, n, 1, Binding{Events: cc.Events(cc.ACK)})
	n.Report(1, &cc.Event{Kind: cc.TX}, 1)
	n.Report(1, &cc.Event{Kind: cc.ACK}, 1)
	assert.Len(t, fetch(t, n), 1)
	assert.EqualValues(t, 1, n.Counters().Unbound)
	assert.ErrorContains(t,
		n.Configure(1, Binding{Raw: cc.Events(cc.RTT), Merged: cc.Events(cc.RTT)}),
		"RTT is both")
	assert.ErrorContains(t, n.Configure(1, Binding{Merged: cc.Events(cc.RTO)}),
		"RTO cannot be merged")
	assert.ErrorContains(t, n.Configure(1, Binding{ProbePackets: 3, ProbeEvery: 1}), "one of them")
	assert.ErrorContains(t, n.Configure(1, Binding{RTO: -1}), "timeout")
	assert.ErrorContains(t, n.Aggregate(Aggregation{Deadline: -1}), "deadline -1ps")
	assert.ErrorContains(t, n.Aggregate(Aggregation{Threshold: 1 << 20}), "threshold")
	for _, c := range []Config{{Queue: 3}, {Queue: 8}, {Queue: -1}, {Flows: MaxFlows}, {Flows: -1},
		{Aggregation: Aggregation{Accumulable: -1}}} {
		_, err := NewNIC(c, 0)
		assert.Error(t, err, c)
	}
}

// A count at its maximum is reported at once, and nothing is lost.
func TestFullCountsAreReported(t *testing.T) {
	n := newNIC(t, Config{Aggregation: Aggregation{Accumulable: units.Second}})
	open(t, n, 1, Binding{})
	for range 100_000 {
		n.Report(1, &cc.Event{Kind: cc.ACK, Packets: 1, Bytes: 3}, at(1))
	}
	n.Poll(at(2_000_000))
	m := fetch(t, n)
	require.Len(t, m, 2)
	assert.Equal(t, []uint16{math.MaxUint16, 100_000 - math.MaxUint16},
		[]uint16{m[0].Count, m[1].Count})
	assert.EqualValues(t, 300_000, m[0].Event.Bytes+m[1].Event.Bytes)
}

// Sums that are not fetched for hours saturate.
func TestSumsSaturate(t *testing.T) {
	n := newNIC(t, Config{Queue: 32, Aggregation: Aggregation{Accumulable: 10 * us}})
	open(t, n, 1, Binding{})
	for range 32 { // no room
		n.Open(NewHandle(2, 0), cc.Decision{}, 0)
	}
	n.Poll(0)
	for range 2 * math.MaxUint16 {
		n.Report(1, &cc.Event{Kind: cc.ECN, Packets: 1 << 15, Marked: 1 << 15, Bytes: 1}, at(1))
	}
	fetch(t, n)
	n.Poll(at(20))
	var m []Message
	for i := 1; len(m) == 0 || m[len(m)-1].Type != 2; i++ {
		require.Less(t, i, 10)
		n.Poll(at(20 * i))
		m = append(m, fetch(t, n)...)
	}
	ecn := m[len(m)-1].Event
	assert.Equal(t, [2]int{math.MaxInt32, math.MaxInt32}, [2]int{ecn.Packets, ecn.Marked})
}

// The epoch wraps: a flow's cell of 2^32 periods ago is not taken for a current one.
func TestPeriodsWrap(t *testing.T) {
	n := newNIC(t, Config{Aggregation: Aggregation{Accumulable: 10 * us}})
	open(t, n, 1, Binding{})
	open(t, n, 2, Binding{})
	for f := range Handle(2) {
		n.Report(f+1, &cc.Event{Kind: cc.ACK, Packets: 1}, at(1)) // in the first period
	}
	n.engines[0].epoch = math.MaxUint32
	n.Poll(at(10))
	fetch(t, n)
	require.EqualValues(t, 1, n.engines[0].epoch)
	n.Report(2, &cc.Event{Kind: cc.ACK, Packets: 1}, at(11))
	n.Poll(at(20))
	m := fetch(t, n)
	require.Len(t, m, 1)
	assert.Equal(t, Handle(2), m[0].Flow)
}

// While nobody fetches, sums lose nothing, and of the other messages the oldest are evicted and
// counted.
func TestOverflow(t *testing.T) {
	n := newNIC(t, Config{Queue: 64, Aggregation: Aggregation{Accumulable: 10 * us}})
	open(t, n, 1, Binding{})
	for i := range 10_000 {
		n.Report(1, &cc.Event{Kind: cc.ACK, Packets: 1, Bytes: 1}, at(i))
		n.Report(1, &cc.Event{Kind: cc.RTT, Delay: units.Duration(i)}, at(i))
		n.Poll(at(i))
	}
	assert.NotZero(t, n.Counters().Held)
	var acked, newest int
	rtts := 0
	for range 2 { // the second one after the first has made room
		for _, m := range fetch(t, n) {
			if acked += m.Event.Packets; m.Event.Kind == cc.RTT {
				rtts++
				newest = int(m.Event.Delay)
			}
		}
		n.Poll(at(10_000))
		n.Poll(at(10_010))
	}
	for _, m := range fetch(t, n) {
		acked += m.Event.Packets
	}
	assert.Equal(t, 10_000, acked)
	assert.Equal(t, 9999, newest)
	assert.EqualValues(t, 10_000-rtts, n.Counters().Evicted[cc.RTT])
	assert.Equal(t, 32, rtts, "64 slots, two for each")
}

// A queue full of essential messages costs the polling core no more than another one, and none of
// them is evicted for others.
func TestFullOfEssentialMessages(t *testing.T) {
	post, rtt := &cc.Event{Kind: cc.POST}, &cc.Event{Kind: cc.RTT, Delay: us}
	n := newNIC(t, Config{})
	open(t, n, 1, Binding{})
	const most = DefaultQueue / 2 // each with a header and a state
	for range most {
		n.Report(1, post, 0)
	}
	moved := func(f func()) float64 { // per byte that arrived
		before := n.raw.tail
		for range most {
			f()
		}
		return float64(n.raw.tail-before) / (most * 2 * Slot)
	}
	assert.LessOrEqual(t, moved(func() { n.Report(1, rtt, 0) }), 1.0)
	assert.EqualValues(t, most, n.Counters().Evicted[cc.RTT])
	assert.Zero(t, n.Counters().Evicted[cc.POST])
	assert.LessOrEqual(t, moved(func() { n.Report(1, post, 0) }), 1.0)
	assert.EqualValues(t, most, n.Counters().Evicted[cc.POST], "evicted by the same kind")
	require.Len(t, fetch(t, n), most)

	for i := range most {
		n.Report(1, []*cc.Event{post, rtt, rtt}[i%3], 0)
	}
	assert.LessOrEqual(t, moved(func() { n.Report(1, rtt, 0) }), 2.0)
	assert.LessOrEqual(t, moved(func() { n.Report(1, post, 0) }), 2.0)
	kinds := map[cc.Kind]int{}
	for _, m := range fetch(t, n) {
		kinds[m.Event.Kind]++
	}
	assert.Equal(t, map[cc.Kind]int{cc.POST: most}, kinds)
}

// Messages and results of a flow that has ended do not affect its successor.
func TestFlowsThatEnd(t *testing.T) {
	n := newNIC(t, Config{Aggregation: Aggregation{Accumulable: 10 * us, Threshold: 1000,
		Deadline: 5 * us}})
	old, young := NewHandle(3, 0), NewHandle(3, 1)
	open(t, n, old, Binding{})
	n.Report(old, &cc.Event{Kind: cc.ACK, Packets: 1}, at(1))
	n.Report(old, &cc.Event{Kind: cc.RTT, Delay: 1}, at(1))
	n.Close(old, at(2))
	n.Open(young, cc.Decision{}, at(2))
	n.Report(young, &cc.Event{Kind: cc.ACK, Packets: 5}, at(3))
	n.Report(old, &cc.Event{Kind: cc.ACK, Packets: 1}, at(4))
	assert.Equal(t, 1, n.Write([]Result{{Flow: old}}))
	n.Poll(at(10))
	n.Poll(at(15))
	var types []Type
	for _, m := range fetch(t, n) {
		types = append(types, m.Type)
		if m.Type == 1 {
			assert.Equal(t, [2]any{young, 5}, [2]any{m.Flow, m.Event.Packets})
		}
	}
	assert.Equal(t, []Type{Stopped, Started, 1}, types)
	assert.EqualValues(t, 4, n.Counters().Stale, "a cell, a message, a signal, a result")
	n.Report(NewHandle(99, 0), &cc.Event{}, 0)
	assert.EqualValues(t, 1, n.Counters().Unknown)
}

func TestResults(t *testing.T) {
	n := newNIC(t, Config{})
	open(t, n, 1, Binding{})
	d := cc.Decision{Window: 1000, Rate: 5, WakeAt: 99}
	assert.Equal(t, 3,
		n.Write([]Result{{1, cc.Decision{Window: 5}}, {1, d}, {1, cc.Decision{Window: -1}}}))
	d.WakeAt = 0
	var r Result
	assert.True(t, n.Result(&r))
	assert.Equal(t, Result{1, d}, r)
	assert.False(t, n.Result(&r), "one result per flow, the newest")
	assert.EqualValues(t, 1, n.Counters().Refused)
	n.Poll(at(7))
	require.NoError(t, n.Probe(1))
	assert.True(t, n.Result(&r))
	assert.Equal(t, at(7), r.Decision.ProbeAt)
	assert.EqualValues(t, 1000, r.Decision.Window, "the last result applies")
	require.NoError(t, n.Probe(1))
	n.Write([]Result{{1, cc.Decision{Window: 2000}}})
	assert.True(t, n.Result(&r))
	assert.Equal(t, cc.Decision{Window: 2000, ProbeAt: at(7)}, r.Decision,
		"a result does not take back a probe on command")
	n.Write([]Result{{1, cc.Decision{Window: 3000}}})
	assert.True(t, n.Result(&r))
	assert.Zero(t, r.Decision.ProbeAt, "requested only once")
}

func TestSilence(t *testing.T) {
	n := newNIC(t, Config{})
	open(t, n, 1, Binding{})
	assert.Zero(t, n.Silence(at(50)))
	n.Report(1, &cc.Event{Kind: cc.RTO}, at(60))
	assert.Equal(t, 10*us, n.Silence(at(60)))
	assert.Equal(t, 40*us, n.Silence(at(90)))
	fetch(t, n)
	assert.Zero(t, n.Silence(at(100)))
	assert.Zero(t, n.Silence(at(200)), "nothing to fetch")
}

func field(seq uint8, left units.Time) []byte {
	b := make([]byte, extension.ProbeLen)
	extension.ProbeField(b).Set(extension.ProbeResponse, seq, left)
	return b
}

func TestProbesBesideData(t *testing.T) {
	for name, c := range map[string]struct {
		b    Binding
		want []int
	}{
		"every 4 packets":  {Binding{ProbePackets: 4}, []int{3, 7, 11}},
		"every 5 µs":       {Binding{ProbeEvery: 5 * us}, []int{5, 10}},
		"never by default": {Binding{}, nil},
	} {
		n := newNIC(t, Config{})
		open(t, n, 1, c.b)
		var got []int
		for i := range 13 {
			b := make([]byte, extension.ProbeLen)
			if n.Sent(1, &Packet{PSN: uint32(i), Bytes: 1000}, b, at(i)) {
				assert.Equal(t, units.Duration(at(i)), extension.ProbeField(b).Left())
				assert.EqualValues(t, len(got), extension.ProbeField(b).Seq())
				got = append(got, i)
			}
		}
		assert.Equal(t, c.want, got, name)
	}
}

// Reordered responses are dropped by their sequence number, also across its wraparound, but not
// after a long silence.
func TestProbeResponses(t *testing.T) {
	n := newNIC(t, Config{})
	open(t, n, 1, Binding{Events: cc.Events(cc.RTT), ProbePackets: 1})
	hear := func(seq uint8, left, now units.Time) (delay units.Duration) {
		n.Received(1, &Packet{Type: PacketProbe, Probe: field(seq, left)}, now)
		for _, m := range fetch(t, n) {
			assert.True(t, m.Event.Probe)
			delay = m.Event.Delay
		}
		return delay
	}
	assert.Equal(t, 8*us, hear(200, at(0), at(8)))
	assert.Zero(t, hear(200, at(0), at(9)), "twice")
	assert.Zero(t, hear(199, at(1), at(9)), "overtaken")
	assert.Equal(t, 3*us, hear(201, at(7), at(10)))
	assert.Equal(t, 4*us, hear(40, at(8), at(12)), "after the wrap")
	assert.Zero(t, hear(41, at(13), at(12)), "from the future")
	assert.Zero(t, hear(41, at(0), at(1_000_001)), "implausibly old")
	b := make([]byte, extension.ProbeLen)
	for i := range maxUnanswered {
		n.Sent(1, &Packet{PSN: uint32(i)}, b, at(13))
	}
	assert.Equal(t, 1*us, hear(30, at(13), at(14)), "the newest is forgotten")
	assert.EqualValues(t, 4, n.Counters().ProbesLate)
	n.Received(1, &Packet{Type: PacketProbe, Probe: []byte{3}}, at(15))
	assert.EqualValues(t, 5, n.Counters().ProbesLate)
	// The time wraps at 2^48 ns.
	wrap := units.Time(1<<48) * units.Time(units.Nanosecond)
	assert.Equal(t, 5*us, hear(31, wrap.Add(-2*us), wrap.Add(3*us)))
}

// A pipeline shows packets, and the collector makes signals of them.
func TestCollection(t *testing.T) {
	n := newNIC(t, Config{})
	open(t, n, 1, Binding{RTO: 100 * us})
	var got []cc.Event
	step := func() []cc.Event {
		got = nil
		for _, m := range fetch(t, n) {
			m.Event.Left = 0
			got = append(got, m.Event)
		}
		return got
	}
	for psn := range uint32(3) {
		n.Sent(1, &Packet{PSN: psn, Bytes: 1000}, nil, at(1))
	}
	assert.Equal(t, cc.Event{Kind: cc.TX, PSN: 2, SndNxt: 3, Packets: 1, Bytes: 1000,
		InFlight: 3000}, step()[2])
	n.Received(1, &Packet{Type: PacketAck, PSN: 0, Bytes: 1000}, at(2))
	n.Received(1, &Packet{Type: PacketAck, PSN: 1, Bytes: 1000, ECE: true}, at(3))
	n.Received(1, &Packet{Type: PacketAck, PSN: 0}, at(4))
	assert.Equal(t, []cc.Event{
		{Kind: cc.ACK, PSN: 1, Packets: 1, Bytes: 1000, InFlight: 2000},
		{Kind: cc.ECN, PSN: 2, Packets: 1, Marked: 1, Bytes: 1000, InFlight: 1000},
		{Kind: cc.ACK, PSN: 2, InFlight: 1000},
	}, step())
	n.Received(1, &Packet{Type: PacketAck, PSN: 2, Nak: true}, at(5))
	n.Received(1, &Packet{Type: PacketCNP}, at(5))
	assert.Equal(t, []cc.Event{{Kind: cc.OOO, PSN: 2, InFlight: 1000}, {Kind: cc.CNP}}, step())
	for _, psn := range []uint32{7, 8, 11, 10, 12} { // received data
		n.Received(1, &Packet{Type: PacketData, PSN: psn}, at(6))
	}
	assert.Equal(t, []cc.Event{{Kind: cc.OOO, PSN: 9}}, step(), "one gap")
	n.Poll(at(102))
	assert.Empty(t, step(), "the last acknowledgement has moved the timer")
	n.Poll(at(104))
	assert.Equal(t, []cc.Event{{Kind: cc.RTO, PSN: 2, InFlight: 1000}}, step())
}

func TestCustomSegments(t *testing.T) {
	n := newNIC(t, Config{})
	open(t, n, 1, Binding{})
	require.NoError(t, n.Extract(Extraction{ID: 20, Packet: PacketAck, Offset: 4, Length: 6}))
	require.NoError(t, n.Extract(Extraction{ID: 21, Packet: PacketFeedback, Offset: 0, Length: 3}))
	n.Received(1, &Packet{Type: PacketAck, Segment: []byte("AETHcredit more")}, at(1))
	n.Received(1, &Packet{Type: PacketAck, Segment: []byte("AETHcred")}, at(1))
	n.Received(1, &Packet{Type: PacketFeedback, Segment: []byte("SRC")}, at(2))
	var got []string
	for _, m := range fetch(t, n) {
		if m.Event.Kind == cc.CST {
			got = append(got, string(m.Segment))
		}
	}
	assert.Equal(t, []string{"credit", "SRC"}, got, "none of a packet that is too short")
	require.NoError(t, n.Extract(Extraction{ID: 20, Packet: PacketAck}))
	n.Received(1, &Packet{Type: PacketAck, Segment: []byte("AETHcredit more")}, at(3))
	assert.Len(t, fetch(t, n), 1, "only the acknowledgement")
	for want, x := range map[string]Extraction{
		"want at least 16": {ID: 1}, "packet type 9": {ID: 16, Packet: 9}, "at most": {ID: 16,
			Length: MaxSegment + 1},
	} {
		assert.ErrorContains(t, n.Extract(x), want)
	}
	for i := range maxExtractions - 1 {
		require.NoError(t, n.Extract(Extraction{ID: uint16(30 + i), Length: 1}))
	}
	assert.ErrorIs(t, n.Extract(Extraction{ID: 100, Length: 1}), ErrUnable)
}

// TestNothingIsLost checks that every acknowledged packet arrives once, unless its flow has ended,
// and that messages, evictions and queued messages add up.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, err := NewNIC(Config{Queue: 32, Aggregation: Aggregation{
			Accumulable: units.Duration(rapid.IntRange(1, 20).Draw(t, "period")) * us,
			Threshold:   units.Bytes(rapid.IntRange(0, 500).Draw(t, "threshold")),
			Deadline:    units.Duration(rapid.IntRange(0, 9).Draw(t, "deadline")) * us,
		}}, 0)
		require.NoError(t, err)
		for f := range Handle(3) {
			n.Open(f, cc.Decision{}, 0)
		}
		sent, got, now := 0, 0, 0
		take := func() {
			b := make([]byte, 32*Slot*2)
			b = b[:n.Fetch(b)]
			for len(b) > 0 {
				var m Message
				k, err := m.Decode(b)
				require.NoError(t, err)
				got += m.Event.Packets
				b = b[k:]
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"signal": func(t *rapid.T) {
				p := rapid.IntRange(1, 9).Draw(t, "packets")
				n.Report(Handle(rapid.IntRange(0, 2).Draw(t, "flow")),
					&cc.Event{Kind: cc.ACK, Packets: p}, at(now))
				sent += p
			},
			"time": func(t *rapid.T) {
				now += rapid.IntRange(0, 30).Draw(t, "us")
				n.Poll(at(now))
			},
			"fetch": func(*rapid.T) { take() },
		})
		for range 10 {
			now += 50
			n.Poll(at(now))
			take()
		}
		require.Equal(t, sent, got)
		c := n.Counters()
		require.Zero(t, c.Stale+c.Unknown+c.Malformed)
	})
}

func TestSignalsDoNotAllocate(t *testing.T) {
	n := newNIC(t, Config{Flows: 100, Aggregation: DefaultAggregation})
	for f := range Handle(100) {
		n.Open(f, cc.Decision{}, 0)
	}
	b := make([]byte, 1<<18)
	now, i := units.Time(0), 0
	kinds := []cc.Kind{cc.ACK, cc.ECN, cc.TX, cc.RTT, cc.OOO, cc.RTO}
	assert.Zero(t, testing.AllocsPerRun(10_000, func() {
		now, i = now.Add(units.Microsecond/10), i+1
		n.Report(Handle(i%100), &cc.Event{Kind: kinds[i%len(kinds)], Packets: 1, Bytes: 4096,
			Delay: us}, now)
		n.Poll(now)
		n.Fetch(b)
	}))
}

// benchmarkSignals reports signals to the NIC at 400 Gb/s of 4 KiB packets, the work that follows
// included.
func benchmarkSignals(b *testing.B, flows int, kind cc.Kind, binding Binding) {
	n := newNIC(b, Config{Flows: flows, Aggregation: DefaultAggregation})
	for f := range flows {
		n.Open(Handle(f), cc.Decision{}, 0)
		require.NoError(b, n.Configure(Handle(f), binding))
	}
	buf := make([]byte, 1<<18)
	ev := cc.Event{Kind: kind, Packets: 1, Bytes: 4096, Delay: 10 * us}
	now, f, i := units.Time(0), 0, 0
	b.ReportAllocs()
	report := core(b)
	for b.Loop() {
		if i, now = i+1, now.Add(80*units.Nanosecond); i%32 == 0 { // a burst
			n.Poll(now)
			n.Fetch(buf)
		}
		if f++; f == flows {
			f = 0
		}
		n.Report(Handle(f), &ev, now)
	}
	report("Msignals")
	c := n.Counters()
	b.ReportMetric(float64(c.Messages)/float64(c.Signals), "messages/signal")
}

func BenchmarkSignals(b *testing.B) {
	b.Run("ACK/1", func(b *testing.B) { benchmarkSignals(b, 1, cc.ACK, Binding{}) })
	b.Run("ACK/16", func(b *testing.B) { benchmarkSignals(b, 16, cc.ACK, Binding{}) })
	b.Run("ACK/1000", func(b *testing.B) { benchmarkSignals(b, 1000, cc.ACK, Binding{}) })
	b.Run("RTT/16", func(b *testing.B) { benchmarkSignals(b, 16, cc.RTT, Binding{}) })
	b.Run("RTT-merged/16", func(b *testing.B) {
		benchmarkSignals(b, 16, cc.RTT, Binding{Merged: cc.Events(cc.RTT)})
	})
}
