package devicetest

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/units"
)

func capabilities(s *suite) {
	c := s.Device.Capabilities()
	assert.NotEmpty(s.t, c.Name)
	assert.Positive(s.t, c.Flows)
	assert.True(s.t, c.Events.Has(cc.ACK) && c.Events.Has(cc.ECN) && c.Events.Has(cc.RTT) &&
		c.Events.Has(cc.RTO), "events that every algorithm needs: %v", c.Events)
	assert.Positive(s.t, c.Tick)
	assert.Equal(s.t, c, s.Device.Capabilities(), "capabilities do not change")
}

func lifecycle(s *suite) {
	a, b := nicoffload.NewHandle(0, 0), nicoffload.NewHandle(1, 9)
	require.NoError(s.t, s.Device.Aggregate(nicoffload.Immediate))
	s.Settle(0)
	s.Datapath.Open(a, cc.Decision{}, at(1))
	s.Datapath.Open(b, cc.Decision{}, at(2))
	s.Datapath.Close(a, at(3))
	s.Settle(at(3))
	type life struct {
		f nicoffload.Handle
		t nicoffload.Type
		n units.Time
	}
	var got []life
	for _, m := range s.fetch() {
		got = append(got, life{m.Flow, m.Type, m.First})
	}
	assert.Equal(s.t, []life{{a, nicoffload.Started, at(1)}, {b, nicoffload.Started, at(2)},
		{a, nicoffload.Stopped, at(3)}}, got)
}

func everyEvent(s *suite) {
	s.open(1, nicoffload.Binding{})
	events := []cc.Event{
		{Kind: cc.ACK, PSN: 1, SndNxt: 2, Packets: 3, Bytes: 4, InFlight: 5, Left: 6, Hops: 7},
		{Kind: cc.ECN, PSN: 1<<24 - 1, Packets: 3, Bytes: 12288, Marked: 2},
		{Kind: cc.RTT, Packets: 1, Bytes: 4096, Delay: 12 * us, Endpoint: 3 * us, OneWay: -5 * us,
			Increases: 1, Bolt: cc.BoltINC},
		{Kind: cc.RTT, Delay: 12 * us, Probe: true},
		{Kind: cc.RTT, Delay: 12 * us, Packets: 1, Bytes: 1,
			INT: []cc.Hop{{Port: 1, Rate: 2, Time: 3, Sent: 4, Queue: 5}, {Port: 6, Queue: 7}}},
		{Kind: cc.OOO, PSN: 77}, {Kind: cc.RTO, PSN: 78}, {Kind: cc.RTO, Probe: true},
		{Kind: cc.CNP}, {Kind: cc.POST, PSN: 5},
		{Kind: cc.TX, PSN: 9, Packets: 1, Bytes: 4096, Left: 1 << 40},
		{Kind: cc.CST, SRC: cc.SRC{Drain: 1, Rate: 2, Sent: 3}},
	}
	for i, ev := range events {
		s.report(1, i, ev)
	}
	s.Settle(at(len(events)))
	got := s.fetch()
	require.Len(s.t, got, len(events))
	for i, m := range got {
		assert.Equal(s.t, events[i], m.Event)
		assert.Equal(s.t, at(i), m.First)
		assert.EqualValues(s.t, 1, m.Count)
		assert.False(s.t, m.Reported.Before(m.First))
	}
}

