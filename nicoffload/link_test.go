package nicoffload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// An engine encodes a cell as Message.Encode encodes its event.
func TestCellsAreMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ev := drawEvent(t)
		ev.Kind = rapid.SampledFrom([]cc.Kind{cc.ACK, cc.ECN, cc.TX, cc.RTT, cc.OOO}).Draw(t, "of")
		ev.INT, ev.SRC, ev.Host, ev.Probe = nil, cc.SRC{}, cc.HostSample{}, false
		if ev.Kind == cc.OOO {
			ev.Delay = 0
			if ev.Bytes != 0 { // an OOO acknowledges nothing
				ev.Bytes = 0
			}
		}
		class := Accumulable
		if ev.Kind == cc.OOO {
			class = Coalescent
		}
		brief := rapid.Bool().Draw(t, "brief")
		c := cell{flow: 77, kind: ev.Kind, first: 5, count: 3}
		c.set(&ev)
		m := Message{Flow: 77, Type: typeOf[ev.Kind], Class: class, Count: 3, First: 5, Event: ev}
		a, b := make([]byte, MaxMessage), make([]byte, MaxMessage)
		n := c.encode(a, class, brief)
		require.Equal(t, b[:m.Encode(b, brief)], a[:n])
	})
}

func newLink(t testing.TB) (*Link, *NICSide, *Host) {
	l := NewLink()
	b, err := l.NICSide(newNIC(t, Config{}))
	require.NoError(t, err)
	h, err := l.Host()
	require.NoError(t, err)
	b.Poll(0)
	return l, b, h
}

// A producer's implausible position, or an incomplete message, is counted and skipped, and later
// messages arrive.
func TestInvalidProducer(t *testing.T) {
	l, b, h := newLink(t)
	buf := make([]byte, 1<<18)
	say := func(now int) {
		b.Report(1, &cc.Event{Kind: cc.RTT, Delay: 5}, at(now))
		b.Poll(at(now))
	}
	b.Open(1, cc.Decision{}, 0)
	say(1)
	require.NotZero(t, h.Fetch(buf))
	for _, tear := range []func(){
		func() { b.up.tail.Store(b.up.own + UpSlots + 1) }, // beyond the ring
		func() { b.up.tail.Store(b.up.own - 1) },           // backwards
		func() { // a message without its end
			m := Message{Flow: 1, Type: typeOf[cc.CST], SegmentID: 20, Segment: make([]byte, 200),
				Event: cc.Event{Kind: cc.CST}}
			n := m.Encode(buf, false)
			b.up.Push(buf[:n-Slot])
		},
		func() { clear(buf[:Slot]); b.up.Push(buf[:Slot]) }, // zeros
	} {
		before := h.Counters().Malformed
		tear()
		assert.Zero(t, h.Fetch(buf))
		b.up.own = b.up.tail.Load() // the producer continues from there
		assert.Equal(t, before+1, h.Counters().Malformed)
		say(2)
		assert.Equal(t, 2*Slot, h.Fetch(buf))
	}
	_, err := OpenLink(l.mem)
	require.NoError(t, err)
	l.mem[4]++
	_, err = OpenLink(l.mem)
	assert.ErrorContains(t, err, "version 2")
}

func TestLinksDoNotAllocate(t *testing.T) {
	c, agent, err := NewLinked(Config{Flows: 4, Aggregation: DefaultAggregation}, AgentConfig{},
		ControllerConfig{}, 0)
	require.NoError(t, err)
	f := c.Add(algorithm(t, "swift"), 0)
	ev := cc.Event{Kind: cc.RTT, Flow: f, Packets: 1, Bytes: 4096}
	now := 0
	round := func() {
		now++
		ev.PSN, ev.Delay = uint32(now)&psnMask, units.Duration(10+now%50)*us
		c.Report(&ev, at(now))
		c.Poll(at(now))
		agent.Poll(at(now))
		for f, some := c.Changed(); some; f, some = c.Changed() {
			c.Decision(f)
		}
	}
	for range 100 {
		round()
	}
	assert.Zero(t, testing.AllocsPerRun(2000, round))
	assert.NotZero(t, c.Counters().Results)
}

