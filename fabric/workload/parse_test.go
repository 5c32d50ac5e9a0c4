package workload

import (
	"errors"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

func TestParseSizes(t *testing.T) {
	for name, text := range map[string]string{
		"plain":            "1000 0\n2000 0.5\n4000 1\n",
		"per cent":         "1000 0\n2000 50\n4000 100\n",
		"comments, blanks": "# sizes\n\n 1000\t0 # first\n2000 0.5\n\n4000   1.0",
		"units":            "1KB 0\r\n2KB .5\r\n4KB 1e0\r\n",
	} {
		d, err := ParseSizes(strings.NewReader(text), Linear)
		require.NoError(t, err, name)
		assert.EqualValues(t, 3000, d.Quantile(0.75), name)
		assert.InDelta(t, 2249.5, d.Mean(), 1e-9, name)
	}
	d, err := ParseSizes(strings.NewReader("1000 0\n2000 0.5\n4000 1\n"), Step)
	require.NoError(t, err)
	assert.EqualValues(t, 4000, d.Quantile(0.75))
	assert.Equal(t, 3000.0, d.Mean())
	d, err = ParseSizes(strings.NewReader("64K 1"), Linear)
	require.NoError(t, err)
	assert.Equal(t, 64*units.KiB, d.Quantile(0.5))
}

func TestParseSizesErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "empty table"},
		{"# nothing\n\n", "empty table"},
		{"1 0\n2", "line 2: 1 fields, want 2"},
		{"1 0 0", "line 1: 3 fields"},
		{"# x\nbig 0.5", `line 2: units: size "big"`},
		{"-1 0", `line 1: units: size "-1"`},
		{"1.5 0", `line 1: units: size "1.5"`},
		{"1 zero", `line 1: invalid probability "zero": want a number from 0 to 1`},
		{"1 -0.1", `line 1: invalid probability "-0.1"`},
		{"1 100.5", `line 1: invalid probability "100.5"`},
		{"1 NaN", `line 1: invalid probability "NaN"`},
		{"2 0\n\n1 1", "line 3: size 1B after 2B"},
		{"1 0.5\n2 0.4\n3 1", "line 2: probability 0.4 after 0.5"},
		{"1 1.5\n2 1", "line 2: probability 1 after 1.5"},
		{"1 0\n2 0.9", "last probability is 0.9, want 1"},
		{"1 0\n2 99.9", "last probability is 99.9, want 1"},
		{"1 0\n" + strings.Repeat("9", 1<<17), "line 2: bufio.Scanner: token too long"},
	} {
		_, err := ParseSizes(strings.NewReader(c.text), Linear)
		require.ErrorContains(t, err, "workload: table of sizes: "+c.want, "%.40q", c.text)
	}
	broken := errors.New("disk on fire")
	_, err := ParseSizes(iotest.ErrReader(broken), Linear)
	assert.ErrorIs(t, err, broken)
}

func FuzzParseSizes(f *testing.F) {
	for _, text := range []string{
		"", "# c\n", "1000 0\n2000 0.5\n4000 1\n", "0 0\n64K 50 # half\n1MB 100", "1 1",
		"0 0.5\n0 1", "5 1\n4 1",
		"9007199254740992 0\n9007199254740992 1", "1 NaN", "1 1e-300\n2 1", "1 0\n2 0\n2 1\n3 1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, rule := range []Rule{Linear, Step} {
			d, err := ParseSizes(strings.NewReader(text), rule)
			if err != nil {
				require.Nil(t, d)
				continue
			}
			low, high := d.Quantile(0), d.Quantile(1)
			require.GreaterOrEqual(t, low, units.Bytes(1))
			require.GreaterOrEqual(t, d.Mean(), float64(low)*(1-1e-9)-0.5)
			require.LessOrEqual(t, d.Mean(), float64(high)*(1+1e-9))
			require.Equal(t, 1.0, d.CDF(high))
			last := low
			for i := range 101 {
				q := d.Quantile(float64(i) / 100)
				require.GreaterOrEqual(t, q, last)
				require.LessOrEqual(t, q, high)
				c := d.CDF(q)
				require.False(t, math.IsNaN(c) || c < 0 || c > 1, "CDF(%d) = %v", q, c)
				last = q
			}
		}
	})
}
