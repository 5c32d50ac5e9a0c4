package ccp

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/units"
)

const us = units.Microsecond

func at(n int) units.Time { return units.Time(units.Duration(n) * us) }

func machine(t testing.TB, text string) *Machine {
	p, err := Compile(7, text)
	require.NoError(t, err)
	m := &Machine{}
	m.Change(p, 0)
	return m
}

// A worked example: four acknowledgements, one report.
func TestWorkedExample(t *testing.T) {
	m := machine(t, `(def (Report (volatile acked 0) (volatile ecn 0) (volatile minrtt +infinity)))
		(when true
			(:= Report.acked (+ Report.acked Ack.bytes_acked))
			(:= Report.ecn (+ Report.ecn Ack.ecn_packets))
			(:= Report.minrtt (min Report.minrtt Flow.rtt_sample_us))
			(fallthrough))
		(when (> Micros 100) (report) (:= Micros 0))`)
	ack := func(now int, rtt, ecn uint64) bool {
		m.Primitives = [primitives]uint64{BytesAcked: 1500, RTTSample: rtt, ECNPackets: ecn}
		send, err := m.Run(0, 0, at(now))
		require.NoError(t, err)
		return send
	}
	assert.False(t, ack(30, 12, 0) || ack(60, 10, 1) || ack(90, 11, 1))
	assert.True(t, ack(120, 14, 0))
	assert.Equal(t, []uint64{6000, 2, 10}, m.Fields())
	report := Message{Kind: Measure, Flow: 5, Program: 7, Fields: m.Fields()}
	b := report.Append(nil)
	assert.Len(t, b, 40)
	assert.Equal(t, "0100280005000000", hex.EncodeToString(b[:8]))
	m.Reported()
	assert.False(t, ack(150, 12, 0))
	assert.EqualValues(t, 1500, m.Fields()[0])
	assert.EqualValues(t, 30, m.implicit[Micros])
}

func TestMessages(t *testing.T) {
	update := Message{Kind: UpdateFields, Flow: 9,
		Updates: []Update{{Register{Implicit, Rate}, 1_250_000_000}}}
	assert.Equal(t, "0300190009000000"+"01000000"+"02"+"05000000"+"807c814a00000000",
		hex.EncodeToString(update.Append(nil)))
	p, err := Compile(3, PerAck)
	require.NoError(t, err)
	for _, m := range []Message{
		{Kind: Create, Flow: 1, InitCwnd: 2, MSS: 3, SrcIP: 4, SrcPort: 5, DstIP: 6, DstPort: 7,
			Algorithm: "swift"},
		{Kind: Measure, Flow: 1, Program: 2, Fields: []uint64{3, 1 << 60}},
		{Kind: Install, Flow: 1, Program: 3, Expressions: p.Expressions,
			Instructions: p.Instructions},
		update, {Kind: ChangeProg, Flow: 8, Program: 3, Updates: update.Updates}, {Kind: Ready,
			Datapath: 12},
	} {
		b := m.Append(nil)
		var back Message
		n, err := back.Decode(b)
		require.NoError(t, err)
		assert.Equal(t, len(b), n)
		assert.Equal(t, b, back.Append(nil))
		for cut := range b {
			_, err := back.Decode(b[:cut])
			require.ErrorIs(t, err, ErrMalformed)
		}
		if m.Kind == Create {
			assert.Len(t, b, 96)
			assert.Equal(t, "swift", back.Algorithm)
		}
	}
	many := Message{Kind: UpdateFields}
	for i := range 113 {
		many.Updates = append(many.Updates, Update{Register{Control, uint32(i)}, 1})
	}
	var back Message
	_, err = back.Decode(many.Append(nil))
	assert.ErrorIs(t, err, ErrMalformed, "more updates than registers")
}

// run runs a program once, and returns its first report register.
func run(t *testing.T, body string, prims map[uint32]uint64) (uint64, error) {
	m := machine(t, "(def (c 5) (Report (x 3)))"+body)
	for i, v := range prims {
		m.Primitives[i] = v
	}
	_, err := m.Run(1000, 2000, at(50))
	return m.report[0], err
}

