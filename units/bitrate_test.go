package units

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBitRateText(t *testing.T) {
	for _, c := range []struct {
		r    BitRate
		text string
	}{
		{0, "0b/s"},
		{999, "999b/s"},
		{Kbps, "1kb/s"},
		{1500 * Kbps, "1.5Mb/s"},
		{2500 * Mbps, "2.5Gb/s"},
		{100 * Gbps, "100Gb/s"},
		{1600 * Gbps, "1600Gb/s"},
		{Gbps + 1, "1.000000001Gb/s"},
	} {
		assert.Equal(t, c.text, c.r.String())
		back, err := ParseBitRate(c.text)
		require.NoError(t, err)
		assert.Equal(t, c.r, back)
	}
	assert.Equal(t, "-2Gb/s", (-2 * Gbps).String())
}

func TestParseBitRate(t *testing.T) {
	for text, want := range map[string]BitRate{
		"100G": 100 * Gbps, "40Gb/s": 40 * Gbps, "2.5Gbps": 2500 * Mbps, "25 gbit": 25 * Gbps,
		"25Gbit/s": 25 * Gbps,
		"1T":       1000 * Gbps, "9600": 9600, "64k": 64 * Kbps, "8b": 8, "0": 0, "0.4": 0,
	} {
		got, err := ParseBitRate(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "G", "-1G", "1P", "1e30G", "10GB/h", "ten", "NaN", "Inf"} {
		_, err := ParseBitRate(text)
		assert.ErrorContains(t, err, `"`+text+`"`)
	}
}

func TestBitRateDuration(t *testing.T) {
	for _, c := range []struct {
		r    BitRate
		b    Bytes
		want Duration
	}{
		{800 * Gbps, 1, 10}, // the example of doc.go
		{100 * Gbps, 4096, 327680},
		{10 * Gbps, 1500, 1200 * Nanosecond},
		{3, 1, 2666666666667}, // rounded up
		{3 * Gbps, 3, 8 * Nanosecond},
		{Gbps, 0, 0},
		{Gbps, -1, 0},
		{0, 1, Forever},
		{-1, 1, Forever},
		{0, 0, Forever},
		{1, math.MaxInt64 / 8, Forever}, // saturates
		{math.MaxInt64, 1, 1},
	} {
		assert.Equal(t, c.want, c.r.Duration(c.b), "%v at %v", c.b, c.r)
	}
}

// TestBitRateDurationIsExact compares with arithmetic that has no limits: the least time in which
// the rate carries the bytes.
func TestBitRateDurationIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := BitRate(rapid.Int64Range(1, math.MaxInt64).Draw(t, "rate"))
		b := Bytes(rapid.Int64Range(1, 1<<59).Draw(t, "bytes"))
		n := new(big.Int).Mul(big.NewInt(int64(b)), big.NewInt(8*int64(Second)))
		n.Add(n, big.NewInt(int64(r)-1)).Quo(n, big.NewInt(int64(r)))
		want := Forever
		if n.Cmp(big.NewInt(int64(Forever))) < 0 {
			want = Duration(n.Int64())
		}
		require.Equal(t, want, r.Duration(b))
	})
}

func TestBitRateBytes(t *testing.T) {
	assert.Equal(t, Bytes(1), (800 * Gbps).Bytes(10))
	assert.Equal(t, Bytes(0), (800 * Gbps).Bytes(9))
	assert.Equal(t, Bytes(12500), (100 * Gbps).Bytes(Microsecond))
	assert.Zero(t, BitRate(0).Bytes(Second))
	assert.Zero(t, Gbps.Bytes(-Second))
	assert.EqualValues(t, math.MaxInt64, BitRate(math.MaxInt64).Bytes(math.MaxInt64))
	rapid.Check(t, func(t *rapid.T) {
		r := BitRate(rapid.Int64Range(1, math.MaxInt64).Draw(t, "rate"))
		d := Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "time"))
		n := new(big.Int).Mul(big.NewInt(int64(r)), big.NewInt(int64(d)))
		n.Quo(n, big.NewInt(8*int64(Second)))
		want := Bytes(math.MaxInt64)
		if n.IsInt64() {
			want = Bytes(n.Int64())
		}
		require.Equal(t, want, r.Bytes(d))
	})
}

// TestBytesAndDurationAreInverse: what takes d at a rate is carried in d, and not a picosecond
// sooner.
func TestBytesAndDurationAreInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := BitRate(rapid.Int64Range(1e6, 8e11).Draw(t, "rate"))
		b := Bytes(rapid.Int64Range(1, 1<<30).Draw(t, "bytes"))
		d := r.Duration(b)
		require.Equal(t, b, r.Bytes(d))
		require.Less(t, r.Bytes(d-1), b)
	})
}

func TestRateOf(t *testing.T) {
	assert.Equal(t, 100*Gbps, RateOf(12500, Microsecond))
	assert.Equal(t, 800*Gbps, RateOf(1, 10))
	assert.Zero(t, RateOf(1, 0))
	assert.Zero(t, RateOf(1, -1))
	assert.Zero(t, RateOf(0, Second))
}

func TestBitRateRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := BitRate(rapid.Int64Range(0, exact).Draw(t, "r"))
		back, err := ParseBitRate(r.String())
		require.NoError(t, err)
		require.Equal(t, r, back)
	})
}

func FuzzParseBitRate(f *testing.F) {
	for _, s := range []string{"", "100G", "2.5Gbps", "25 gbit/s", "-1", "1e400",
		"9223372036854775807", "bit"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseBitRate(s)
		if err != nil {
			require.Zero(t, r)
			return
		}
		require.GreaterOrEqual(t, r, BitRate(0))
		if r > exact {
			return
		}
		back, err := ParseBitRate(r.String())
		require.NoError(t, err)
		require.Equal(t, r, back)
	})
}