// example is a worked example: nine signals, three messages, two bursts.
func example(s *suite) {
	s.open(7, nicoffload.Binding{Brief: true})
	s.aggregate(nicoffload.Aggregation{Accumulable: 10 * us, Coalescent: 10 * us, Threshold: 64,
		Deadline: 5 * us})
	before := s.counters(at(0))
	type message struct {
		at    int
		kind  cc.Kind
		count uint16
		first units.Time
		when  units.Time
	}
	var got []message
	for now := range 18 {
		switch now {
		case 1, 2, 3, 4, 9:
			s.report(7, now, cc.Event{Kind: cc.ACK, Packets: 1, Bytes: 4096})
		}
		switch now {
		case 2, 3, 6:
			s.report(7, now, cc.Event{Kind: cc.OOO})
		case 4:
			s.report(7, now, cc.Event{Kind: cc.RTT, Delay: 8 * us})
		}
		s.Settle(at(now))
		for _, m := range s.fetch() {
			got = append(got, message{now, m.Event.Kind, m.Count, m.First, m.Reported})
			if m.Event.Kind == cc.ACK {
				assert.EqualValues(s.t, 20480, m.Event.Bytes)
			}
		}
	}
	assert.Equal(s.t, []message{{9, cc.RTT, 1, at(4), at(9)}, {15, cc.ACK, 5, at(1), at(15)},
		{15, cc.OOO, 3, at(2), at(15)}}, got)
	c := s.counters(at(18))
	assert.Equal(s.t, [4]uint64{9, 3, 2, 96},
		[4]uint64{c.Signals - before.Signals, c.Messages - before.Messages,
			c.Bursts - before.Bursts, c.Bytes - before.Bytes})
}

func sums(s *suite) {
	for f := range nicoffload.Handle(3) {
		s.open(f, nicoffload.Binding{})
	}
	s.aggregate(nicoffload.Aggregation{Accumulable: 10 * us})
	for i := range 9 {
		kind, marked := cc.ACK, 0
		if i >= 6 {
			kind, marked = cc.ECN, 1
		}
		s.report(nicoffload.Handle(i%3), i, cc.Event{Kind: kind, PSN: uint32(i), Packets: 2,
			Bytes: 8192, Marked: marked, InFlight: units.Bytes(i)})
		s.report(nicoffload.Handle(i%3), i, cc.Event{Kind: cc.TX, Packets: 1, Bytes: 4096})
	}
	s.Settle(at(9))
	assert.Empty(s.t, s.fetch(), "no message before the end of the period")
	s.Settle(at(10))
	got := s.fetch()
	require.Len(s.t, got, 6)
	for _, m := range got {
		f := int(m.Flow)
		if m.Event.Kind == cc.TX {
			assert.Equal(s.t, cc.Event{Kind: cc.TX, Packets: 3, Bytes: 12288}, m.Event)
			continue
		}
		assert.Equal(s.t, cc.Event{Kind: cc.ECN, PSN: uint32(6 + f), Packets: 6, Bytes: 24576,
			Marked: 1, InFlight: units.Bytes(6 + f)}, m.Event, "sums, and the latest of the rest")
		assert.Equal(s.t, [3]any{uint16(3), at(f), nicoffload.Accumulable},
			[3]any{m.Count, m.First, m.Class})
	}
}

func repetitions(s *suite) {
	s.open(1, nicoffload.Binding{})
	s.aggregate(nicoffload.Aggregation{Coalescent: 20 * us})
	for i := range 5 {
		s.report(1, i+3, cc.Event{Kind: cc.OOO, PSN: uint32(100 + i), SndNxt: 200})
	}
	s.Settle(at(20))
	got := s.fetch()
	require.Len(s.t, got, 1)
	assert.Equal(s.t, cc.Event{Kind: cc.OOO, PSN: 100, SndNxt: 200}, got[0].Event, "the first")
	assert.Equal(s.t, [3]any{uint16(5), at(3), nicoffload.Coalescent},
		[3]any{got[0].Count, got[0].First, got[0].Class})
	s.report(1, 20, cc.Event{Kind: cc.OOO, PSN: 300})
	s.Settle(at(40))
	got = s.fetch()
	require.Len(s.t, got, 1, "and again in the next period")
	assert.EqualValues(s.t, 300, got[0].Event.PSN)
}

func bindings(s *suite) {
	s.open(1, nicoffload.Binding{Events: cc.Events(cc.ACK, cc.TX, cc.RTT), Raw: cc.Events(cc.TX),
		Merged: cc.Events(cc.RTT)})
	s.aggregate(nicoffload.Aggregation{Accumulable: 10 * us, Coalescent: 10 * us})
	before := s.counters(0).Unbound
	for i := range 4 {
		s.report(1, i, cc.Event{Kind: cc.OOO})
		s.report(1, i, cc.Event{Kind: cc.TX, Packets: 1, Bytes: 4096})
		s.report(1, i, cc.Event{Kind: cc.RTT, Packets: 1, Bytes: 4096,
			Delay: units.Duration(i+1) * us})
	}
	s.Settle(at(5))
	assert.Len(s.t, s.fetch(), 4, "one message per TX")
	s.Settle(at(10))
	got := s.fetch()
	require.Len(s.t, got, 1)
	assert.Equal(s.t, cc.Event{Kind: cc.RTT, Packets: 4, Bytes: 16384, Delay: 4 * us}, got[0].Event,
		"the newest sample")
	assert.EqualValues(s.t, 4, s.counters(at(30)).Unbound-before)
}

