package main

import (
	"math"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/lab/claims"
)

func TestVersus(t *testing.T) {
	v := control(busy, "--cc swift", 0.7, 0.5)
	for name, c := range map[string]struct {
		base, test []outcome
		figure     string
		problems   []string
	}{
		"holds": {runs(100, 90, 110), runs(80, 60, 90),
			"0.80: 80 to 100 MiB/s, worst 0.60 (baseline's 0.90)", nil},
		"median too low": {runs(100, 100, 100), runs(60, 90, 60),
			"0.60: 60 to 100 MiB/s, worst 0.60 (baseline's 1.00)", []string{"ratio 0.60"}},
		"one too low": {runs(100, 100, 100), runs(100, 40, 100),
			"1.00: 100 to 100 MiB/s, worst 0.40 (baseline's 1.00)", []string{"worst run 0.40"}},
		"as slow as base": {runs(100, 30, 100), runs(100, 40, 100),
			"1.00: 100 to 100 MiB/s, worst 0.40 (baseline's 0.30)", nil},
		"one did not end": {runs(100, 100, 100), runs(100, failed, 100),
			"1.00: 100 to 100 MiB/s, worst 1.00 (baseline's 1.00)",
			[]string{"test: 1 of 3 runs: did not end in 20s"}},
		"none ended": {runs(100, 100), runs(failed, failed), "-",
			[]string{"test: 2 of 2 runs: did not end in 20s"}},
		"no baseline ends": {runs(failed, failed), runs(100), "-",
			[]string{"baseline: 2 of 2 runs: did not end in 20s"}},
	} {
		figure, _, problems := v.compare(c.base, c.test)
		assert.Equal(t, c.figure, figure, name)
		assert.Equal(t, c.problems, problems, name)
	}
}

func TestShareOfTheFreeRun(t *testing.T) {
	v := versus{base: on(quiet, goodput, large), test: on(halfCPU, goodput, large), share: 0.25,
		atLeast: 0.3}
	figure, ratio, problems := v.compare(runs(1000), runs(100))
	assert.Equal(t, "0.40: 100 to 250 MiB/s", figure)
	assert.InDelta(t, 0.4, ratio, 1e-9)
	assert.Empty(t, problems)
	assert.Equal(t, "≥ 0.3 of its share", v.bar())
}

func TestLimit(t *testing.T) {
	l := limit{test: on(oneCPU, latency, "roce_send_lat"), atMost: 15}
	figure, _, problems := l.compare(runs(14, 15, 90))
	assert.Equal(t, "15.00 µs", figure)
	assert.Empty(t, problems)
	_, _, problems = l.compare(runs(16, 15, 90))
	assert.Equal(t, []string{"median 16.00 µs"}, problems)
	figure, _, problems = l.compare(runs(failed))
	assert.Equal(t, "-", figure)
	assert.Len(t, problems, 1)

	l = limit{test: on(busy, firstShare, "roce_write_bw"), atLeast: 0.9}
	_, _, problems = l.compare(runs(0.89))
	assert.Equal(t, []string{"median 0.890"}, problems)
}

func TestEveryErrorIsReportedOnce(t *testing.T) {
	all := []outcome{{Error: "b"}, {Error: "a"}, {Value: 1}, {Error: "b"}}
	assert.Equal(t, []string{"x: 1 of 4 runs: a", "x: 2 of 4 runs: b"}, unended("x", all))
}

func TestClaims(t *testing.T) {
	yes, no := true, false
	figure, passed, problems := passing([]claims.Verdict{{ID: "host/x/a", Pass: &yes},
		{ID: "host/x/b", Pass: &no}, {ID: "host/x/c"}})
	assert.Equal(t, "1 of 2 claims pass", figure)
	assert.Equal(t, 1.0, passed)
	assert.Len(t, problems, 1)
	_, _, problems = passing(nil)
	assert.Equal(t, []string{"no claims"}, problems)
}

func TestBenchmarks(t *testing.T) {
	out := benchmarks([]byte(`goos: linux
BenchmarkSwift-2       	12345678	        17.20 ns/op	       0 B/op	       0 allocs/op
BenchmarkSwift-2       	12345678	        18.20 ns/op	       0 B/op	       0 allocs/op
BenchmarkSwiftHost     	12345678	        19 ns/op
PASS
`))
	assert.Equal(t, []float64{17.2, 18.2}, values(out["BenchmarkSwift"]))
	assert.Equal(t, []float64{19}, values(out["BenchmarkSwiftHost"]))
	_, _, problems := difference(17, 19)
	assert.Empty(t, problems)
	_, _, problems = difference(17, 19.5)
	assert.Equal(t, []string{"2.5 ns more"}, problems)
}

func TestCellsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range table() {
		assert.False(t, seen[c.name], c.name)
		seen[c.name] = true
		assert.NotEmpty(t, c.bar, c.name)
	}
}

func TestChoose(t *testing.T) {
	all, err := choose(table(), nil)
	require.NoError(t, err)
	assert.Len(t, all, len(table()))
	some, err := choose(table(), regexp.MustCompile("^cost/"))
	require.NoError(t, err)
	assert.Len(t, some, 2)
	_, err = choose(table(), regexp.MustCompile("nothing"))
	assert.ErrorContains(t, err, "matches no cell, want a match of quiet/swift, ")
}

func TestDisturbance(t *testing.T) {
	for _, c := range []struct {
		others        float64
		anyLoad       bool
		before, after string
		notes         int
	}{
		{0.05, false, pass, pass, 0},
		{0.2, false, pass, pass, 1},
		{0.3, false, pass, skip, 1},
		{0.3, false, fail, fail, 1},
		{0.3, true, pass, pass, 0},
	} {
		r := result{Verdict: c.before}
		r.disturb(c.others, c.anyLoad)
		assert.Equal(t, c.after, r.Verdict, c)
		assert.Len(t, r.Notes, c.notes)
		assert.Equal(t, c.others, r.Others)
	}
}

func TestConclude(t *testing.T) {
	var r result
	r.conclude("-", math.NaN(), nil)
	assert.Nil(t, r.Value, "JSON has no NaN")
	assert.Equal(t, pass, r.Verdict)
	r.conclude("0.1", 0.1, []string{"ratio 0.1"})
	assert.Equal(t, fail, r.Verdict)
}