func TestLanguage(t *testing.T) {
	for body, want := range map[string]uint64{
		"(when true (:= Report.x (+ 2 (* 3 4))))":           14,
		"(when true (:= Report.x (/ (- 9 2) 2)))":           3,
		"(when (== c 5) (:= Report.x 1))":                   1,
		"(when (&& (> c 4) (< c 6)) (:= Report.x 1))":       1,
		"(when (|| (> c 9) false) (:= Report.x 1))":         3,
		"(when true (:= Report.x (max c 9)))":               9,
		"(when true (:= Report.x (max_wrap 4294967290 5)))": 5,
		// (2*3 + 8*13)/10
		"(when true (:= Report.x (ewma 2 13)))":        11,
		"(when true (:= Report.x (+ 1 (ewma 2 13))))":  14,
		"(when true (:= Report.x (if false 8)))":       3,
		"(when true (:= Report.x (!if false 8)))":      8,
		"(when true (:= Report.x (+ 1 (if false 8))))": 1,
		// the first true condition
		"(when true (:= Report.x 1)) (when true (:= Report.x 2))":               1,
		"(when true (:= Report.x 1) (fallthrough)) (when true (:= Report.x 2))": 2,
		"(when false (:= Report.x 1)) (when true (:= Report.x 2)) # comment":    2,
		"(when true (:= Report.x Micros))":                                      50,
		"(when true (:= Report.x (+ Cwnd Rate)))":                               3000,
		// no sample
		"(when true (:= Report.x Flow.rtt_sample_us))": infinity,
	} {
		got, err := run(t, body, nil)
		require.NoError(t, err, body)
		assert.Equal(t, want, got, body)
	}
	for _, body := range []string{"(- 2 3)", "(/ 1 0)", "(+ Ack.bytes_acked 1)",
		"(* Ack.bytes_acked 2)", "(ewma 11 5)", "(ewma 1 Ack.bytes_acked)"} {
		got, err := run(t, "(when true (:= Report.x "+body+"))",
			map[uint32]uint64{BytesAcked: ^uint64(0)})
		assert.ErrorIs(t, err, ErrArithmetic, body)
		assert.EqualValues(t, 3, got)
	}
	for text, want := range map[string]string{
		"":                                 "want (def ...)",
		"(when true)":                      "want (def ...)",
		"(def (Report (x 0)":               "2 unclosed parentheses",
		"(def))":                           "unmatched )",
		"(def (x y))":                      `unknown name "y"`,
		"(def (x Ack.now))":                "want a number",
		"(def (x 1) (x 2))":                "already in use",
		"(def (__x 1))":                    "already in use",
		"(def (x))":                        "want (name value)",
		"(def) (if)":                       "want (when condition ...)",
		"(def) (when true (:= Ack.now 5))": "not writable",
		"(def) (when true (:= nothing 5))": "not writable",
		"(def) (when true (stop))":         "want a statement",
		"(def) (when (+ 1))":               "want an expression",
		"(def) (when (+ 1 two))":           `unknown name "two"`,
		"(def) (when 4294967296)":          "unknown name",
		"(def) (when (+ (+ (+ (+ (+ (+ (+ (+ (+ 1 1) 1) 1) 1) 1) 1) 1) 1) 1))": "temporary values",
	} {
		_, err := Compile(1, text)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestPersistentAndVolatile(t *testing.T) {
	m := machine(t, `(def (volatile c 1) (k 1) (Report (volatile v 1) (w 1)))
		(when true (:= c 9) (:= k 9) (:= Report.v 9) (:= Report.w 9) (report))`)
	send, err := m.Run(0, 0, 0)
	require.NoError(t, err)
	assert.True(t, send)
	m.Reported()
	assert.Equal(t, []uint64{1, 9}, m.Fields())
	assert.Equal(t, [2]uint64{1, 9}, [2]uint64{m.control[0], m.control[1]})
	assert.True(t, m.Update(Update{Register{Control, 1}, 4}))
	assert.True(t, m.Update(Update{Register{Implicit, Cwnd}, 4}))
	assert.False(t, m.Update(Update{Register{Report, 0}, 4}))
	assert.False(t, m.Update(Update{Register{Implicit, Micros}, 4}))
	assert.False(t, m.Update(Update{Register{Control, 500}, 4}))
}

// FuzzInstall checks that a machine with any program that it accepts stays within its registers.
func FuzzInstall(f *testing.F) {
	for _, text := range []string{PerAck, PerRTT} {
		p, err := Compile(3, text)
		require.NoError(f, err)
		m := Message{Kind: Install, Program: 3, Expressions: p.Expressions,
			Instructions: p.Instructions}
		f.Add(m.Append(nil))
	}
	u := Message{Kind: ChangeProg, Updates: []Update{{Register{Implicit, Cwnd}, 5}}}
	f.Add(u.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var msg Message
		n, err := msg.Decode(b)
		if err != nil {
			require.ErrorIs(t, err, ErrMalformed)
			return
		}
		require.LessOrEqual(t, n, len(b))
		p, err := NewProgram(1, msg.Expressions, msg.Instructions)
		if err != nil {
			require.ErrorIs(t, err, ErrProgram)
			return
		}
		var m Machine
		m.Change(p, 0)
		for i := range 3 {
			m.Primitives[BytesAcked] = uint64(i)
			if send, err := m.Run(10, 10, at(i*100)); send && err == nil {
				m.Fields()
				m.Reported()
			}
		}
		for _, u := range msg.Updates {
			m.Update(u)
		}
	})
}

func FuzzCompile(f *testing.F) {
	f.Add(PerAck)
	f.Add("(def (x 1)) (when (> x 0) (:= x (ewma 2 3)) (report))")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := Compile(1, text); err == nil {
			var m Machine
			m.Change(p, 0)
			_, _ = m.Run(1, 1, at(1))
		}
	})
}

