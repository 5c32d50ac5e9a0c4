package nicoffload

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// The layout of docs/nicoffload.md, byte for byte.
func TestMessageLayout(t *testing.T) {
	flow := NewHandle(7, 3)
	for _, c := range []struct {
		name  string
		m     Message
		brief bool
		want  string
	}{
		{"a brief ACK", Message{Flow: flow, Type: 1, Class: Accumulable, Count: 5, First: 1_000_000,
			Reported: 15_000_000,
			Event:    cc.Event{Kind: cc.ACK, Bytes: 20480, PSN: 9}}, true,
			"07003000" + "01" + "01" + "0500" + "0050000000000000" + "40420f0000000000" +
				"c0e1e40000000000"},
		{"an ECN with its state", Message{Flow: flow, Type: 2, Class: Accumulable, Count: 2,
			First: 1,
			Event: cc.Event{Kind: cc.ECN, PSN: 0x010203, SndNxt: 0x040506, Packets: 4, Marked: 3,
				Bytes: 4096, Hops: 5, InFlight: 65536, Left: 1 << 33}}, false,
			"07003000" + "02" + "05" + "0200" + "0010000000000000" + "0100000000000000" +
				"0000000000000000" +
				"03020105" + "06050400" + "04000000" + "03000000" + "0000010000000000" +
				"0000000002000000"},
		{"an RTT that acknowledges, with the hosts' part", Message{Flow: flow, Type: 5, Count: 1,
			Event: cc.Event{Kind: cc.RTT, Delay: 12_000_000, Bytes: 4096, Packets: 1,
				Endpoint: 1000, OneWay: -1, Increases: 1}}, false,
			"07003000" + "05" + "0c" + "0100" + "001bb70000000000" + "0000000000000000" +
				"0000000000000000" +
				"00000000" + "00000000" + "01000000" + "00000000" + "0000000000000000" +
				"0000000000000000" +
				"0010000000000000" + "e803000000000000" + "ffffffffffffffff" + "01000000" + "0000" +
				"0000"},
		{"an RTT of hosts without time stamps", Message{Flow: flow, Type: 5, Count: 1,
			Event: cc.Event{Kind: cc.RTT, Delay: 12_000_000, Endpoint: 1000, LocalGap: 0x0102,
				RemoteGap: 3, LocalAway: 4, RemoteAway: 5}}, false,
			"07003000" + "05" + "8c" + "0100" + "001bb70000000000" + "0000000000000000" +
				"0000000000000000" +
				"00000000" + "00000000" + "00000000" + "00000000" + "0000000000000000" +
				"0000000000000000" +
				"0000000000000000" + "e803000000000000" + "0000000000000000" + "0000000000000000" +
				"0201000000000000" + "0300000000000000" + "0400000000000000" + "0500000000000000"},
		{"a custom segment of 5 bytes", Message{Flow: flow, Type: 7, Count: 1, SegmentID: 16,
			Segment: []byte("hello"), Event: cc.Event{Kind: cc.CST}}, true,
			"07003000" + "07" + "20" + "0100" + "0500000000000000" + "0000000000000000" +
				"00000000000000001000" + "0500" + "00000000" + "68656c6c6f" +
				"00000000000000000000000000000000000000"},
		{"a flow that began", Message{Flow: flow, Type: Started, Count: 1, First: 2}, false,
			"07003000" + "20" + "00" + "0100" + "0000000000000000" + "0200000000000000" +
				"0000000000000000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := make([]byte, MaxMessage)
			n := c.m.Encode(b, c.brief)
			assert.Equal(t, c.want, hex.EncodeToString(b[:n]))
			var back Message
			got, err := back.Decode(b[:n])
			require.NoError(t, err)
			assert.Equal(t, n, got)
			assert.Equal(t, c.m.Flow, back.Flow)
			assert.Equal(t, c.m.Segment, back.Segment)
		})
	}
}

