package claims

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func expectation(t require.TestingT, text string) *Expect {
	e := &Expect{}
	require.NoError(t, yaml.Unmarshal([]byte(text), e), text)
	return e
}

func value(t require.TestingT, text string) Value {
	var v Value
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}

// TestJudge: worked examples of every operator.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		expect string
		pass   []string
		fail   []string
	}{
		{"{op: '>=', value: 0.95}", []string{"0.95", "1", `"infinite"`}, []string{"0.9499"}},
		{"{op: '<=', value: 0}", []string{"0", "-3"}, []string{"1e-9"}},
		{"{op: '>', value: 1.0}", []string{"1.0001"}, []string{"1", "0"}},
		{"{op: '<', value: 1.0}", []string{"0.999"}, []string{"1", "2"}},
		{"{op: '==', value: 3}", []string{"3", "3.0"}, []string{"2"}},

		// A string carries its unit, with or without a blank.
		{"{op: '<=', value: 1ms}", []string{`"1ms"`, `"1000 us"`, `"0.001s"`, `"999999ns"`},
			[]string{`"1.000001ms"`, `"infinite"`}},
		{"{op: '>=', value: 2.6 MB}", []string{`"2.6MB"`, `"2600 KB"`, `"2600000B"`, `"1 GB"`},
			[]string{`"2599999B"`, `"0B"`}},
		{"{op: between, low: 41 Mbps, high: 44 Mbps}",
			[]string{`"42.7Mbps"`, `"41000Kbps"`, `"0.044Gbps"`}, []string{`"40.9Mb/s"`,
				`"44.1 Mbps"`}},
		{"{op: between, low: 70us, high: 100us}", []string{`"70us"`, `"84us"`, `"0.1ms"`},
			[]string{`"69.999us"`, `"100.001us"`}},

		{"{op: between, low: 7, high: 12}", []string{"7", "9.5", "12"}, []string{"6.99", "12.01"}},
		{"{op: between, low: -0.75, high: -0.35}", []string{"-0.5"}, []string{"-0.8", "0"}},

		{"{op: order, of: [linear, exponential, line]}",
			[]string{`{"linear": 1, "exponential": 1, "line": 2}`,
				`{"line": 3, "linear": 1, "other": 9, "exponential": 2}`},
			[]string{`{"linear": 1.05, "exponential": 1, "line": 2}`,
				`{"linear": 1, "exponential": 3, "line": 2}`}},
		{"{op: order, of: [p2, p4, p6], slack: 0.1}",
			[]string{`{"p2": 1.1, "p4": 1, "p6": 0.95}`,
				`{"p2": "11us", "p4": "10us", "p6": "10us"}`},
			[]string{`{"p2": 1.11, "p4": 1, "p6": 1}`, `{"p2": 1, "p4": 1, "p6": 0.9}`}},

		{"{op: monotone, dir: up}", []string{"[1, 1, 2]", `["1us", "2us"]`, `{"a": 1, "b": 2}`,
			"[[1, 5], [2, 6]]", `[1, "infinite"]`},
			[]string{"[1, 2, 1.99]", `{"b": 2, "a": 1}`, "[[1, 6], [2, 5]]"}},
		{"{op: monotone, dir: down, slack: 0.05}", []string{"[100, 50, 55, 0]", "[3, 3]"},
			[]string{"[100, 50, 55.1, 0]", "[1, 2]"}},

		{"{op: each, cond: {op: '>=', value: 0.9}}", []string{`{"p4": 0.9, "p5": 1}`, "[0.95, 1]",
			"[[4, 0.9], [8, 0.95]]"},
			[]string{`{"p4": 0.89, "p5": 1}`, "[1, 0]"}},
		{"{op: each, cond: {op: '<=', value: 2ms}}", []string{`{"p4": "1ms", "p5": "300us"}`},
			[]string{`{"p4": "1ms", "p5": "infinite"}`}},
		{"{op: each, cond: {op: between, low: 0.1, high: 0.5}}", []string{"[0.1, 0.5]"},
			[]string{"[0.1, 0.51]"}},

		{"{op: linear, r2: 0.93, slope: [0.2, 1.5]}",
			[]string{"[[1, 1], [2, 2], [3, 3]]", "[[1, 1], [2, 2.1], [3, 2.9], [4, 4]]"},
			[]string{"[[1, 2], [2, 4], [3, 6]]", "[[1, 1], [2, 3], [3, 1], [4, 4]]",
				"[[1, 3], [2, 2], [3, 1]]"}},

		{"{op: equals, value: 0}", []string{"0", "-0"}, []string{"1", `"infinite"`}},
		{"{op: equals, value: true}", []string{"true"}, []string{"false"}},
		{"{op: equals, value: done}", []string{`"done"`}, []string{`"lost"`}},
		{"{op: equals, value: [4, 4, 6]}", []string{"[4, 4, 6]"},
			[]string{"[4, 6, 4]", "[4, 4]", "[4, 4, 6, 6]"}},
		{"{op: equals, value: [send, probe, send]}", []string{`["send", "probe", "send"]`},
			[]string{`["send", "stop", "send"]`}},
		{"{op: equals, value: {p4000: 12.5, p1000: 50.0}}",
			[]string{`{"p1000": 50, "p4000": 12.5}`},
			[]string{`{"p1000": 50, "p4000": 12}`, `{"p1000": 50}`,
				`{"p1000": 50, "p4000": 12.5, "p8": 1}`}},
		{"{op: equals, value: {A: [0, 384], B: [0]}}", []string{`{"A": [0, 384], "B": [0]}`},
			[]string{`{"A": [0, 384], "B": [1]}`}},
		{"{op: equals, value: {live: 0, order_ok: true}}",
			[]string{`{"order_ok": true, "live": 0}`}, []string{`{"order_ok": false, "live": 0}`}},
	} {
		e := expectation(t, c.expect)
		require.NoError(t, e.validate(), c.expect)
		for _, text := range c.pass {
			pass, err := e.Judge(value(t, text))
			assert.NoError(t, err, "%s of %s", c.expect, text)
			assert.True(t, pass, "%s of %s", c.expect, text)
		}
		for _, text := range c.fail {
			pass, err := e.Judge(value(t, text))
			assert.NoError(t, err, "%s of %s", c.expect, text)
			assert.False(t, pass, "%s of %s", c.expect, text)
		}
	}
}