var path = cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 12 * us, Payload: 4096,
	Signals: cc.SignalDelay | cc.SignalMarks}

func algorithm(t testing.TB, text string) cc.Algorithm {
	spec, err := cc.Parse(text)
	require.NoError(t, err)
	a, err := spec.New(path)
	require.NoError(t, err)
	return a
}

func controller(t testing.TB, c Config) (*Controller, *Agent) {
	ctl, agent, err := New(c, true)
	require.NoError(t, err)
	return ctl, agent
}

// acks reports an acknowledged packet per µs for every flow.
func acks(c *Controller, flows []cc.Flow, from, to int, delay units.Duration, marked int) {
	for now := from; now < to; now++ {
		for _, f := range flows {
			c.Report(&cc.Event{Kind: cc.RTT, Flow: f, PSN: uint32(now), SndNxt: uint32(now + 20),
				Packets: 1, Bytes: 4096, Marked: marked, Delay: delay, InFlight: 1 << 20}, at(now))
		}
		c.Poll(at(now))
	}
}

func TestAlgorithmsUnchanged(t *testing.T) {
	for _, program := range []string{PerAck, PerRTT} {
		for _, text := range []string{"swift", "dctcp", "idctcp", "timely", "ledbat-dc"} {
			c, agent := controller(t, Config{Program: program})
			f := c.Add(algorithm(t, text), 0)
			start, _ := c.Decision(f)
			c.Poll(0)
			acks(c, []cc.Flow{f}, 1, 2000, 900*us, 1)
			got, _ := c.Decision(f)
			assert.True(t, got.Window < start.Window || got.Rate > 0 && got.Rate < path.LineRate,
				"%s: congestion: %v after %v", text, got, start)
			acks(c, []cc.Flow{f}, 2000, 6000, 10*us, 0)
			later, _ := c.Decision(f)
			assert.NotEqual(t, got, later, text)
			n := c.Counters()
			assert.Zero(t, n.Dropped+n.Aborted+n.Malformed+agent.Counters().Malformed)
			if program == PerAck {
				assert.Equal(t, n.Invocations, n.Reports)
			} else {
				assert.Less(t, n.Reports, n.Invocations/9)
			}
			assert.Equal(t, n.Reports, agent.Counters().Reports)
			c.Remove(f)
			c.Poll(at(7000))
			g := c.Add(algorithm(t, text), at(7000))
			assert.Equal(t, f, g)
			c.Report(&cc.Event{Kind: cc.RTO, Flow: g}, at(7001))
			c.Poll(at(7001))
			c.Report(&cc.Event{Kind: cc.RTO, Flow: g}, at(7002))
			c.Poll(at(7002))
			d, _ := c.Decision(g)
			assert.NotZero(t, d.Window)
		}
	}
}

