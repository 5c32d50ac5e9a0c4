package pace_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/units"
)

// program is a sequence of bytes that encodes operations, of a property test or a fuzzer.
type program []byte

func (p *program) more() bool { return len(*p) > 0 }

func (p *program) byte() (b byte) {
	if len(*p) > 0 {
		b, *p = (*p)[0], (*p)[1:]
	}
	return b
}

// duration returns a duration of any magnitude, from zero to days.
func (p *program) duration() units.Duration {
	magnitude, digits := p.byte(), int64(p.byte())<<8|int64(p.byte())
	return units.Duration(digits << (magnitude % 44))
}

func (p *program) time() (t units.Time) {
	for range 8 {
		t = t<<8 | units.Time(p.byte())
	}
	return t
}

// ceil returns the first slot not before t; slots count from origin.
func ceil(t, origin units.Time, slot units.Duration) units.Time {
	d := t.Sub(origin)
	if r := d % slot; r > 0 {
		d += slot - r
	} else {
		d -= r
	}
	return origin.Add(d)
}

func origin(start units.Time, slot units.Duration) units.Time {
	r := start % units.Time(slot)
	if r < 0 {
		r += units.Time(slot)
	}
	return start - r
}

func property(t *testing.T, check func(t require.TestingT, p program)) {
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.SliceOfN(rapid.Byte(), 100, 600).Draw(t, "program"))
	})
}

func fuzz(f *testing.F, check func(t require.TestingT, p program)) {
	f.Add([]byte{})
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00 timers and flows of every kind, forth and " +
		"back, for a while"))
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 1, 40, 1, 1, 1, 2, 33, 1, 1, 3, 39,
		1, 1, 0, 1, 41, 1, 1, 3, 43, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) { check(t, b) })
}

// wheelAgrees compares a wheel with a list that is searched every time.
func wheelAgrees(t require.TestingT, p program) {
	now := p.time()
	w, zero := pace.New(now), origin(now, pace.Slot)
	due := map[uint32]units.Time{}
	ahead := map[uint32]bool{} // was set to a moment to come
	var before units.Time      // of the timer that Due answered last, in one call after the other
	for p.more() {
		switch op := p.byte(); op % 4 {
		case 0, 1:
			id, d := uint32(p.byte()%32), p.duration()
			if op&0x80 != 0 {
				d = -min(d, units.Second)
			}
			at := now.Add(min(d, units.Forever))
			w.Set(id, at)
			due[id], ahead[id] = ceil(at, zero, pace.Slot), d > 0
		case 2:
			id := uint32(p.byte() % 33) // one of which was never set
			w.Stop(id)
			delete(due, id)
		case 3:
			now = now.Add(p.duration())
			zero = origin0(zero, now)
			before = now.Add(-units.Forever)
			for {
				id, ok := w.Due(now)
				if !ok {
					break
				}
				at, is := due[id]
				require.True(t, is, "timer %d is due and was not set", id)
				require.False(t, at.After(now), "timer %d is due at %v, not at %v", id, at, now)
				if ahead[id] {
					require.False(t, at.Before(before), "timer %d, due at %v, after one due at %v",
						id, at, before)
					before = at
				}
				delete(due, id)
			}
			for id, at := range due {
				require.True(t, at.After(now), "timer %d was due at %v, it is %v", id, at, now)
			}
		}
		next, some := w.Next()
		require.Equal(t, len(due) > 0, some)
		if !some {
			continue
		}
		earliest := now.Add(units.Forever)
		for _, at := range due {
			earliest = units.Earlier(earliest, at)
		}
		if earliest.After(now) {
			require.Equal(t, earliest, next)
		} else {
			require.False(t, next.After(now), "%v, something is due at %v", next, earliest)
		}
	}
}

// origin0 moves the point that slots count from close to now, so that nothing overflows.
func origin0(zero, now units.Time) units.Time {
	return zero.Add(now.Sub(zero) / pace.Slot * pace.Slot)
}

func TestWheelIsASortedList(t *testing.T) { property(t, wheelAgrees) }
func FuzzWheel(f *testing.F)              { fuzz(f, wheelAgrees) }

// list implements the rules of WF²Q+ for flows in a list.
type list struct {
	flows      [8]listed
	prev, tick units.Time
	zero       units.Time
	slot       units.Duration
}

