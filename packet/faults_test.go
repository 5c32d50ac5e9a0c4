package packet

import (
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNewFaultsRefuses(t *testing.T) {
	for name, o := range map[string]FaultOptions{
		"negative":  {Send: FaultRates{Lose: -0.1}},
		"over 1":    {Recv: FaultRates{Corrupt: 1.5}},
		"NaN":       {Recv: FaultRates{Delay: math.NaN()}},
		"sum":       {Send: FaultRates{Lose: 0.6, Duplicate: 0.6}},
		"fault":     {Rules: []FaultRule{{Fault: faultKinds}}},
		"direction": {Rules: []FaultRule{{Direction: directions}}},
		"number":    {Rules: []FaultRule{{Nth: -1}}},
	} {
		a, _ := Pipe(PipeOptions{})
		_, err := NewFaults(a, o)
		assert.Error(t, err, name)
	}
}

// TestFaultRules tests one rule at a time, in each direction.
func TestFaultRules(t *testing.T) {
	third := func(frame []byte) bool { return frame[3]%3 == 2 } // 2, 5, 8
	for _, c := range []struct {
		name string
		rule FaultRule
		want []int
		one  FaultCounts
	}{
		{"none", FaultRule{}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}, FaultCounts{}},
		{"lose each", FaultRule{Fault: FaultLose, Match: third}, []int{0, 1, 3, 4, 6, 7},
			FaultCounts{Lost: 3}},
		{"lose second", FaultRule{Fault: FaultLose, Match: third, Nth: 2},
			[]int{0, 1, 2, 3, 4, 6, 7, 8}, FaultCounts{Lost: 1}},
		{"duplicate", FaultRule{Fault: FaultDuplicate, Match: third, Nth: 1},
			[]int{0, 1, 2, 2, 3, 4, 5, 6, 7, 8}, FaultCounts{Duplicated: 1}},
		{"delay", FaultRule{Fault: FaultDelay, Nth: 1}, []int{1, 2, 0, 3, 4, 5, 6, 7, 8},
			FaultCounts{Delayed: 1}},
		{"delay the last", FaultRule{Fault: FaultDelay, Match: third, Nth: 3},
			[]int{0, 1, 2, 3, 4, 5, 6, 7, 8}, FaultCounts{Delayed: 1}},
	} {
		for d := range directions {
			t.Run(c.name+[]string{" out", " in"}[d], func(t *testing.T) {
				a, b := Pipe(PipeOptions{})
				rule := c.rule
				rule.Direction = d
				o := FaultOptions{ReorderBy: 2, Rules: []FaultRule{rule}}
				fa, fb := newFaults(t, a, o), newFaults(t, b, o)
				require.Equal(t, 9, fa.Send(ClassData, numbered(t, a, 0, 9)))
				got := received(fb)
				require.Zero(t, fa.Flush()+fb.Flush())
				got = append(got, received(fb)...)
				assert.Equal(t, c.want, got)
				want := c.one
				want.Frames = 9
				counts := []FaultCounts{fa.Counts(DirectionSend), fb.Counts(DirectionRecv)}[d]
				assert.Equal(t, want, counts)
				assert.Zero(t, fa.Held()+fb.Held())
				noLeak(t, a, b)
			})
		}
	}
}

func TestFaultCorruptsOneBit(t *testing.T) {
	for d := range directions {
		a, b := Pipe(PipeOptions{})
		o := FaultOptions{Seed: 1, Rules: []FaultRule{{Direction: d, Fault: FaultCorrupt}}}
		fa, fb := newFaults(t, a, o), newFaults(t, b, o)
		bufs := numbered(t, a, 0, Burst)
		for i := range bufs {
			clear(bufs[i].Data())
		}
		fa.Send(ClassData, bufs)
		require.Equal(t, Burst, fb.Recv(bufs))
		places := map[int]bool{}
		for i := range bufs {
			ones := 0
			for at, x := range bufs[i].Data() {
				if ones += bits.OnesCount8(x); x != 0 {
					places[at] = true
				}
			}
			require.Equal(t, 1, ones)
		}
		assert.Greater(t, len(places), Burst/4, "all over the frame")
		fb.Free(bufs)
		noLeak(t, a, b)
	}
}