// An algorithm without RTT events gets one report per round trip, too, as marks.
func TestPerRTTWithoutRTT(t *testing.T) {
	var received []cc.Kind
	c, _ := controller(t, Config{Program: PerRTT})
	f := c.Add(&scribe{events: cc.Events(cc.ACK, cc.ECN), received: &received}, 0)
	c.Report(&cc.Event{Kind: cc.RTT, Flow: f}, 0) // Create
	c.Poll(0)
	acks(c, []cc.Flow{f}, 1, 101, 9*us, 1)
	assert.InDelta(t, 10, len(received), 1)
	assert.Contains(t, received, cc.ECN)
	assert.NotContains(t, received, cc.RTT)
}

type scribe struct {
	events   cc.EventSet
	received *[]cc.Kind
}

func (s *scribe) Events() cc.EventSet { return s.events }
func (s *scribe) On(ev *cc.Event, _ units.Time) cc.Decision {
	*s.received = append(*s.received, ev.Kind)
	return cc.Decision{Window: units.MiB}
}

// A report combines all acknowledgements since the last one.
func TestPerRTTFolds(t *testing.T) {
	received := &counting{}
	c, _ := controller(t, Config{Program: PerRTT})
	f := c.Add(received, 0)
	c.Report(&cc.Event{Kind: cc.RTT, Flow: f}, 0) // Create
	c.Poll(0)
	acks(c, []cc.Flow{f}, 1, 101, 9*us, 0)
	assert.EqualValues(t, 100, received.packets+int(c.flows[f].machine.report[reportPackets]))
	assert.InDelta(t, 10, received.events, 1)
	before := received.events
	c.Report(&cc.Event{Kind: cc.OOO, Flow: f}, at(101))
	c.Poll(at(101))
	assert.Greater(t, received.events, before, "a loss is reported at once")
	c.Report(&cc.Event{Kind: cc.CNP, Flow: f}, at(102))
	acks(c, []cc.Flow{f}, 103, 120, 9*us, 0)
	assert.Zero(t, c.Counters().Malformed)
}

type counting struct{ events, packets int }

func (*counting) Events() cc.EventSet { return cc.Events(cc.ACK, cc.RTT, cc.OOO, cc.RTO, cc.ECN) }
func (c *counting) On(ev *cc.Event, _ units.Time) cc.Decision {
	c.events++
	c.packets += ev.Packets
	return cc.Decision{Window: units.Bytes(c.events)}
}

// With an agent that is too slow the ring fills, and reports are lost with all they counted.
func TestSlowAgentLosesReports(t *testing.T) {
	received := &counting{}
	c, agent := controller(t, Config{Ring: 256, Service: 4 * us})
	f := c.Add(received, 0)
	c.Report(&cc.Event{Kind: cc.RTT, Flow: f}, 0)
	for now := range 20 {
		c.Poll(at(now)) // Ready, Create
	}
	acks(c, []cc.Flow{f}, 20, 10_020, 9*us, 0)
	n := c.Counters()
	assert.InDelta(t, 2500, float64(agent.Counters().Reports), 5, "one per 4 µs")
	assert.EqualValues(t, 10_000, n.Reports+n.Dropped)
	assert.InDelta(t, 7500-85, float64(n.Dropped), 20)
	for now := 10_020; now < 12_000; now++ {
		c.Poll(at(now))
	}
	assert.EqualValues(t, n.Reports, agent.Counters().Reports)
	assert.Equal(t, int(n.Reports), received.packets)
}