func drawEvent(t *rapid.T) cc.Event {
	i64 := rapid.Int64Range(0, math.MaxInt64)
	ev := cc.Event{
		Kind: cc.Kind(rapid.IntRange(0, int(cc.POST)).Draw(t, "kind")), PSN: rapid.Uint32Range(0,
			psnMask).Draw(t, "psn"),
		SndNxt: rapid.Uint32Range(0, psnMask).Draw(t, "next"), Packets: rapid.IntRange(-1,
			1<<23).Draw(t, "packets"),
		Bytes: units.Bytes(i64.Draw(t, "bytes")), Marked: rapid.IntRange(0, 1<<23).Draw(t,
			"marked"), Probe: rapid.Bool().Draw(t, "probe"),
		Delay:    units.Duration(i64.Draw(t, "delay")),
		Endpoint: units.Duration(i64.Draw(t, "endpoint")),
		OneWay:   units.Duration(rapid.Int64().Draw(t, "way")),
		Hops:     rapid.IntRange(0, 255).Draw(t, "hops"),
		InFlight: units.Bytes(i64.Draw(t, "flight")),
		Left:     units.Bytes(i64.Draw(t, "left")),
		Bolt:     cc.BoltFlags(rapid.Uint8().Draw(t, "bolt")), Increases: rapid.IntRange(0,
			1<<23).Draw(t, "increases"),
	}
	for range rapid.IntRange(0, cc.MaxHops).Draw(t, "hops") {
		ev.INT = append(ev.INT, cc.Hop{Port: rapid.Uint16().Draw(t, "port"),
			Rate: units.BitRate(i64.Draw(t, "rate")),
			Time: rapid.Uint32().Draw(t, "time"), Sent: rapid.Uint32().Draw(t, "sent"),
			Queue: units.Bytes(i64.Draw(t, "queue"))})
	}
	if rapid.Bool().Draw(t, "src") {
		ev.SRC = cc.SRC{Drain: units.Duration(i64.Draw(t, "drain")),
			Rate: units.BitRate(i64.Draw(t, "rate")), Sent: units.Time(i64.Draw(t, "sent"))}
	}
	if rapid.Bool().Draw(t, "gaps") {
		ev.LocalGap, ev.RemoteGap = units.Duration(i64.Draw(t, "gap")),
			units.Duration(i64.Draw(t, "their gap"))
		ev.LocalAway, ev.RemoteAway = units.Duration(i64.Draw(t, "away")),
			units.Duration(i64.Draw(t, "their away"))
	}
	if !cc.Events(cc.ACK, cc.ECN, cc.RTT, cc.TX).Has(ev.Kind) {
		ev.Delay = 0 // not encoded
	}
	if ev.Kind == cc.HOST {
		ev.Host = cc.HostSample{Sampler: rapid.Uint16().Draw(t, "sampler"),
			Value: rapid.Float64().Draw(t, "value")}
	}
	return ev
}

// Every field of an event survives encoding and decoding.
func TestEventsCrossWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ev := drawEvent(t)
		m := Message{Flow: Handle(rapid.Uint32().Draw(t, "flow")), Type: typeOf[ev.Kind],
			Count: rapid.Uint16().Draw(t, "count"),
			First: units.Time(rapid.Int64().Draw(t, "first")), Event: ev}
		b := make([]byte, MaxMessage)
		n := m.Encode(b, false)
		var back Message
		got, err := back.Decode(b[:n])
		require.NoError(t, err)
		require.Equal(t, n, got)
		require.Zero(t, n%Slot)
		require.Equal(t, ev, back.Event)
		require.Equal(t, [3]any{m.Flow, m.Count, m.First},
			[3]any{back.Flow, back.Count, back.First})
	})
}

func TestDecodeRefuses(t *testing.T) {
	good := make([]byte, MaxMessage)
	m := Message{Type: 7, SegmentID: 20, Segment: make([]byte, 40), Event: cc.Event{Kind: cc.CST}}
	n := m.Encode(good, false)
	for name, spoil := range map[string]func(b []byte) []byte{
		"no bytes":          func([]byte) []byte { return nil },
		"half a header":     func(b []byte) []byte { return b[:16] },
		"no type":           func(b []byte) []byte { b[4] = 0; return b },
		"an unknown type":   func(b []byte) []byte { b[4] = 12; return b },
		"gaps of a segment": func(b []byte) []byte { b[5] |= hasGaps; return b },
		"lifecycle with gaps": func(b []byte) []byte {
			b[4], b[5] = uint8(Started), hasGaps
			return b
		},
		"an unknown class":    func(b []byte) []byte { b[5] |= 3; return b },
		"a truncated segment": func(b []byte) []byte { return b[:n-Slot] },
		"no segment header":   func(b []byte) []byte { return b[:2*Slot] },
		"too long a segment": func(b []byte) []byte {
			le.PutUint16(b[2*Slot+2:], MaxSegment+1)
			return b
		},
		"a segment without an ID": func(b []byte) []byte { le.PutUint16(b[2*Slot:], 0); return b },
		"half a hop": func(b []byte) []byte {
			le.PutUint16(b[2*Slot:], SegmentINT)
			return b
		},
		"lifecycle with a state": func(b []byte) []byte { b[4] = uint8(Started); return b },
	} {
		b := spoil(append([]byte(nil), good[:n]...))
		var m Message
		_, err := m.Decode(b)
		assert.ErrorIs(t, err, ErrMalformed, name)
	}
}

