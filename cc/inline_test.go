package cc

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/units"
)

// script is an algorithm with scripted decisions that records its events.
type script struct {
	events EventSet
	start  Decision
	decide func(ev *Event, now units.Time) Decision
	kinds  []Kind
	times  []units.Time
}

func (s *script) Events() EventSet          { return s.events }
func (s *script) Start(units.Time) Decision { return s.start }
func (s *script) On(ev *Event, now units.Time) Decision {
	s.kinds, s.times = append(s.kinds, ev.Kind), append(s.times, now)
	return s.decide(ev, now)
}

func constant(d Decision) func(*Event, units.Time) Decision {
	return func(*Event, units.Time) Decision { return d }
}

// plain is an algorithm without a Start.
type plain struct{}

func (plain) Events() EventSet               { return 0 }
func (plain) On(*Event, units.Time) Decision { return Decision{} }

func TestInlineBeginsWithStart(t *testing.T) {
	var c Inline
	first := Decision{Window: 7, Rate: units.Gbps}
	f := c.Add(&script{start: first}, 5)
	d, changed := c.Decision(f)
	assert.Equal(t, first, d)
	assert.True(t, changed)

	f = c.Add(plain{}, 5)
	d, changed = c.Decision(f)
	assert.Equal(t, Decision{Window: units.MiB}, d)
	assert.True(t, changed)
}

func TestInlineBinding(t *testing.T) {
	for k := range kinds {
		var c Inline
		s := &script{events: Events(RTT, CNP), decide: constant(Decision{Window: 1})}
		f := c.Add(s, 0)
		assert.Equal(t, s.events, c.Events(f))
		c.Decision(f)
		c.Report(&Event{Kind: k, Flow: f}, 9)
		_, changed := c.Decision(f)
		if k == RTT || k == CNP {
			assert.Equal(t, []Kind{k}, s.kinds)
			assert.Equal(t, []units.Time{9}, s.times)
			assert.True(t, changed)
		} else {
			assert.Empty(t, s.kinds, k)
			assert.False(t, changed, k)
		}
	}
}

func TestInlineChangedOnce(t *testing.T) {
	var c Inline
	s := &script{events: Events(ACK), start: Decision{Window: 1},
		decide: constant(Decision{Window: 1})}
	f := c.Add(s, 0)
	ack := &Event{Kind: ACK, Flow: f}
	expect := func(want bool) {
		t.Helper()
		_, changed := c.Decision(f)
		assert.Equal(t, want, changed)
	}
	expect(true)
	expect(false)
	c.Report(ack, 1) // the same decision
	expect(false)
	s.decide = constant(Decision{Window: 2})
	c.Report(ack, 2)
	expect(true)
	expect(false)
	c.Report(ack, 3)
	s.decide = constant(Decision{Window: 1})
	c.Report(ack, 4)
	s.decide = constant(Decision{Window: 2})
	c.Report(ack, 5) // changed twice
	expect(true)
}

func TestInlineFlowsAreApart(t *testing.T) {
	var c Inline
	a := &script{events: Events(ACK), decide: constant(Decision{Window: 1})}
	b := &script{events: Events(ACK), decide: constant(Decision{Window: 2})}
	fa, fb := c.Add(a, 0), c.Add(b, 0)
	require.NotEqual(t, fa, fb)
	c.Report(&Event{Kind: ACK, Flow: fb}, 0)
	assert.Empty(t, a.kinds)
	d, _ := c.Decision(fb)
	assert.Equal(t, units.Bytes(2), d.Window)
}

func TestInlineTimer(t *testing.T) {
	var c Inline
	forever := units.Time(0).Add(units.Forever)
	require.Equal(t, forever, c.Poll(0))
	s := &script{events: Events(TIMER), start: Decision{WakeAt: 10}}
	s.decide = func(_ *Event, now units.Time) Decision {
		if now < 30 {
			return Decision{WakeAt: now.Add(10)}
		}
		return Decision{Window: 5}
	}
	f := c.Add(s, 0)
	assert.Equal(t, units.Time(10), c.Poll(0))
	assert.Equal(t, units.Time(10), c.Poll(9))
	require.Empty(t, s.kinds)
	assert.Equal(t, units.Time(20), c.Poll(10))
	assert.Equal(t, units.Time(25+10), c.Poll(25), "late is once")
	assert.Equal(t, units.Time(35).Add(units.Forever), c.Poll(35))
	assert.Equal(t, []Kind{TIMER, TIMER, TIMER}, s.kinds)
	assert.Equal(t, []units.Time{10, 25, 35}, s.times)
	d, _ := c.Decision(f)
	assert.Equal(t, Decision{Window: 5}, d)
}