// TestJudgeShape: a value that does not have the form that the operator takes is an error, not a
// failed claim.
func TestJudgeShape(t *testing.T) {
	for _, c := range []struct{ expect, value, want string }{
		{"{op: '>=', value: 1}", "null", "there is no value"},
		{"{op: '>=', value: 1}", "true", "true is neither a number nor a quantity"},
		{"{op: '>=', value: 1}", "[1]", "[1] is neither a number nor a quantity"},
		{"{op: '<=', value: 1ms}", "0.5", "0.5 is a number and 1ms is a time"},
		{"{op: '<=', value: 1}", `"1ms"`, "1ms is a time and 1 is a number"},
		{"{op: '<=', value: 1ms}", `"3B"`, "3B is a size and 1ms is a time"},
		{"{op: between, low: 1ms, high: 2ms}", `"1Gbps"`, "1Gb/s is a rate and 1ms is a time"},
		{"{op: order, of: [a, b]}", `{"a": 1}`, `not a map with "b"`},
		{"{op: order, of: [a, b]}", "[1, 2]", `not a map with "a"`},
		{"{op: order, of: [a, b]}", `{"a": "1us", "b": 2}`, "1us is a time and 2 is a number"},
		{"{op: order, of: [a, b]}", `{"a": [], "b": 2}`, "[] is neither"},
		{"{op: monotone, dir: up}", "3", "neither a list nor a map"},
		{"{op: monotone, dir: up}", "[3]", "two elements"},
		{"{op: monotone, dir: up}", `[3, "x"]`, "x is neither"},
		{"{op: monotone, dir: up, slack: 0.1}", `[3, "infinite"]`, "infinite"},
		{"{op: each, cond: {op: '>', value: 0}}", "[]", "want at least one element"},
		{"{op: each, cond: {op: '>', value: 0}}", "3", "neither a list nor a map"},
		{"{op: each, cond: {op: '>', value: 0}}", `{"a": null}`, "null is neither"},
		{"{op: linear, r2: 0.9, slope: [0, 1]}", "[1, 2, 3]", "not a point"},
		{"{op: linear, r2: 0.9, slope: [0, 1]}", "[[1, 2], [2, 3]]", "three points"},
		{"{op: linear, r2: 0.9, slope: [0, 1]}", "[[1, 2], [1, 3], [1, 4]]", "values are constant"},
		{"{op: linear, r2: 0.9, slope: [0, 1]}", "[[1, 2], [2, 2], [3, 2]]", "values are constant"},
		{"{op: linear, r2: 0.9, slope: [0, 1]}", `[[1, 2], [2, 2], [3, "infinite"]]`,
			"not a point"},
		{"{op: equals, value: true}", "1", "not of the form"},
		{"{op: equals, value: [1]}", "1", "not a list"},
		{"{op: equals, value: {a: 1}}", "[1]", "not a map"},
		{"{op: equals, value: {a: 1}}", `{"a": true}`, "a: true is neither"},
		{"{op: equals, value: 1}", `"one"`, "one is neither"},
	} {
		pass, err := expectation(t, c.expect).Judge(value(t, c.value))
		assert.ErrorContains(t, err, c.want, "%s of %s", c.expect, c.value)
		assert.False(t, pass)
	}
}