func TestConfigs(t *testing.T) {
	for want, c := range map[string]Config{
		"power of two": {Ring: 1000}, "1 report fields": {Program: "(def (Report (x 1)))"},
		"want (def": {Program: "x"}, "service time": {Service: -1},
	} {
		_, _, err := New(c, true)
		assert.ErrorContains(t, err, want)
	}
}

func TestReportsDoNotAllocate(t *testing.T) {
	c, _ := controller(t, Config{})
	f := []cc.Flow{c.Add(algorithm(t, "swift"), 0)}
	acks(c, f, 0, 100, 20*us, 0)
	now := 100
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		acks(c, f, now, now+1, units.Duration(10+now%20)*us, 0)
		now++
	}))
}

func BenchmarkPerAck(b *testing.B) { benchmark(b, PerAck) }
func BenchmarkPerRTT(b *testing.B) { benchmark(b, PerRTT) }

// benchmark passes acknowledgements through program, report and algorithm, on one core.
func benchmark(b *testing.B, program string) {
	c, _ := controller(b, Config{Program: program})
	f := c.Add(algorithm(b, "swift"), 0)
	c.Poll(0)
	ev := cc.Event{Kind: cc.RTT, Flow: f, Packets: 1, Bytes: 4096, InFlight: 100_000}
	now := units.Time(0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now = now.Add(80 * units.Nanosecond)
		ev.PSN, ev.SndNxt, ev.Delay = uint32(i)&0xffffff, uint32(i+20)&0xffffff,
			units.Duration(20+i%32)*us
		c.Report(&ev, now)
		if i%32 == 0 {
			c.Poll(now)
		}
	}
	if c.Counters().Dropped > 0 {
		b.Fatal("reports were lost")
	}
}

// A message with an invalid length is not read beyond the buffer.
func TestLengthsBeyondTheRoom(t *testing.T) {
	for _, length := range []uint16{0, headerLen, MaxMessage, MaxMessage + 1,
		MaxMessage + nicoffload.Slot, math.MaxUint16} {
		r, err := newRing(4096)
		require.NoError(t, err)
		b := make([]byte, 2048*nicoffload.Slot)
		le.PutUint16(b, 99)
		le.PutUint16(b[2:], length)
		require.True(t, r.producer.Push(b))
		some, ok := pull(r.consumer, &Message{}, make([]byte, MaxMessage+nicoffload.Slot))
		assert.Equal(t, [2]bool{true, false}, [2]bool{some, ok}, length)
	}
}

// An update of one register leaves the other as it is.
func TestUpdatesOfOneRegister(t *testing.T) {
	c, _, err := New(Config{}, true)
	require.NoError(t, err)
	spec, err := cc.Parse("fixed:window=64KiB")
	require.NoError(t, err)
	a, err := spec.New(cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 12 * us, Payload: 4096})
	require.NoError(t, err)
	f := c.Add(a, 0)
	said := func(now int, updates ...Update) cc.Decision {
		c.Poll(at(now))
		c.msg = Message{Kind: UpdateFields, Flow: uint32(c.flows[f].handle), Updates: updates}
		require.True(t, len(updates) == 0 || c.handle())
		c.Report(&cc.Event{Kind: cc.RTT, Flow: f, Packets: 1, Bytes: 4096, Delay: us}, at(now))
		d, _ := c.Decision(f)
		return d
	}
	cwnd, rate := Register{Implicit, Cwnd}, Register{Implicit, Rate}
	said(1) // installs the program
	assert.Equal(t, cc.Decision{Window: 64 * units.KiB, Rate: 8000}, said(2, Update{rate, 1000}))
	assert.Equal(t, cc.Decision{Window: 5000, Rate: 8000}, said(3, Update{cwnd, 5000}))
	assert.Equal(t, cc.Decision{Window: 6000, Rate: 16000},
		said(4, Update{rate, 2000}, Update{cwnd, 6000}))
	assert.Equal(t, cc.Decision{Window: 6000}, said(5, Update{rate, unlimited}))
}
