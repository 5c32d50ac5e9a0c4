package workload

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/units"
)

func upTo(n int) []units.Duration {
	values := make([]units.Duration, n)
	for i := range values {
		values[i] = units.Duration(n - i)
	}
	return values
}

func TestSummaryByHand(t *testing.T) {
	for _, c := range []struct {
		n    int
		want Summary[units.Duration]
	}{
		{0, Summary[units.Duration]{}},
		{1, Summary[units.Duration]{1, 1, 1, 1, 1, 1, 1}},
		{3, Summary[units.Duration]{3, 2, 2, 3, 3, 3, 3}},
		{100, Summary[units.Duration]{100, 50, 50, 95, 99, 100, 100}},
		{1000, Summary[units.Duration]{1000, 500, 500, 950, 990, 999, 1000}},
		{1001, Summary[units.Duration]{1001, 501, 501, 951, 991, 1000, 1001}},
	} {
		values := upTo(c.n)
		assert.Equal(t, c.want, NewSummary(values), "%d values", c.n)
		assert.Equal(t, upTo(c.n), values, "are left as they were")
	}
}

// TestPercentileIsNearestRank: the least value that so many per cent of all are not above.
func TestPercentileIsNearestRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(0, 50), 1, 300).Draw(t, "values")
		thousandths := rapid.IntRange(0, 100_000).Draw(t, "thousandths of a per cent")
		slices.Sort(values)
		got := Percentile(values, float64(thousandths)/1000)
		share := func(v int) int { // of values not above v, times 100 000
			n, _ := slices.BinarySearch(values, v+1)
			return n * 100_000
		}
		require.Contains(t, values, got)
		require.GreaterOrEqual(t, share(got), thousandths*len(values))
		if got != values[0] {
			require.Less(t, share(got-1), thousandths*len(values))
		}
	})
	assert.Equal(t, 0, Percentile([]int(nil), 50))
	assert.Equal(t, 3, Percentile([]int{1, 2, 3}, 200))
}

func results() []Result {
	var all []Result
	for i := range 10 {
		all = append(all,
			Result{Flow: Flow{Bytes: 1000},
				Done:  units.Time(units.Duration(i+1) * units.Microsecond),
				Ideal: units.Microsecond})
	}
	return append(all,
		Result{Flow: Flow{Bytes: 5_000_000}, Done: units.Time(800 * units.Microsecond),
			Ideal: 400 * units.Microsecond})
}

func TestSummarize(t *testing.T) {
	rows := Summarize(results(), ToCCClasses())
	require.Len(t, rows, 5)
	assert.Equal(t, Row{"tiny", Summary[float64]{10, 5.5, 5, 10, 10, 10, 10},
		Summary[units.Duration]{10,
			5500 * units.Nanosecond, 5 * units.Microsecond, 10 * units.Microsecond,
			10 * units.Microsecond, 10 * units.Microsecond,
			10 * units.Microsecond}}, rows[0])
	assert.Equal(t, Row{Class: "small"}, rows[1])
	assert.Equal(t, 2.0, rows[3].Slowdown.Max)
	assert.Equal(t, "all", rows[4].Class)
	assert.Equal(t, 11, rows[4].FCT.Count)
	assert.Equal(t, 800*units.Microsecond, rows[4].FCT.Max)
}

func TestWriteTable(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteTable(&b, Summarize(results(), ToCCClasses())))
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	require.Len(t, lines, 6)
	assert.Equal(t, strings.Fields("tiny 10 5.50 5.00 10.00 10.00 10.00 10.00 5.50 5.00 10.00 "+
		"10.00 10.00 10.00"), strings.Fields(lines[1]))
	for _, line := range lines {
		assert.Len(t, line, len(lines[0]), "columns line up")
	}
	assert.Error(t, WriteTable(fullDisk{}, nil))
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space") }