func TestInlineTimerOfAnUnboundFlow(t *testing.T) {
	var c Inline
	s := &script{start: Decision{WakeAt: 10}}
	c.Add(s, 0)
	assert.Equal(t, units.Time(10).Add(units.Forever), c.Poll(10))
	assert.Empty(t, s.kinds)
}

func TestInlineTimerMovesEarlierAndAway(t *testing.T) {
	var c Inline
	s := &script{events: Events(ACK, TIMER), start: Decision{WakeAt: 100},
		decide: constant(Decision{WakeAt: 50})}
	f := c.Add(s, 0)
	require.Equal(t, units.Time(100), c.Poll(0))
	c.Report(&Event{Kind: ACK, Flow: f}, 1)
	require.Equal(t, units.Time(50), c.Poll(1))
	s.decide = constant(Decision{WakeAt: 70})
	c.Report(&Event{Kind: ACK, Flow: f}, 2)
	require.Equal(t, units.Time(70), c.Poll(50), "a scan finds nothing, and updates the bound")
	s.decide = constant(Decision{})
	c.Report(&Event{Kind: ACK, Flow: f}, 51)
	require.Equal(t, units.Time(51).Add(units.Forever), c.Poll(51))
	assert.NotContains(t, s.kinds, TIMER)
}

func TestInlineRemoveAndReuse(t *testing.T) {
	var c Inline
	old := &script{events: Events(ACK, TIMER), start: Decision{Window: 1, WakeAt: 10},
		decide: constant(Decision{})}
	f := c.Add(old, 0)
	c.Remove(f)
	c.Remove(f) // a second Remove has no effect
	assert.Zero(t, c.Events(f))
	c.Report(&Event{Kind: ACK, Flow: f}, 0)
	assert.Equal(t, units.Time(10).Add(units.Forever), c.Poll(10))
	assert.Empty(t, old.kinds)
	d, changed := c.Decision(f)
	assert.Zero(t, d)
	assert.False(t, changed)

	s := &script{events: Events(ACK), start: Decision{Window: 3},
		decide: constant(Decision{Window: 4})}
	require.Equal(t, f, c.Add(s, 0))
	require.NotEqual(t, f, c.Add(plain{}, 0))
	d, changed = c.Decision(f)
	assert.Equal(t, Decision{Window: 3}, d)
	assert.True(t, changed)
	c.Report(&Event{Kind: ACK, Flow: f}, 0)
	assert.Len(t, s.kinds, 1)
	assert.Empty(t, old.kinds)
}

// TestInlineTimersAgreeWithAScan compares Poll with a scan of all flows.
func TestInlineTimersAgreeWithAScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := units.Time(rapid.Int64().Draw(t, "start")) // times may wrap around
		now := start
		var c Inline
		type flow struct {
			s      *script
			wakeAt units.Time
			fired  int
		}
		var names []Flow
		flows := map[Flow]*flow{}
		pick := func() int { return rapid.IntRange(0, len(names)-1).Draw(t, "flow") }
		draw := func() units.Time {
			if rapid.Bool().Draw(t, "none") {
				return 0
			}
			return now.Add(units.Duration(rapid.IntRange(-3, 40).Draw(t, "in")))
		}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				fl := &flow{s: &script{events: Events(ACK, TIMER)}, wakeAt: draw()}
				fl.s.start = Decision{WakeAt: fl.wakeAt}
				name := c.Add(fl.s, now)
				names, flows[name] = append(names, name), fl
			case 1:
				if len(names) > 0 {
					i := pick()
					c.Remove(names[i])
					delete(flows, names[i])
					names = slices.Delete(names, i, i+1)
				}
			case 2:
				if len(names) > 0 {
					name := names[pick()]
					fl := flows[name]
					fl.wakeAt = draw()
					fl.s.decide = constant(Decision{WakeAt: fl.wakeAt})
					c.Report(&Event{Kind: ACK, Flow: name}, now)
				}
			case 3:
				now = now.Add(units.Duration(rapid.IntRange(0, 30).Draw(t, "step")))
				earliest := now.Add(units.Forever)
				for _, fl := range flows {
					fl.s.kinds, fl.s.decide, fl.fired = nil, constant(Decision{}), 0
					switch {
					case fl.wakeAt == 0:
					case fl.wakeAt.After(now):
						earliest = units.Earlier(earliest, fl.wakeAt)
					default:
						fl.wakeAt, fl.fired = 0, 1
					}
				}
				next := c.Poll(now)
				require.False(t, next.After(earliest), "too late")
				require.True(t, next.After(now))
				for _, fl := range flows {
					require.Len(t, fl.s.kinds, fl.fired)
				}
			}
		}
	})
}