func brief(s *suite) {
	s.open(1, nicoffload.Binding{Brief: true})
	s.report(1, 1, cc.Event{Kind: cc.RTT, Packets: 1, Bytes: 4096, Delay: 9 * us, InFlight: 5})
	s.Settle(at(1))
	b := make([]byte, 4096)
	assert.Equal(s.t, nicoffload.Slot, s.Device.Fetch(b))
	var m nicoffload.Message
	_, err := m.Decode(b)
	require.NoError(s.t, err)
	assert.Equal(s.t, cc.Event{Kind: cc.RTT, Delay: 9 * us}, m.Event)
}

func batching(s *suite) {
	s.open(1, nicoffload.Binding{Brief: true})
	s.aggregate(nicoffload.Aggregation{Threshold: 96, Deadline: 50 * us})
	for i := range 3 {
		s.report(1, i+1, cc.Event{Kind: cc.RTT, Delay: us})
	}
	s.Settle(at(4))
	assert.Empty(s.t, s.fetch(), "96 bytes do not exceed the threshold")
	s.report(1, 5, cc.Event{Kind: cc.RTT, Delay: us})
	s.Settle(at(5))
	got := s.fetch()
	require.Len(s.t, got, 4)
	for _, m := range got {
		assert.Equal(s.t, at(5), m.Reported)
	}
	s.report(1, 10, cc.Event{Kind: cc.RTT, Delay: us})
	s.Settle(at(59))
	assert.Empty(s.t, s.fetch())
	s.Settle(at(60))
	assert.Len(s.t, s.fetch(), 1, "at the deadline")
}

func periods(s *suite) {
	s.open(1, nicoffload.Binding{})
	s.aggregate(nicoffload.Aggregation{Accumulable: 10 * us})
	s.report(1, 1, cc.Event{Kind: cc.ACK, Packets: 1})
	s.Settle(at(1))
	require.NoError(s.t, s.Device.Aggregate(nicoffload.Aggregation{Accumulable: 40 * us}))
	s.Settle(at(9))
	assert.Empty(s.t, s.fetch())
	s.Settle(at(10))
	assert.Len(s.t, s.fetch(), 1, "the current period ends as before")
	s.report(1, 11, cc.Event{Kind: cc.ACK, Packets: 1})
	s.Settle(at(49))
	assert.Empty(s.t, s.fetch())
	s.Settle(at(50))
	assert.Len(s.t, s.fetch(), 1)
}

// wholeMessages checks that Fetch never cuts a message, whatever the size of its buffer.
func wholeMessages(s *suite) {
	s.open(1, nicoffload.Binding{})
	for i := range 300 {
		s.report(1, 1, cc.Event{Kind: cc.RTT, Delay: units.Duration(i + 1), Packets: 1, Bytes: 1,
			INT: make([]cc.Hop, i%5)})
	}
	s.Settle(at(1))
	b := make([]byte, nicoffload.MaxMessage)
	next := units.Duration(1)
	for n := s.Device.Fetch(b); n > 0; n = s.Device.Fetch(b) {
		for at := 0; at < n; {
			var m nicoffload.Message
			length, err := m.Decode(b[at:n])
			require.NoError(s.t, err)
			require.Equal(s.t, next, m.Event.Delay, "in order of arrival")
			at += length
			next++
		}
		s.Settle(at(1))
	}
	assert.EqualValues(s.t, 301, next)
	assert.Zero(s.t, s.Device.Fetch(b))
}

