package goroce

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// since is a moment of a test.
func since(d units.Duration) units.Time { return units.Time(units.Second).Add(d) }

const (
	us = units.Microsecond
	ms = units.Millisecond
)

// idleEvent is what an idler is told at a time: a round with work, one without, or a yield that
// took so long and ended then.
type idleEvent struct {
	at units.Duration
	// "work", "stake" and "idle": a round without work, with something at stake and with nothing;
	// "yielded"
	what    string
	took    units.Duration
	want    rest
	reserve units.Duration // after it; 0 here is not looked at, but for none
}

const none = units.Duration(-1)

func work(at units.Duration) idleEvent { return idleEvent{at: at, what: "work"} }
func stake(at units.Duration, want rest) idleEvent {
	return idleEvent{at: at, what: "stake", want: want}
}
func idle(at units.Duration, want rest) idleEvent {
	return idleEvent{at: at, what: "idle", want: want}
}
func yielded(at, took units.Duration) idleEvent {
	return idleEvent{at: at, what: "yielded", took: took}
}
func (e idleEvent) after(reserve units.Duration) idleEvent { e.reserve = reserve; return e }

// What a polling core does without work, by example.
func TestIdler(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy Idle
		shared bool
		events []idleEvent
	}{
		{"an answer under way: it spins, and tries yields, but never naps", IdleSleep, false,
			[]idleEvent{
				work(0), stake(0, restSpin), stake(2*us, restSpin), stake(20*us, restSpin),
				stake(21*us,
					restYield),
				stake(300*us, restYield), stake(50*ms, restYield),
			}},
		{"nothing under way: naps after 25 us, long ones after 250", IdleSleep, false, []idleEvent{
			work(0), idle(us, restSpin), idle(20*us, restSpin), idle(25*us, restYield), idle(26*us,
				restNap),
			idle(250*us, restNap), idle(251*us, restSleep), idle(10*ms, restSleep),
			work(11 * ms), idle(11*ms+us, restSpin), idle(11*ms+26*us, restNap),
		}},
		{"something comes to be at stake as it naps", IdleSleep, false, []idleEvent{
			work(0), idle(300*us, restSleep), stake(301*us, restYield), idle(302*us, restSleep),
		}},
		{"a yield that brought nothing doubles the reserve, up to 50 ms", IdleSleep, false,
			[]idleEvent{
				work(0), stake(21*us, restYield), yielded(22*us, us), stake(23*us,
					restSpin).after(40 * us),
				stake(62*us, restSpin), stake(63*us, restYield), yielded(64*us, us), stake(65*us,
					restSpin).after(80 * us),
				yielded(us*1000, us), stake(1001*us, restSpin).after(160 * us),
				yielded(2*ms, us), stake(3*ms, restYield).after(320 * us),
				yielded(4*ms, us), stake(5*ms, restYield).after(640 * us),
				yielded(6*ms, us), stake(7*ms, restSpin).after(1280 * us),
				yielded(8*ms, us), stake(9*ms, restSpin).after(2560 * us),
				yielded(10*ms, us), stake(11*ms, restSpin).after(5120 * us),
				yielded(20*ms, us), stake(21*ms, restSpin).after(10240 * us),
				yielded(30*ms, us), stake(31*ms, restSpin).after(20480 * us),
				yielded(60*ms, us), stake(61*ms, restSpin).after(40960 * us),
				yielded(110*ms, us), stake(111*ms, restSpin).after(50 * ms),
				yielded(200*ms, us), stake(250*ms, restSpin).after(50 * ms), stake(251*ms,
					restYield),
			}},
		{"a yield that brought work: a peer waits for this core, and every round without work " +
			"yields", IdleSleep, false, []idleEvent{
			work(0), stake(21*us, restYield), yielded(26*us, 5*us), work(27 * us).after(none),
			stake(28*us, restSpin), stake(28*us+1, restYield), yielded(30*us, 2*us),
			work(31 * us).after(none),
			stake(33*us, restYield), yielded(35*us, 2*us), stake(35*us, restSpin).after(20 * us),
		}},
		{"a yield during which nobody had the core: the work came of itself", IdleSleep, false,
			[]idleEvent{
				work(0), stake(21*us, restYield), yielded(22500*units.Nanosecond,
					1500*units.Nanosecond), work(23 * us).after(20 * us),
				stake(24*us, restSpin),
			}},
		{"a yield after which another thread kept the core: the longest reserve", IdleSleep, false,
			[]idleEvent{
				work(0), stake(21*us, restYield), yielded(1021*us, ms), stake(1022*us,
					restSpin).after(50 * ms),
				stake(51*ms, restSpin), stake(51022*us, restYield),
			}},
		{"the same, with work by then: that says nothing of a peer", IdleSleep, false, []idleEvent{
			work(0), stake(21*us, restYield), yielded(1021*us, ms), work(1022 * us).after(20 * us),
			stake(1023*us, restSpin),
		}},
		{"only the round after a yield tells", IdleSleep, false, []idleEvent{
			work(0), stake(21*us, restYield), yielded(26*us, 5*us), stake(27*us,
				restSpin).after(40 * us), work(28 * us).after(40 * us),
		}},
		{"work just before a yield: it hesitates", IdleSleep, false, []idleEvent{
			work(0), work(ms), stake(ms+2*us, restSpin), stake(ms+2*us+1, restYield),
		}},
		{"fewer cores than threads: it yields from the beginning", IdleSleep, true, []idleEvent{
			work(0).after(none), stake(us, restSpin), stake(us+1, restYield), yielded(3*us, us),
			stake(4*us, restSpin).after(20 * us),
		}},
		{"spin: whatever happens", IdleSpin, true, []idleEvent{
			work(0), idle(us, restSpin), idle(300*us, restSpin), stake(ms, restSpin),
			idle(units.Second, restSpin),
		}},
		{"pause: whatever happens", IdlePause, true, []idleEvent{
			work(0), idle(us, restPause), idle(300*us, restPause), stake(ms, restPause),
			idle(units.Second, restPause),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := newIdler(c.policy, since(0), c.shared)
			for n, e := range c.events {
				switch now := since(e.at); e.what {
				case "work":
					i.work(now)
				case "yielded":
					i.yieldedFor(e.took, now)
				default:
					require.Equal(t, e.want, i.rest(now, e.what == "stake"), "event %d: %+v", n, e)
				}
				if e.reserve != 0 {
					require.Equal(t, max(e.reserve, 0), i.reserve, "event %d: %+v", n, e)
				}
			}
		})
	}
}