func TestExpectText(t *testing.T) {
	for text, want := range map[string]string{
		"{op: '>=', value: 0.95}":                  ">= 0.95",
		"{op: between, low: 70us, high: 100us}":    "between 70us and 100us",
		"{op: order, of: [a, b, c], slack: 0.1}":   "order a <= b <= c, slack 0.1",
		"{op: monotone, dir: up}":                  "monotone up",
		"{op: each, cond: {op: '<=', value: 2ms}}": "each <= 2ms",
		"{op: linear, r2: 0.93, slope: [0.2, 1.5]}": "linear with r2 >= 0.93 and slope in " +
			"[0.2, 1.5]",
		"{op: equals, value: {a: [1, 2], b: true}}":    "equals {a: [1, 2], b: true}",
		"{op: '>=', value: 2 MB, why: it is generous}": ">= 2000000B",
	} {
		assert.Equal(t, want, expectation(t, text).String())
	}
}

func TestExpectValidate(t *testing.T) {
	for text, want := range map[string]string{
		"{op: nearly, value: 1}":               `unknown op "nearly"`,
		"{value: 1}":                           `unknown op ""`,
		"{op: '>='}":                           "null is neither a number nor a quantity",
		"{op: '>=', value: [1]}":               "[1] is neither",
		"{op: between, low: 1}":                "null is neither",
		"{op: between, low: 1, high: 2us}":     "1 is a number and 2us is a time",
		"{op: between, low: 2, high: 1}":       "low 2 is above high 1",
		"{op: order, of: [a]}":                 "two names",
		"{op: order, of: [a, b], slack: -1}":   "slack -1",
		"{op: monotone, dir: sideways}":        `dir up or down, got "sideways"`,
		"{op: monotone, dir: up, slack: .nan}": "slack NaN",
		"{op: each}":                           "takes a cond",
		"{op: each, cond: {op: each}}":         "cond: each takes a cond",
		"{op: linear, slope: [0, 1]}":          "r2 in (0, 1]",
		"{op: linear, r2: 0.9, slope: [2, 1]}": "slope [low, high]",
		"{op: equals}":                         "takes a value",
	} {
		assert.ErrorContains(t, expectation(t, text).validate(), want, text)
	}
}

// FuzzJudge: any condition on any value holds, fails or is an error, and encoding the value as JSON
// does not change which.
func FuzzJudge(f *testing.F) {
	for _, s := range []string{
		"{op: '>=', value: 0.95}", "{op: between, low: 70us, high: 1ms}",
		"{op: order, of: [a, b], slack: 0.1}",
		"{op: monotone, dir: down, slack: 0.05}",
		"{op: each, cond: {op: each, cond: {op: '<', value: 1}}}",
		"{op: linear, r2: 0.9, slope: [0, 1]}", "{op: equals, value: {a: [1, true], b: x}}",
		"{op: each}", "[]",
	} {
		for _, v := range []string{"1", `"infinite"`, "[1, 2]", "[[1, 2], [2, 3], [3, 5]]",
			`{"a": 1, "b": "2us"}`, "null", `{"a": [1, true], "b": "x"}`} {
			f.Add(s, v)
		}
	}
	f.Fuzz(func(t *testing.T, condition, metric string) {
		e := &Expect{}
		if yaml.Unmarshal([]byte(condition), e) != nil || e.validate() != nil {
			return
		}
		var v Value
		if json.Unmarshal([]byte(metric), &v) != nil {
			return
		}
		pass, err := e.Judge(v)
		if err != nil {
			require.False(t, pass)
			require.NotContains(t, err.Error(), "%!")
		}
		if exact(v) && !math.Signbit(e.Slack) {
			text, err := json.Marshal(v)
			require.NoError(t, err)
			again, _ := e.Judge(value(t, string(text)))
			require.Equal(t, pass, again)
		}
	})
}