type listed struct {
	rate                units.BitRate
	last, finish, floor units.Time
	size, head          units.Bytes
	backlogged, mayGo   bool
}

func (l *list) start(f int) units.Time {
	if x := &l.flows[f]; x.finish.After(x.floor) {
		return x.finish
	}
	return l.flows[f].floor
}

// eligible returns the flow to send at the tick, -1 for none.
func (l *list) eligible() int {
	first, found := units.Time(0), -1
	for f := range l.flows {
		x := &l.flows[f]
		if !x.backlogged || x.rate == 0 || ceil(l.start(f), l.zero, l.slot).After(l.tick) {
			continue
		}
		x.mayGo = true
		if finish := l.start(f).Add(x.rate.Duration(x.head)); found < 0 || finish.Before(first) {
			first, found = finish, f
		}
	}
	return found
}

func (l *list) next(now units.Time) (at units.Time, some bool) {
	at = now.Add(units.Forever)
	for f := range l.flows {
		if x := &l.flows[f]; x.backlogged && x.rate > 0 && !x.mayGo {
			at, some = units.Earlier(at, ceil(l.start(f), l.zero, l.slot)), true
		}
	}
	return at, some
}

var rates = [...]units.BitRate{0, 100 * units.Kbps, units.Mbps, 7 * units.Mbps, units.Gbps,
	40 * units.Gbps, 100 * units.Gbps, 400 * units.Gbps}

// limiterAgrees compares a limiter with the rules applied to a list.
func limiterAgrees(t require.TestingT, p program) {
	now := p.time()
	slot := []units.Duration{pace.PacketSlot, pace.Slot}[p.byte()%2]
	l := pace.NewLimiter(now, slot)
	m := &list{prev: now, tick: now, zero: origin(now, slot), slot: slot}
	for f := range m.flows {
		l.Rate(uint32(f), units.Gbps, now)
		m.flows[f] = listed{rate: units.Gbps, last: now, finish: now}
	}
	size := func() units.Bytes { return units.Bytes(p.byte()) * 33 }
	for p.more() {
		op, f := p.byte(), int(p.byte()%8)
		x := &m.flows[f]
		switch op % 8 {
		case 0, 1:
			n := size()
			l.Wait(uint32(f), n, now)
			if !x.backlogged {
				x.backlogged, x.head, x.floor, x.mayGo = true, n, now, false
			}
		case 2:
			r := rates[p.byte()%8]
			l.Rate(uint32(f), r, now)
			if r == x.rate {
				break
			}
			x.mayGo = false
			if r > 0 {
				x.finish = x.last.Add(r.Duration(x.size))
				if was := x.rate; was == 0 {
					x.floor = now
				} else if limit := m.prev.Add(-slot); x.floor.Before(limit) {
					x.floor = limit
				}
			}
			x.rate = r
		case 3:
			l.Leave(uint32(f))
			x.backlogged = false
		case 4:
			l.Forget(uint32(f))
			*x = listed{last: m.tick, finish: m.tick}
		default:
			now = now.Add(min(p.duration(), units.Second))
			if f == 7 {
				l.Resume(now)
				m.prev, m.tick = now, now
			}
			if now.After(m.tick) {
				m.prev, m.tick = m.tick, now
			}
			for budget := int(op >> 3); ; budget-- {
				want := m.eligible()
				got, ok := l.Head(now)
				require.Equal(t, want >= 0, ok)
				if !ok || budget == 0 {
					break
				}
				require.Equal(t, want, int(got))
				x := &m.flows[want]
				n := x.head
				if budget%5 == 0 { // it was another packet than it said
					n = size()
				}
				l.Sent(got, n)
				x.last, x.size = m.start(want), n
				x.finish = x.last.Add(x.rate.Duration(n))
				require.Equal(t, x.last, l.Started(got))
				x.backlogged, x.mayGo = false, false
				if budget%7 != 0 {
					x.head, x.floor, x.backlogged = size(), m.prev.Add(-slot), true
					l.Again(got, x.head)
				}
			}
		}
		next, some := l.Next()
		want, any := m.next(now)
		require.Equal(t, any, some)
		if some && want.After(now) {
			require.Equal(t, want, next)
		} else if some {
			require.False(t, next.After(now))
		}
	}
}

func TestLimiterIsAList(t *testing.T) { property(t, limiterAgrees) }
func FuzzLimiter(f *testing.F)        { fuzz(f, limiterAgrees) }