// ticker requests a TIMER every microsecond, and counts them.
type ticker struct{ ticks int }

func (*ticker) Events() EventSet { return Events(ACK, TIMER) }
func (*ticker) Start(now units.Time) Decision {
	return Decision{WakeAt: now.Add(units.Microsecond)}
}
func (a *ticker) On(_ *Event, now units.Time) Decision {
	a.ticks++
	return Decision{Window: units.Bytes(a.ticks), WakeAt: now.Add(units.Microsecond)}
}

func TestInlineDoesNotAllocate(t *testing.T) {
	var c Inline
	a := &ticker{}
	f := c.Add(a, 0)
	now := units.Time(0)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		now = now.Add(units.Microsecond)
		c.Poll(now)
		c.Decision(f)
		c.Remove(f)
		f = c.Add(a, now)
	}))
	assert.Equal(t, 101, a.ticks)
}

func BenchmarkInlinePollNoneWaking(b *testing.B) { benchmarkPoll(b, plain{}) }

func BenchmarkInlinePollNotDue(b *testing.B) { benchmarkPoll(b, &ticker{}) }

func benchmarkPoll(b *testing.B, a Algorithm) {
	var c Inline
	for range 10000 {
		c.Add(a, 0)
	}
	b.ReportAllocs()
	for b.Loop() {
		c.Poll(0)
	}
}

// BenchmarkInlinePollOneDue: a poll in which one of ten thousand timers is due.
func BenchmarkInlinePollOneDue(b *testing.B) {
	const flows = 10_000
	var c Inline
	period := flows * units.Microsecond
	for i := range flows {
		c.Add(&periodic{period: period, next: units.Time(i+1) * units.Time(units.Microsecond)}, 0)
	}
	b.ReportAllocs()
	now := units.Time(0)
	for b.Loop() {
		now = now.Add(units.Microsecond)
		c.Poll(now)
	}
}

// periodic is an Algorithm with a TIMER each period.
type periodic struct {
	period units.Duration
	next   units.Time
}

func (*periodic) Events() EventSet            { return Events(TIMER) }
func (p *periodic) Start(units.Time) Decision { return Decision{WakeAt: p.next} }
func (p *periodic) On(*Event, units.Time) Decision {
	p.next = p.next.Add(p.period)
	return Decision{WakeAt: p.next}
}

// Changed returns each flow whose Decision a TIMER has changed, once, and no other flow.
func TestInlineChangedByTimer(t *testing.T) {
	var c Inline
	sleeper := func(at units.Time, then Decision) *script {
		return &script{events: Events(TIMER), start: Decision{Hold: true, WakeAt: at},
			decide: constant(then)}
	}
	held := c.Add(sleeper(10, Decision{Window: 5}), 0)
	same := c.Add(sleeper(10, Decision{Hold: true}), 0) // differs in WakeAt only
	later := c.Add(sleeper(20, Decision{Window: 6}), 0)
	for _, f := range []Flow{held, same, later} {
		c.Decision(f)
	}
	_, some := c.Changed()
	require.False(t, some)

	require.Equal(t, units.Time(20), c.Poll(10))
	f, some := c.Changed()
	require.True(t, some)
	require.Equal(t, held, f)
	_, some = c.Changed()
	require.False(t, some)
	d, changed := c.Decision(held)
	require.True(t, changed)
	require.Equal(t, Decision{Window: 5}, d)
}