// A nap ends before the endpoint has something to do, were it to take twice as long as asked for.
func TestNapsEndInTime(t *testing.T) {
	for _, c := range []struct {
		rest   rest
		within units.Duration
		want   time.Duration
	}{
		{restNap, units.Forever, nap}, {restNap, 40 * us, nap}, {restNap, 40*us - units.Nanosecond,
			0}, {restNap, 0, 0}, {restNap, -ms, 0},
		{restSleep, units.Forever, longNap}, {restSleep, 100 * us, longNap}, {restSleep, 99 * us,
			0}, {restSleep, -ms, 0},
	} {
		assert.Equal(t, c.want, c.rest.length(c.within), "%d within %v", c.rest, c.within)
	}
}

// What rest says is done, and the time afterwards is a time afterwards.
func TestWait(t *testing.T) {
	clock := processClock()
	for _, c := range []struct {
		rest   rest
		within units.Duration
		least  units.Duration
	}{
		{restSpin, units.Second, 0}, {restPause, units.Second, 0}, {restYield, units.Second, 0},
		{restNap, units.Second, 20 * us}, {restSleep, units.Second, 50 * us}, {restSleep, 10 * us,
			0},
	} {
		now := clock.Now()
		i := newIdler(IdleSleep, now, false)
		after := i.wait(c.rest, clock, now, now.Add(c.within))
		assert.GreaterOrEqual(t, after.Sub(now), c.least, "%d", c.rest)
		assert.Equal(t, c.rest == restYield, i.trying, "%d", c.rest)
		if i.trying {
			assert.Equal(t, after, i.yielded)
			assert.Equal(t, after.Sub(now), i.took)
		}
	}
}