func results(s *suite) {
	s.open(1, nicoffload.Binding{})
	s.open(2, nicoffload.Binding{})
	assert.Empty(s.t, s.results(), "initial decisions are not reported")
	d := cc.Decision{Window: 1 << 34, Rate: 400 * units.Gbps, Hold: true,
		Tags: cc.BoltAI | cc.BoltFirst, ProbeAt: at(9)}
	woken := d
	woken.WakeAt = at(3)
	require.Equal(s.t, 3,
		s.Device.Write([]nicoffload.Result{{Flow: 1, Decision: cc.Decision{Window: 5}},
			{Flow: 2, Decision: cc.Decision{Rate: 7}}, {Flow: 1, Decision: woken}}))
	s.Settle(at(1))
	assert.ElementsMatch(s.t, []nicoffload.Result{{Flow: 1, Decision: d},
		{Flow: 2, Decision: cc.Decision{Rate: 7}}}, s.newest())
	s.Settle(at(2))
	assert.Empty(s.t, s.results())
	before := s.counters(at(3))
	s.Device.Write([]nicoffload.Result{{Flow: 1, Decision: cc.Decision{Window: -1}},
		{Flow: nicoffload.NewHandle(1, 3)}, {Flow: nicoffload.NewHandle(500, 0)}})
	s.Settle(at(4))
	assert.Empty(s.t, s.results())
	c := s.counters(at(20))
	assert.EqualValues(s.t, 1, c.Refused-before.Refused)
	assert.EqualValues(s.t, 2, c.Stale+c.Unknown-before.Stale-before.Unknown)
}

func probes(s *suite) {
	s.open(1, nicoffload.Binding{})
	s.Settle(at(5))
	require.NoError(s.t, s.Device.Probe(1))
	s.Settle(at(7))
	r := s.newest()
	require.Len(s.t, r, 1)
	assert.EqualValues(s.t, 4096, r[0].Decision.Window, "the decision still applies")
	assert.False(s.t, r[0].Decision.ProbeAt.Before(at(5)) || r[0].Decision.ProbeAt.After(at(7)),
		"want now, got %v", r[0].Decision.ProbeAt)
	assert.EqualValues(s.t, 1, s.counters(at(30)).Probes)
}

func segments(s *suite) {
	if s.Receive == nil {
		s.t.Skip("the signals of this driver do not come from packets")
	}
	s.open(1, nicoffload.Binding{Events: cc.Events(cc.CST)})
	require.NoError(s.t,
		s.Device.Extract(nicoffload.Extraction{ID: 16, Packet: nicoffload.PacketAck, Offset: 2,
			Length: 3}))
	s.Settle(0)
	s.Receive(1, &nicoffload.Packet{Type: nicoffload.PacketAck, Segment: []byte("xxINTyy")}, at(1))
	s.Receive(1, &nicoffload.Packet{Type: nicoffload.PacketAck, Segment: []byte("xxIN")}, at(1))
	s.Receive(1, &nicoffload.Packet{Type: nicoffload.PacketCNP, Segment: []byte("xxINTyy")}, at(1))
	s.Settle(at(1))
	got := s.fetch()
	require.Len(s.t, got, 1, "neither for a shorter packet nor for another type")
	assert.Equal(s.t, [2]any{uint16(16), "INT"}, [2]any{got[0].SegmentID, string(got[0].Segment)})
	require.NoError(s.t, s.Device.Extract(nicoffload.Extraction{ID: 16}))
	s.Settle(at(2))
	s.Receive(1, &nicoffload.Packet{Type: nicoffload.PacketAck, Segment: []byte("xxINTyy")}, at(2))
	s.Settle(at(2))
	assert.Empty(s.t, s.fetch())
}

