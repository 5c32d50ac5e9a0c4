package perftest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

func TestLatencies(t *testing.T) {
	l := newLatencies()
	require.Zero(t, l.percentiles())
	require.Zero(t, l.stdev())
	for i := 1; i <= 1000; i++ {
		l.record(units.Duration(i) * units.Nanosecond)
	}
	p := l.percentiles()
	require.Equal(t, Percentiles{P50: 0.5, P90: 0.9, P99: 0.99, P999: 0.999, P9999: 1, Max: 1}, p)
	require.Equal(t, []float64{1, 1000}, []float64{l.min.Nanoseconds(), l.max.Nanoseconds()})
	require.InDelta(t, 500.5, l.mean, 1e-9)
	l.record(2 * units.Minute) // longer than the histogram goes: kept as the maximum
	require.EqualValues(t, 1001, l.n)
	require.Equal(t, 2*units.Minute, l.max)
	l.reset()
	require.Zero(t, l.percentiles())
}

// perftest computes it in integers: 0.9 us of spread count as 0.
func TestStdevIsNotRounded(t *testing.T) {
	l := newLatencies()
	for i := range 1000 {
		l.record(2*units.Microsecond + units.Duration(i%2)*900*units.Nanosecond)
	}
	require.InDelta(t, 0.45, l.stdev(), 1e-9)
}

func TestStdevAgainstTwoPasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := newLatencies(), newLatencies()
	var samples []float64
	for i := range 5000 {
		d := units.Duration(math.Exp(rng.NormFloat64()) * float64(units.Microsecond))
		samples = append(samples, d.Nanoseconds())
		[]*latencies{a, b}[i%3/2].record(d)
	}
	a.merge(b)
	a.merge(newLatencies())
	mean, squares := 0.0, 0.0
	for _, v := range samples {
		mean += v / float64(len(samples))
	}
	for _, v := range samples {
		squares += (v - mean) * (v - mean)
	}
	require.InEpsilon(t, mean, a.mean, 1e-9)
	require.InEpsilon(t, math.Sqrt(squares/float64(len(samples)))/1e3, a.stdev(), 1e-9)
	slices.Sort(samples)
	require.InEpsilon(t, samples[len(samples)/2]/1e3, a.micros(50), 0.01)
	require.InEpsilon(t, samples[len(samples)*99/100]/1e3, a.micros(99), 0.02)
	require.Equal(t, []float64{samples[0], samples[len(samples)-1]},
		[]float64{a.min.Nanoseconds(), a.max.Nanoseconds()})
}

func TestRecordDoesNotAllocate(t *testing.T) {
	l := newLatencies()
	require.Zero(t, testing.AllocsPerRun(100, func() { l.record(units.Microsecond) }))
}

func TestMeter(t *testing.T) {
	at := func(us int) units.Time { return units.Time(us) * units.Time(units.Microsecond) }
	m := newMeter(100) // windows of 400
	m.start(at(0), 0)
	for i := 1; i <= 10; i++ {
		m.tick(at(100*i), uint64(100*i)) // 1 M/s
	}
	m.tick(at(1100), 1400) // 400 in 300 us since the last window ended at 800
	m.stop(at(2000), 1500)
	require.InDelta(t, 750e3, m.rate(), 1)
	require.InDelta(t, 2e6, m.peak, 1)
	require.EqualValues(t, 1500, m.count())
	require.Zero(t, new(meter).rate())
}

func TestPattern(t *testing.T) {
	for n := 1; n < 70; n++ {
		b := make([]byte, n)
		fillPattern(b, 3, 77)
		require.NoError(t, checkPattern(b, 3, 77))
		for i := range b {
			b[i] ^= 0x10
			err := checkPattern(b, 3, 77)
			require.ErrorContains(t, err, "queue pair 3, message 77, byte")
			require.Equal(t, i, err.(*errPattern).offset)
			b[i] ^= 0x10
		}
	}
	b := make([]byte, 64)
	fillPattern(b, 3, 77)
	require.Error(t, checkPattern(b, 4, 77), "of another queue pair")
	require.Error(t, checkPattern(b, 3, 78), "stale")
	require.Error(t, checkPattern(append(b[8:], b[:8]...), 3, 77), "misplaced")
	message, ok := messageOf(b[:8])
	require.True(t, ok)
	require.EqualValues(t, 77, message)
	_, ok = messageOf(b[:7])
	require.False(t, ok)
}

func TestLayout(t *testing.T) {
	for _, c := range []struct {
		args     []string
		size     int
		span     span
		window   int
		eachAt   int
		receives int
	}{
		{nil, 32, span{64, 64}, 128, 65536, 1},
		{nil, 65536, span{65536, 1}, 128, 65536, 1},
		{[]string{"-s", "100"}, 100, span{128, 32}, 128, 4096, 32},
		{[]string{"--data_validation", "-s", "4096"}, 4096, span{4096, 64}, 64, 64 * 4096, 64},
		{[]string{"--data_validation", "-s", "8M"}, 8 << 20, span{8 << 20, 8}, 8, 64 << 20, 8},
	} {
		s, err := parse(sendBW, c.args)
		require.NoError(t, err)
		require.Equal(t, c.span, s.spanOf(c.size))
		require.Equal(t, c.window, s.window(c.size))
		each, receives := s.layout()
		require.Equal(t, []int{c.eachAt, c.receives}, []int{each, receives.slots})
		require.LessOrEqual(t, c.span.bytes(), each)
	}
	at := newCursor(1000, span{64, 3})
	require.Equal(t, []uint64{1000, 1064, 1128, 1000}, []uint64{at.next(), at.next(), at.next(),
		at.next()})
}

func TestCompare(t *testing.T) {
	of := func(test Test, args ...string) *Settings {
		s, err := parse(test, args)
		require.NoError(t, err)
		return s
	}
	for _, c := range []struct {
		a, b *Settings
		says string
	}{
		{of(writeBW), of(writeBW, "-t", "7", "-p", "9", "-w", "3"), ""},
		{of(writeBW, "-m", "1024"), of(writeBW), ""},
		{of(writeBW, "-m", "1024"), of(writeBW, "-m", "512"),
			"--mtu is 1024 here and 512 at the peer"},
		{of(writeBW, "-s", "64"), of(writeBW), "--size is 64 here and 65536 at the peer"},
		{of(writeBW), of(readBW), "test is roce_write_bw here and roce_read_bw at the peer"},
		{of(writeBW, "-D", "3"), of(writeBW), "--duration is 3s here and not given at the peer; " +
			"--iters is not given here and 5000 at the peer"},
		{of(sendBW, "-c", "UC"), of(sendBW), "--connection is UC here and RC at the peer"},
		{of(sendBW, "-b"), of(sendBW), "--bidirectional is true here and false at the peer"},
	} {
		err := c.a.compare(c.b.symmetric())
		if c.says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, ErrMismatch)
		require.ErrorContains(t, err, c.says)
		require.ErrorIs(t, c.b.compare(c.a.symmetric()), ErrMismatch, "both ends know")
	}
}
