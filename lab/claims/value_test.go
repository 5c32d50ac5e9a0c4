package claims

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/goroce/goroce/units"
)

// TestValueText: the text of each value, and its JSON, which decodes to the same value.
func TestValueText(t *testing.T) {
	for _, c := range []struct {
		v    Value
		text string
		json string
	}{
		{Value{}, "null", `null`},
		{Number(math.NaN()), "null", `null`},
		{Number(0.97), "0.97", `0.97`},
		{Number(98304000), "98304000", `98304000`},
		{Number(-4), "-4", `-4`},
		{Number(1e-9), "1e-09", `1e-9`},
		{Number(math.Inf(1)), "infinite", `"infinite"`},
		{Number(math.Inf(-1)), "-infinite", `"-infinite"`},
		{Time(4812345 * units.Picosecond), "4.812345us", `"4.812345us"`},
		{Time(-2 * units.Millisecond), "-2ms", `"-2ms"`},
		{Time(units.Forever), "infinite", `"infinite"`},
		{Size(2_640_000), "2640000B", `"2640000B"`},
		{Size(4 * units.KiB), "4KiB", `"4KiB"`},
		{Size(-5), "-5B", `"-5B"`},
		{Rate(94_880 * units.Mbps), "94.88Gb/s", `"94.88Gb/s"`},
		{Rate(-units.Gbps), "-1Gb/s", `"-1Gb/s"`},
		{Bool(true), "true", `true`},
		{Text("probe"), "probe", `"probe"`},
		{Text("2 flows"), "2 flows", `"2 flows"`},
		{List(), "[]", `[]`},
		{List(Text("send"), Text("probe")), "[send, probe]", `["send","probe"]`},
		{Numbers(1, 2.5), "[1, 2.5]", `[1,2.5]`},
		{List(Point(1, 2), Point(2, 4)), "[[1, 2], [2, 4]]", `[[1,2],[2,4]]`},
		{Value{}.With("p6", Number(1)).With("p4", Time(units.Second)), "{p6: 1, p4: 1s}",
			`{"p6":1,"p4":"1s"}`},
		{Value{}.With(`a"b`, Value{}), `{a"b: null}`, `{"a\"b":null}`},
	} {
		assert.Equal(t, c.text, c.v.String())
		text, err := json.Marshal(c.v)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.json, string(text))
		var back Value
		require.NoError(t, json.Unmarshal(text, &back), c.json)
		assert.Equal(t, c.v, back, c.json)
	}
}

// TestTextWithUnit: a text that carries a unit becomes the quantity, as the catalogue writes them.
func TestTextWithUnit(t *testing.T) {
	for text, want := range map[string]Value{
		"70us": Time(70 * units.Microsecond), "1 ms": Time(units.Millisecond),
		"0.8ms": Time(800 * units.Microsecond),
		"3s":    Time(3 * units.Second), "81.92ns": Time(81920), "-1us": Time(-units.Microsecond),
		"2.6 MB": Size(2_600_000), "0.5 MB": Size(500_000), "9000B": Size(9000),
		"64KB":   Size(64000),
		"10Gbps": Rate(10 * units.Gbps), "41 Mbps": Rate(41 * units.Mbps), "9.6 Kbps": Rate(9600),
		"infinite": Number(math.Inf(1)),
	} {
		assert.Equal(t, want, Text(text), text)
	}
	for _, word := range []string{"", "s", "B", "bps", "p2B", "send", "16", "2 flows", "1.5B",
		"1e999s", "NaNs", "Infs", "-", "5 m", "--1s"} {
		assert.Equal(t, Value{word}, Text(word), word)
	}
}

func TestWith(t *testing.T) {
	a := Value{}.With("x", Number(1))
	b := a.With("y", Number(2))
	assert.Equal(t, "{x: 1}", a.String(), "With does not change its receiver")
	assert.Equal(t, "{x: 3, y: 2}", b.With("x", Number(3)).String(), "a name keeps its place")
	assert.Equal(t, "{x: 1, y: 2}", b.String())
	assert.True(t, Value{}.IsNull())
	assert.False(t, a.IsNull())
}

func TestValueErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1, "a": 2}`:        `duplicate key "a"`,
		`[1, {"a": {}, "a": {}}]`: `duplicate key "a"`,
		`1e999`:                   "1e999",
	} {
		var v Value
		assert.ErrorContains(t, json.Unmarshal([]byte(text), &v), want)
	}
	for text, want := range map[string]string{
		"{a: 1, a: 2}":         `line 1: duplicate key "a"`,
		"[&x 1, *x]":           "is not a number, text, bool, list or map",
		"2020-01-02T03:04:05Z": "is not a number, text, bool, list or map",
	} {
		var v Value
		assert.ErrorContains(t, yaml.Unmarshal([]byte(text), &v), want)
	}
}

func TestValueYAML(t *testing.T) {
	for text, want := range map[string]Value{
		"5": Number(5), "0.5": Number(0.5), ".inf": Number(math.Inf(1)), "true": Bool(true),
		"2ms":  Time(2 * units.Millisecond),
		"null": {}, "word": Text("word"), "[send, 2]": List(Text("send"), Number(2)), "[]": List(),
		"{b: 1, a: [0, 384]}": Value{}.With("b", Number(1)).With("a", Numbers(0, 384)),
	} {
		var v Value
		require.NoError(t, yaml.Unmarshal([]byte(text), &v), text)
		assert.Equal(t, want, v, text)
	}
}

// FuzzValue: a value that is read can be shown and encoded, and decodes to the same value.
func FuzzValue(f *testing.F) {
	for _, s := range []string{
		`null`, `1`, `-0`, `1e-7`, `true`, `"send"`, `"4.8us"`, `"2.6 MB"`, `"10Gbps"`,
		`"infinite"`, `"-1.5KiB"`, `"9e9s"`,
		`[1, "2us", {"a": []}]`, `{"a": 1, "b": {"c": null}}`, `{"a": 1, "a": 2}`, `[[[[[`,
		`"\ud800"`, `1e999`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var v Value
		if json.Unmarshal([]byte(s), &v) != nil {
			return
		}
		text, err := json.Marshal(v)
		require.NoError(t, err)
		var back Value
		require.NoError(t, json.Unmarshal(text, &back), "%s", text)
		if exact(v) {
			require.Equal(t, v, back, "%s", text)
			require.Equal(t, v.String(), back.String())
		}
	})
}

// exact reports whether v holds only quantities that a float64 represents exactly; units shows
// larger ones rounded.
func exact(v Value) bool {
	switch x := v.x.(type) {
	case []Value:
		for _, e := range x {
			if !exact(e) {
				return false
			}
		}
	case []field:
		for _, e := range x {
			if !exact(e.value) {
				return false
			}
		}
	case float64:
		return true
	case string:
		return !strings.ContainsRune(x, '\uFFFD')
	}
	x, _, _ := v.scalar()
	return math.Abs(x) < 1<<51
}
