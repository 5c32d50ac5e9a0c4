package exchange

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
)

// Fake schemes: ours is twice as fast as theirs, and copy has the same results as theirs.
var times = map[string]float64{"ours, 2": 1, "ours, 8": 3, "theirs, 2": 2, "theirs, 8": 6,
	"copy, 2": 2, "copy, 8": 6}

var order = []string{"ours, 2", "ours, 8", "theirs, 2", "theirs, 8", "copy, 2", "copy, 8"}

// done returns the results of two seeds.
func done(t *testing.T) []experiment.Done {
	var jobs []experiment.Done
	for _, name := range order {
		for seed := range uint64(2) {
			j := experiment.NewJob(t.Context(), experiment.Cell{Name: name}, experiment.Small, seed,
				nil)
			j.Value("time", times[name], 2*times[name])
			j.Value("lost", 0)
			j.Value("rate on", 1/times[name])
			j.Value("rate off", 2/times[name])
			j.Series("queue").Add(1, times[name])
			jobs = append(jobs, experiment.Done{Cell: j.Cell, Seed: seed, Record: j.Record()})
		}
	}
	return jobs
}

// outcome tests one claim with a metric and returns its Exchange.
func outcome(t *testing.T, e claims.Expect, metric func(*experiment.Results) any,
) *claims.Exchange {
	t.Helper()
	x := &experiment.Experiment{Judge: func(r *experiment.Results) { r.Claim("c", metric(r)) }}
	c := &claims.Experiment{ID: "p/x", Small: claims.Small{Claims: []string{"c"}},
		Claims: []claims.Claim{{ID: "p/x/c", Expect: e}}}
	jobs := done(t)
	r := experiment.NewResults(experiment.Small, jobs)
	x.Judge(r)
	values, notes, err := r.Verdicts()
	require.NoError(t, err)
	verdicts, err := claims.Judge(c, experiment.Small, values, notes)
	require.NoError(t, err)
	require.Equal(t, claims.Holds, verdicts[0].Outcome(), "%v", verdicts[0])
	Test(x, c, experiment.Small, jobs, verdicts)
	return verdicts[0].Exchange
}

func mean(r *experiment.Results, cell, name string) float64 {
	return r.Cell(cell).Values(name).Mean()
}

func bound(op string, x float64) claims.Expect {
	return claims.Expect{Op: op, Value: claims.Number(x)}
}

func each(op string, x float64) claims.Expect {
	cond := bound(op, x)
	return claims.Expect{Op: "each", Cond: &cond}
}

// ratio is of two schemes, by number.
func ratio(a, b string) func(*experiment.Results) any {
	return func(r *experiment.Results) any {
		return experiment.Each([]int{2, 8}, func(n int) float64 {
			if n == 2 {
				return mean(r, a+", 2", "time") / mean(r, b+", 2", "time")
			}
			return mean(r, a+", 8", "time") / mean(r, b+", 8", "time")
		})
	}
}

func TestDiscriminates(t *testing.T) {
	x := outcome(t, each("<=", 0.7), ratio("ours", "theirs"))
	require.NotNil(t, x)
	assert.Equal(t, "ours and theirs", x.Of)
	assert.False(t, x.Holds)
	assert.Equal(t, "{2: 2, 8: 2}", x.Value.String())

	x = outcome(t, claims.Expect{Op: "monotone", Dir: "up"}, func(r *experiment.Results) any {
		return []float64{mean(r, "ours, 2", "time"), mean(r, "ours, 8", "time")}
	})
	require.NotNil(t, x)
	assert.Equal(t, "2 and 8", x.Of, "a sweep is a comparison, too")
	assert.False(t, x.Holds)

	x = outcome(t, bound("<", 1), func(r *experiment.Results) any {
		return mean(r, "ours, 2", "rate on") / mean(r, "ours, 2", "rate off")
	})
	require.NotNil(t, x)
	assert.Equal(t, "on and off", x.Of)
	assert.False(t, x.Holds)
}

func TestDoesNotDiscriminate(t *testing.T) {
	for name, metric := range map[string]func(*experiment.Results) any{
		"a wide bound":     ratio("ours", "theirs"),
		"the same results": ratio("copy", "theirs"),
	} {
		x := outcome(t, each("<=", 3), metric)
		require.NotNil(t, x, name)
		assert.True(t, x.Holds, name)
	}
	x := outcome(t, bound("<=", 0), func(r *experiment.Results) any {
		return mean(r, "ours, 2", "lost") - mean(r, "theirs, 2", "lost")
	})
	require.NotNil(t, x, "nothing is lost with either")
	assert.True(t, x.Holds)
	assert.Equal(t, "ours and theirs", x.Of)
}

// TestComparesNothing: values of one cell, and of several that are not compared with each other.
func TestComparesNothing(t *testing.T) {
	assert.Nil(t, outcome(t, bound("<=", 9), func(r *experiment.Results) any {
		return mean(r, "ours, 2", "time")
	}))
	assert.Nil(t, outcome(t, bound("<=", 99), func(r *experiment.Results) any {
		return r.Values("time").Max()
	}))
	assert.Nil(t, outcome(t, bound("<=", 999), func(r *experiment.Results) any {
		sum := 0.0
		for _, c := range r.Cells() {
			sum += c.Values("time").Sum()
		}
		return sum
	}))
	assert.Nil(t, outcome(t, each("<=", 99), func(r *experiment.Results) any {
		return experiment.Each(order, func(cell string) float64 { return mean(r, cell, "time") })
	}))
}

// TestPanic: an exchange with whose results Judge fails tests nothing.
func TestPanic(t *testing.T) {
	assert.Nil(t, outcome(t, bound("<=", 0.7), func(r *experiment.Results) any {
		x := mean(r, "ours, 2", "time") / mean(r, "theirs, 2", "time")
		if x != 0.5 {
			panic("not the results")
		}
		return x
	}))
}

func TestExchanges(t *testing.T) {
	for _, c := range []struct {
		labels []string
		want   map[string]int // pairs
	}{
		{order, map[string]int{"ours and theirs": 2, "ours and copy": 2, "theirs and copy": 2,
			"2 and 8": 3}},
		{[]string{"Swift", "ToCC", "ToCC w/o limiter"}, map[string]int{"Swift and ToCC": 1,
			"Swift and ToCC w/o limiter": 1, "ToCC and ToCC w/o limiter": 1}},
		{[]string{"a n=1", "a, fast n=1", "a n=4", "a, fast n=4"}, map[string]int{
			"a and a fast": 2, "n=1 and n=4": 2}},
		{[]string{"fast n=1", "n=1"}, map[string]int{"fast n=1 and n=1": 1}},
		{[]string{"x"}, map[string]int{}},
	} {
		got := map[string]int{}
		for _, x := range exchanges(c.labels, anyCells) {
			got[x.String()] = len(x.pairs)
		}
		assert.Equal(t, c.want, got, "%q", c.labels)
	}
	assert.Empty(t, exchanges([]string{"rate", "loss", "rate p99"}, oneWord))
	assert.Len(t, exchanges([]string{"rate on", "rate off", "rate"}, oneWord), 1)
}
