package claims

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSame(t *testing.T) {
	for _, c := range []struct {
		expect, v, w string
		want         bool
	}{
		{"{op: '<=', value: 1}", "0.3", "0.30000000000000004", true},
		{"{op: '<=', value: 1}", "0.3", "0.300001", false},
		{"{op: '<=', value: 1}", "0.3", "null", false},
		{"{op: '<=', value: 1ms}", `"infinite"`, `"infinite"`, true},
		{"{op: '<=', value: 1ms}", `"1us"`, `"2us"`, false},
		{"{op: equals, value: true}", "true", "false", false},
		{"{op: order, of: [a, b]}", `{"a": 1, "b": 2}`, `{"a": 2, "b": 1}`, false},
		{"{op: monotone, dir: up}", "[1, 2]", "[2, 1]", false},
		{"{op: linear, r2: 0.9, slope: [0, 1]}", "[[1, 2], [2, 3]]", "[[1, 2], [2, 3]]", true},
		{"{op: each, cond: {op: '<=', value: 9}}", `{"a": 1, "b": 2}`, `{"a": 2, "b": 1}`, true},
		{"{op: each, cond: {op: '<=', value: 9}}", `{"a": 1, "b": 2}`, `{"a": 1, "b": 1}`, false},
		{"{op: each, cond: {op: '<=', value: 9}}", "[1, 2]", "[1]", false},
		{"{op: each, cond: {op: '<=', value: 9}}", "[1]", "null", false},
	} {
		e := expectation(t, c.expect)
		assert.Equal(t, c.want, e.Same(value(t, c.v), value(t, c.w)), "%s: %s, %s", c.expect, c.v,
			c.w)
		assert.True(t, e.Same(value(t, c.v), value(t, c.v)), c.v)
	}
}

// TestCompareExchange: a claim that holds with exchanged results needs a reason, and a reason needs
// such a claim.
func TestCompareExchange(t *testing.T) {
	const without, stale, untested = "does not discriminate: with the results of A and B " +
		"exchanged it holds too", "discriminates: with the results of A and B exchanged it fails",
		"no exchange of results tests it"
	for _, c := range []struct {
		name     string
		scale    Scale
		pass     bool
		exchange *Exchange
		reason   string
		machine  bool
		want     string
	}{
		{"it discriminates", SmallScale, true, &Exchange{Of: "A and B"}, "", false, ""},
		{"it does not", SmallScale, true, &Exchange{Of: "A and B", Holds: true}, "", false,
			without},
		{"it does not, for a reason", SmallScale, true, &Exchange{Of: "A and B", Holds: true},
			"alike", false, ""},
		{"the reason is stale", SmallScale, true, &Exchange{Of: "A and B"}, "alike", false, stale},
		{"the reason is of another claim", SmallScale, true, nil, "alike", false, untested},
		{"not tested", SmallScale, true, nil, "", false, ""},
		{"it fails", SmallScale, false, nil, "alike", false, ""},
		{"the machine decides", SmallScale, true, &Exchange{Of: "A and B", Holds: true}, "", true,
			""},
		{"full scale", FullScale, true, &Exchange{Of: "A and B", Holds: true}, "", false, ""},
	} {
		e := minimal(t)
		claim := &e.Claims[0]
		claim.HoldsExchanged = c.reason
		expected := &ExpectedVerdict{Verdict: map[bool]Outcome{true: Holds, false: Fails}[c.pass],
			Machine: c.machine}
		claim.verdicts = &verdictEntry{Full: expected, Small: expected}
		got := Compare(e, &Result{Scale: c.scale, Claims: []Verdict{{ID: claim.ID, Pass: &c.pass,
			Exchange: c.exchange}}})
		if c.want == "" {
			assert.Empty(t, got, c.name)
		} else if assert.Len(t, got, 1, c.name) {
			assert.Contains(t, got[0], c.want, c.name)
		}
	}
}