func TestFirstRuleDecidesAllCount(t *testing.T) {
	a, b := Pipe(PipeOptions{})
	f := newFaults(t, a, FaultOptions{Rules: []FaultRule{
		{Fault: FaultLose, Nth: 1}, {Fault: FaultNone, Nth: 2}, {Fault: FaultLose, Nth: 1},
		{Fault: FaultLose, Nth: 3},
	}})
	f.Send(ClassData, numbered(t, a, 0, 4))
	assert.Equal(t, []int{1, 3}, received(b))
}

func TestLossyPortIsNotReliable(t *testing.T) {
	a, _ := Pipe(PipeOptions{})
	assert.True(t, newFaults(t, a, FaultOptions{Send: FaultRates{Delay: 1}}).Info().Reliable)
	assert.False(t, newFaults(t, a, FaultOptions{Send: FaultRates{Lose: 1}}).Info().Reliable)
	lose := []FaultRule{{Fault: FaultLose}}
	assert.False(t, newFaults(t, a, FaultOptions{Rules: lose}).Info().Reliable)
}

// TestRefusedFrameIsImpairedOnce offers frames to a full queue repeatedly. They are neither counted
// nor impaired twice, and refused frames are unchanged.
func TestRefusedFrameIsImpairedOnce(t *testing.T) {
	for _, fault := range []Fault{FaultNone, FaultCorrupt, FaultDuplicate} {
		a, b := Pipe(PipeOptions{Depth: 1})
		f := newFaults(t, a,
			FaultOptions{Rules: []FaultRule{{Fault: fault, Nth: 2}, {Fault: FaultLose, Nth: 3}}})
		bufs := numbered(t, a, 0, 3)
		require.Equal(t, 1, f.Send(ClassData, bufs))
		before := string(bufs[1].Data())
		for range 5 {
			require.Zero(t, f.Send(ClassData, bufs[1:]))
			require.Equal(t, before, string(bufs[1].Data()))
		}
		require.Len(t, received(b), 1)
		require.Equal(t, 2, f.Send(ClassData, bufs[1:]))
		counts := f.Counts(DirectionSend)
		assert.EqualValues(t, 3, counts.Frames)
		assert.EqualValues(t, 1, counts.Lost)
		assert.Len(t, received(b), 1) // no room for a copy
		noLeak(t, a, b)
	}
}

func TestDelayedFrameWaitsForRoom(t *testing.T) {
	a, b := Pipe(PipeOptions{Depth: 1})
	f := newFaults(t, a,
		FaultOptions{ReorderBy: 1, Rules: []FaultRule{{Fault: FaultDelay, Nth: 1}}})
	require.Equal(t, 2, f.Send(ClassData, numbered(t, a, 0, 2)))
	require.Equal(t, 1, f.Flush())
	require.Equal(t, 1, f.Held())
	require.Equal(t, []int{1}, received(b))
	require.Empty(t, received(f)) // any call releases it
	require.Equal(t, []int{0}, received(b))
	noLeak(t, a, b)
}

func TestNoBufferForTheCopy(t *testing.T) {
	a, b := Pipe(PipeOptions{Buffers: 2})
	o := FaultOptions{Send: FaultRates{Duplicate: 1}, Recv: FaultRates{Duplicate: 1}}
	fa, fb := newFaults(t, a, o), newFaults(t, b, o)
	fa.Send(ClassData, numbered(t, a, 0, 2))
	assert.EqualValues(t, 2, fa.Counts(DirectionSend).NoCopy)
	spare := numbered(t, b, 9, 2)
	assert.Equal(t, upTo(2), received(fb))
	assert.EqualValues(t, 2, fb.Counts(DirectionRecv).NoCopy)
	b.Free(spare)
	noLeak(t, a, b)
}

func TestRates(t *testing.T) {
	a, b := Pipe(PipeOptions{})
	rates := FaultRates{Lose: 0.1, Duplicate: 0.2, Delay: 0.05, Corrupt: 0.15}
	f := newFaults(t, a, FaultOptions{Seed: 42, Send: rates})
	const n = 20000
	for range n / 20 {
		require.Equal(t, 20, f.Send(ClassData, numbered(t, a, 0, 20)))
		received(b)
	}
	c := f.Counts(DirectionSend)
	for name, is := range map[string]struct {
		got  uint64
		want float64
	}{"lost": {c.Lost, 0.1}, "duplicated": {c.Duplicated, 0.2}, "delayed": {c.Delayed, 0.05},
		"corrupted": {c.Corrupted, 0.15}} {
		assert.InDelta(t, is.want, float64(is.got)/n, 0.015, name)
	}
}