// With an implausible position of the consumer, nothing is overwritten that it may read.
func TestInvalidConsumer(t *testing.T) {
	mem := AlignedMemory(RingBytes(16))
	p, err := NewProducer(mem, 16)
	require.NoError(t, err)
	p.head.Store(5) // before anything is written
	assert.Zero(t, p.Room())
	assert.False(t, p.Push(make([]byte, Slot)))
	p.head.Store(0)
	assert.True(t, p.Push(make([]byte, 16*Slot)))
	assert.False(t, p.Push(make([]byte, Slot)), "the ring counts as full")
	for _, slots := range []int{0, 8, 17} {
		_, err := NewConsumer(mem, slots)
		assert.ErrorContains(t, err, "power of two")
	}
	_, err = NewConsumer(mem, 32)
	assert.ErrorContains(t, err, "at a multiple of 8")
	_, err = NewConsumer(mem[1:], 16)
	assert.Error(t, err)
}

// FuzzLink checks that both ends survive any content of a Link.
func FuzzLink(f *testing.F) {
	m := Message{Flow: 1, Type: Started}
	b := make([]byte, MaxMessage)
	n := m.Encode(b, true)
	c := command{op: opResult, flow: 1, result: cc.Decision{Window: 5}}
	c.encode(b[n:])
	f.Add(b[:n+Slot], uint64(2), uint64(0), uint64(1), uint64(0))
	f.Add([]byte{}, ^uint64(0), uint64(3), uint64(1<<40), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, tail, head, downTail, downHead uint64) {
		l, side, host := newLink(t)
		side.Open(1, cc.Decision{}, 0)
		copy(l.mem[linkUp+ringHeader:linkDown], data)
		copy(l.mem[linkDown+ringHeader:], data)
		word(l.mem[linkUp+ringTail:]).Store(tail)
		word(l.mem[linkUp+ringHead:]).Store(head)
		word(l.mem[linkDown+ringTail:]).Store(downTail)
		word(l.mem[linkDown+ringHead:]).Store(downHead)
		agent, err := NewAgent(AgentConfig{Device: host, Adopt: NewHandoff().Adopt}, 0)
		if err != nil {
			require.ErrorIs(t, err, ErrBusy)
			return
		}
		for i := range 3 {
			side.Report(1, &cc.Event{Kind: cc.RTT, Delay: units.Duration(i)}, at(i))
			side.Poll(at(i))
			agent.Poll(at(i))
			side.Result(new(Result))
			side.Silence(at(i))
		}
	})
}

// FuzzSignals checks the same for the rings between a pipeline and a NIC in another process.
func FuzzSignals(f *testing.F) {
	m := Message{Flow: 1, Type: Started}
	b := make([]byte, 2*MaxMessage)
	n := m.Encode(b, true)
	c := command{op: opResult, flow: 1}
	c.encode(b[n:])
	m = Message{Flow: 1, Type: tick, First: 5}
	n += Slot
	n += m.Encode(b[n:n+MaxMessage], true)
	f.Add(b[:n], uint64(3), uint64(1))
	f.Fuzz(func(t *testing.T, data []byte, tail, results uint64) {
		a, err := InitProcessLink(AlignedMemory(ProcessLinkBytes), true)
		require.NoError(t, err)
		served, err := a.Serve(newNIC(t, Config{}))
		require.NoError(t, err)
		remote, err := a.Remote(0)
		require.NoError(t, err)
		copy(a.mem[processSignals+ringHeader:processResults], data)
		copy(a.mem[processResults+ringHeader:], data)
		word(a.mem[processSignals+ringTail:]).Store(tail)
		word(a.mem[processResults+ringTail:]).Store(results)
		remote.Open(3, cc.Decision{}, 0)
		for i := range 3 {
			served.Poll(at(i))
			remote.Poll(at(i))
			remote.Result(new(Result))
			remote.Silence(at(i))
		}
	})
}
