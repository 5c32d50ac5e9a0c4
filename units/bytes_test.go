package units

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBytesText(t *testing.T) {
	for _, c := range []struct {
		b    Bytes
		text string
	}{
		{0, "0B"},
		{1, "1B"},
		{1500, "1500B"},
		{KiB, "1KiB"},
		{64 * KiB, "64KiB"},
		{MiB, "1MiB"},
		{MiB + 1, "1048577B"},
		{1536 * KiB, "1536KiB"},
		{3 * GiB, "3GiB"},
		{2048 * GiB, "2048GiB"},
	} {
		assert.Equal(t, c.text, c.b.String())
		back, err := ParseBytes(c.text)
		require.NoError(t, err)
		assert.Equal(t, c.b, back)
	}
	assert.EqualValues(t, 12000, Bytes(1500).Bits())
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"4096": 4096, "64K": 64 * KiB, "64k": 64 * KiB, "64KB": 64000, "1.5KiB": 1536,
		"2 MiB": 2 * MiB,
		"1M":    MiB, "1MB": 1e6, "1g": GiB, "1GB": 1e9, " 8B ": 8, "0.5K": 512, "1e3": 1000,
	} {
		got, err := ParseBytes(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "B", "1.5", "0.3K", "1T", "1 Kib it", "1e30", "12x", "0x10",
		"1,000", "NaN", "Inf"} {
		_, err := ParseBytes(text)
		assert.ErrorContains(t, err, `"`+text+`"`)
	}
}

func TestBytesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bytes(rapid.Int64Range(0, exact).Draw(t, "b"))
		back, err := ParseBytes(b.String())
		require.NoError(t, err)
		require.Equal(t, b, back)
	})
}

func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"", "4096", "64K", "1.5KiB", "1 GB", "-1", "1e400",
		"9223372036854775807", "0x1p3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := ParseBytes(s)
		if err != nil {
			require.Zero(t, b)
			return
		}
		if b < -exact || b > exact {
			return
		}
		back, err := ParseBytes(b.String())
		require.NoError(t, err)
		require.Equal(t, b, back)
	})
}