// overflow checks that without fetching, sums lose nothing, and of the other messages the oldest
// are evicted and counted.
func overflow(s *suite) {
	s.open(1, nicoffload.Binding{})
	s.aggregate(nicoffload.Aggregation{Accumulable: us})
	const rounds = 12_000
	for i := range rounds {
		s.report(1, i, cc.Event{Kind: cc.ACK, Packets: 1, Bytes: 1})
		s.report(1, i, cc.Event{Kind: cc.RTT, Delay: units.Duration(i + 1)})
		if i%50 == 0 {
			s.Settle(at(i))
		}
	}
	now := rounds
	acked, samples, last := 0, 0, units.Duration(0)
	for quiet := 0; quiet < 3; quiet++ {
		now += 100
		s.Settle(at(now))
		for _, m := range s.fetch() {
			quiet = 0
			if m.Event.Kind == cc.RTT {
				assert.Greater(s.t, m.Event.Delay, last, "in order")
				last = m.Event.Delay
				samples++
			} else {
				acked += m.Event.Packets
			}
		}
	}
	assert.Equal(s.t, rounds, acked)
	assert.EqualValues(s.t, rounds, last, "the newest is kept")
	c := s.counters(at(now + 100))
	assert.EqualValues(s.t, rounds-samples, c.Evicted[cc.RTT])
	assert.NotZero(s.t, c.Evicted[cc.RTT])
}

func ended(s *suite) {
	old, young := nicoffload.NewHandle(4, 1), nicoffload.NewHandle(4, 2)
	s.open(old, nicoffload.Binding{})
	s.aggregate(nicoffload.Aggregation{Accumulable: 10 * us, Threshold: 1000, Deadline: 100 * us})
	s.report(old, 1, cc.Event{Kind: cc.ACK, Packets: 1})
	s.report(old, 1, cc.Event{Kind: cc.RTT, Delay: 1})
	s.Datapath.Close(old, at(2))
	s.Datapath.Open(young, cc.Decision{}, at(3))
	s.report(old, 4, cc.Event{Kind: cc.ACK, Packets: 1})
	s.report(young, 4, cc.Event{Kind: cc.ACK, Packets: 9})
	require.Equal(s.t, 1,
		s.Device.Write([]nicoffload.Result{{Flow: old, Decision: cc.Decision{Window: 1}}}))
	s.Settle(at(300))
	packets := 0
	for _, m := range s.fetch() {
		if _, event := m.Type.Event(); event {
			assert.Equal(s.t, young, m.Flow)
			packets += m.Event.Packets
		}
	}
	assert.Equal(s.t, 9, packets)
	assert.Empty(s.t, s.results())
	assert.EqualValues(s.t, 4, s.counters(at(400)).Stale)
}

func silence(s *suite) {
	s.open(1, nicoffload.Binding{})
	s.Settle(at(100))
	s.Datapath.Silence(at(100))
	assert.Zero(s.t, s.Datapath.Silence(at(200)), "nothing to fetch")
	s.report(1, 200, cc.Event{Kind: cc.RTO})
	s.Settle(at(200))
	s.Datapath.Silence(at(200))
	s.Settle(at(260))
	assert.GreaterOrEqual(s.t, s.Datapath.Silence(at(260)), 60*us)
	used, size := s.Device.Backlog()
	assert.Positive(s.t, used)
	assert.Greater(s.t, size, used)
	assert.Len(s.t, s.fetch(), 1)
	s.Settle(at(300))
	assert.Zero(s.t, s.Datapath.Silence(at(300)))
}

func refusals(s *suite) {
	s.open(1, nicoffload.Binding{})
	for _, err := range []error{
		s.Device.Aggregate(nicoffload.Aggregation{Accumulable: -1}),
		s.Device.Aggregate(nicoffload.Aggregation{Threshold: 1 << 30}),
		s.Device.Configure(1, nicoffload.Binding{ProbePackets: 1, ProbeEvery: 1}),
		s.Device.Extract(nicoffload.Extraction{ID: nicoffload.SegmentINT, Length: 4}),
		s.Device.Extract(nicoffload.Extraction{ID: 20, Length: nicoffload.MaxSegment + 1}),
	} {
		assert.Error(s.t, err)
	}
	for i := range 2000 { // requests for an unknown flow do no harm
		if s.Device.Configure(nicoffload.NewHandle(900, 0), nicoffload.Binding{}) != nil ||
			i%100 == 0 {
			s.Settle(at(1))
		}
	}
	s.Settle(at(2))
	s.report(1, 3, cc.Event{Kind: cc.RTO})
	s.Settle(at(3))
	assert.Len(s.t, s.fetch(), 1, "the device still works")
}
