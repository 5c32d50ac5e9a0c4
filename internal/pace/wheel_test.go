package pace_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/units"
)

const (
	ns = units.Nanosecond
	us = units.Microsecond
	ms = units.Millisecond
)

// A timer is due at the first slot that is not before it, in every level of the wheel, and Next
// returns that time from the start.
func TestWheelRoundsUpOnly(t *testing.T) {
	for _, c := range []struct{ in, due units.Duration }{
		{0, 0}, {units.Picosecond, 128 * ns}, {128 * ns, 128 * ns}, {129 * ns, 256 * ns},
		// the end of the block
		{524 * us, 524_032 * ns}, {524288 * ns, 524288 * ns}, {524289 * ns, 524416 * ns},
		{67_108_864 * ns, 67_108_864 * ns}, {537 * ms, 537_000_064 * ns}, {units.Minute,
			units.Minute},
		{-units.Second, 0}, {units.Forever, units.Forever + (pace.Slot - units.Forever%pace.Slot)},
	} {
		w := pace.New(0)
		w.Set(3, units.Time(c.in))
		at, some := w.Next()
		require.True(t, some)
		require.Equal(t, units.Time(c.due), at, "%v", c.in)
		if c.due > 0 {
			_, due := w.Due(at - 1)
			require.False(t, due, "%v", c.in)
		}
		id, due := w.Due(at)
		require.True(t, due, "%v", c.in)
		require.Equal(t, uint32(3), id)
		_, some = w.Next()
		require.False(t, some)
	}
}

// Next no longer returns a timer that was moved to a later time or stopped.
func TestWheelDropsTheOldTime(t *testing.T) {
	for _, first := range []units.Duration{10 * us, 10 * ms, units.Minute} {
		w := pace.New(0)
		w.Set(1, units.Time(first))
		w.Set(2, units.Time(2*first))
		next := func(want units.Duration) {
			t.Helper()
			at, some := w.Next()
			require.True(t, some)
			require.InDelta(t, float64(want), float64(at), float64(pace.Slot))
		}
		next(first)
		w.Set(1, units.Time(3*first))
		next(2 * first)
		w.Stop(2)
		next(3 * first)
		_, due := w.Due(units.Time(2 * first))
		require.False(t, due)
		w.Set(2, units.Time(2*first+first/2))
		next(2*first + first/2)
		w.Stop(1)
		w.Stop(2)
		_, some := w.Next()
		require.False(t, some)
	}
}

// Timers of one far block are due each in its slot, also if the first of them was moved or stopped.
func TestWheelBucketInOrder(t *testing.T) {
	for _, far := range []units.Duration{10 * ms, 10 * units.Second} {
		w, r := pace.New(0), rand.New(rand.NewPCG(1, 2))
		want := make([]units.Time, 1000)
		for id := range want {
			want[id] = units.Time(far) + units.Time(r.Int64N(int64(300*us)))
			w.Set(uint32(id), want[id])
		}
		for id := range 300 { // the first of all moves, or stops
			first, _ := w.Next()
			for k, at := range want {
				if ceil(at, 0, pace.Slot) == first {
					if want[k] += units.Time(200 * us); id%3 == 0 {
						w.Stop(uint32(k))
						want[k] = units.Time(2 * far)
					}
					w.Set(uint32(k), want[k])
				}
			}
		}
		for range want {
			now, some := w.Next()
			require.True(t, some)
			id, due := w.Due(now)
			require.True(t, due)
			require.Equal(t, ceil(want[id], 0, pace.Slot), now)
			want[id] = 0
		}
		_, some := w.Next()
		require.False(t, some)
	}
}

func TestWheelDoesNotAllocate(t *testing.T) {
	w, now := pace.New(0), units.Time(0)
	r := rand.New(rand.NewPCG(1, 2))
	round := func() {
		for id := range uint32(1000) {
			w.Set(id, now.Add(units.Duration(r.Int64N(int64(units.Second)))))
		}
		now = now.Add(300 * ms)
		for _, due := w.Due(now); due; _, due = w.Due(now) {
		}
	}
	round()
	assert.Zero(t, testing.AllocsPerRun(20, round))
}

// BenchmarkWheel measures a timer that is due, and is set again up to a millisecond ahead.
func BenchmarkWheel(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w, now := pace.New(0), units.Time(0)
			r := rand.New(rand.NewPCG(1, 2))
			ahead := func() units.Time { return now.Add(units.Duration(r.Int64N(int64(ms)))) }
			for id := range uint32(n) {
				w.Set(id, ahead())
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				now, _ = w.Next()
				id, _ := w.Due(now)
				w.Set(id, ahead())
			}
		})
	}
}

// BenchmarkWheelMoves measures a timer that every acknowledgement moves, with a Next after each.
func BenchmarkWheelMoves(b *testing.B) {
	for _, n := range []int{1, 100, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w, now := pace.New(0), units.Time(0)
			for id := range uint32(n) {
				w.Set(id, now.Add(67*ms))
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				now = now.Add(70 * ns)
				w.Set(uint32(i%n), now.Add(67*ms))
				if _, some := w.Next(); !some {
					b.Fatal("no timer")
				}
				w.Due(now)
			}
		})
	}
}