// FuzzMessage checks that Decode stays within the buffer, and that decoded messages survive
// encoding and decoding.
func FuzzMessage(f *testing.F) {
	b := make([]byte, MaxMessage)
	for _, ev := range []cc.Event{
		{Kind: cc.ACK, Packets: 1, Bytes: 4096}, {Kind: cc.RTT, Delay: 12, Bytes: 1, Endpoint: 2,
			Probe: true},
		{Kind: cc.RTT, Delay: 12, Bytes: 1, Endpoint: 2, LocalGap: 3, RemoteGap: 4, LocalAway: 5,
			RemoteAway: 6},
		{Kind: cc.CST, SRC: cc.SRC{Drain: 1, Rate: 2, Sent: 3}}, {Kind: cc.ACK,
			INT: make([]cc.Hop, 7)}, {Kind: cc.HOST},
	} {
		m := Message{Flow: 1, Type: typeOf[ev.Kind], Count: 1, Event: ev}
		f.Add(append([]byte(nil), b[:m.Encode(b, false)]...))
		f.Add(append([]byte(nil), b[:m.Encode(b, true)]...))
	}
	m := Message{Type: 7, SegmentID: 20, Segment: make([]byte, 40), Event: cc.Event{Kind: cc.CST}}
	f.Add(append([]byte(nil), b[:m.Encode(b, false)]...))
	f.Fuzz(func(t *testing.T, in []byte) {
		var m, again Message
		n, err := m.Decode(in)
		if err != nil {
			require.ErrorIs(t, err, ErrMalformed)
			return
		}
		require.LessOrEqual(t, n, len(in))
		require.LessOrEqual(t, n, MaxMessage)
		out := make([]byte, MaxMessage)
		k := m.Encode(out, false)
		_, err = again.Decode(out[:k])
		require.NoError(t, err)
		again.Segment, m.Segment = append([]byte{}, again.Segment...), append([]byte{},
			m.Segment...)
		if math.IsNaN(m.Event.Host.Value) {
			m.Event.Host.Value, again.Event.Host.Value = 0, 0
		}
		require.Equal(t, m.Event, again.Event)
		require.Equal(t, m.Segment, again.Segment)
	})
}

func TestCommandsCross(t *testing.T) {
	for _, c := range []command{
		{op: opResult, flow: 5, result: cc.Decision{Window: 1 << 40, Rate: 400 * units.Gbps,
			Hold: true, Tags: cc.BoltAI, ProbeAt: -5}},
		{op: opConfigure, flow: 6, binding: Binding{Events: cc.Events(cc.ACK, cc.POST),
			Raw: cc.Events(cc.ACK), Merged: cc.Events(cc.RTT), Brief: true, RTO: 7,
			ProbePackets: 9}},
		{op: opConfigure, flow: 6, binding: Binding{ProbeEvery: 5}},
		{op: opAggregate, aggregation: DefaultAggregation},
		{op: opExtract, extraction: Extraction{ID: 16, Packet: PacketAck, Offset: 12, Length: 64}},
		{op: opProbe, flow: 9},
	} {
		var b [Slot]byte
		c.encode(b[:])
		var back command
		require.NoError(t, back.decode(b[:]))
		assert.Equal(t, c, back)
	}
	for _, b := range [][Slot]byte{
		{}, {4: 7}, {4: 1, 15: 0x80}, {4: 1, 23: 0x80}, {4: 2, 6: 1, 24: 1}, {4: 3, 15: 0x80},
		{4: 3, 7: 0xff}, {4: 4, 6: 1}, {4: 4, 5: 9, 6: 20},
	} {
		var c command
		assert.Error(t, c.decode(b[:]))
	}
}