func drawRates(t *rapid.T, name string) FaultRates {
	p := func(kind string) float64 { return rapid.Float64Range(0, 0.25).Draw(t, name+kind) }
	return FaultRates{Lose: p("lose"), Duplicate: p("duplicate"), Delay: p("delay"),
		Corrupt: p("corrupt")}
}

// run sends n frames through faults on both ends in bursts of the given sizes, and returns the
// frames received and the counts of both ends.
func run(t require.TestingT, o FaultOptions, n int, bursts []int) (frames []string, out,
	in FaultCounts) {
	a, b := Pipe(PipeOptions{Buffers: 64, Depth: 16})
	fa, err := NewFaults(a, o)
	require.NoError(t, err)
	fb, err := NewFaults(b, o)
	require.NoError(t, err)
	var waiting []Buf
	drain := func(size int) {
		bufs := make([]Buf, size)
		got := fb.Recv(bufs)
		for i := range got {
			frames = append(frames, string(bufs[i].Data()))
		}
		fb.Free(bufs[:got])
	}
	for i, sent := 0, 0; sent < n || len(waiting) > 0; i++ {
		size := bursts[i%len(bursts)]
		if room := min(size, n-sent, 64-a.Outstanding()); room > 0 {
			waiting = append(waiting, numbered(t, fa, sent, room)...)
			sent += room
		}
		waiting = waiting[fa.Send(ClassData, waiting):]
		drain(size)
	}
	for rounds := 0; fa.Flush() > 0 || fa.Held()+fb.Held() > 0 ||
		a.Outstanding()+b.Outstanding() > 0; rounds++ {
		require.Less(t, rounds, 1000, "stuck or leaked")
		fb.Flush()
		drain(Burst)
	}
	return frames, fa.Counts(DirectionSend), fb.Counts(DirectionRecv)
}

var drawBursts = rapid.SliceOfN(rapid.IntRange(1, Burst), 1, 8)

// TestFaultsConserve checks that at any rates every frame is accounted for and no buffer leaks.
func TestFaultsConserve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := FaultOptions{Seed: rapid.Uint64().Draw(t, "seed"),
			ReorderBy: rapid.IntRange(1, 9).Draw(t, "by"),
			Send:      drawRates(t, "send "), Recv: drawRates(t, "recv ")}
		n := rapid.IntRange(0, 300).Draw(t, "frames")
		bursts := drawBursts.Draw(t, "bursts")
		frames, out, in := run(t, o, n, bursts)
		require.EqualValues(t, n, out.Frames)
		require.EqualValues(t, out.Frames-out.Lost+out.Duplicated, in.Frames)
		require.EqualValues(t, in.Frames-in.Lost+in.Duplicated, len(frames))

		again, out2, in2 := run(t, o, n, bursts)
		require.Equal(t, frames, again, "same seed, same output")
		require.Equal(t, out, out2)
		require.Equal(t, in, in2)
	})
}

// TestNoFaults checks that at rates of 0 every frame is delivered in order.
func TestNoFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(t, "frames")
		frames, out, in := run(t, FaultOptions{Seed: rapid.Uint64().Draw(t, "seed")}, n,
			drawBursts.Draw(t, "bursts"))
		require.Len(t, frames, n)
		for i, f := range frames {
			require.Equal(t, i, int(f[2])<<8|int(f[3]))
		}
		require.Equal(t, FaultCounts{Frames: uint64(n)}, out)
		require.Equal(t, FaultCounts{Frames: uint64(n)}, in)
	})
}

func TestFaultsDoNotAllocate(t *testing.T) {
	a, b := Pipe(PipeOptions{})
	some := FaultRates{Lose: 0.2, Duplicate: 0.2, Delay: 0.2, Corrupt: 0.2}
	fa, fb := newFaults(t, a, FaultOptions{Send: some}), newFaults(t, b, FaultOptions{Recv: some})
	bufs := make([]Buf, Burst)
	round := func() {
		n := fa.Send(ClassData, bufs[:fa.Alloc(bufs)])
		fa.Free(bufs[n:])
		for n := fb.Recv(bufs); n > 0; n = fb.Recv(bufs) {
			fb.Free(bufs[:n])
		}
	}
	for range 100 {
		round()
	}
	assert.Zero(t, testing.AllocsPerRun(200, round))
}
