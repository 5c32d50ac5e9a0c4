package claims

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

func yes() *bool { b := true; return &b }
func no() *bool  { b := false; return &b }

func minimal(t *testing.T) *Experiment {
	c, err := parse(minimalCommon, minimalPaper)
	require.NoError(t, err)
	return c.Find("p/a")
}

// TestVerdicts: every claim has a verdict, in order, and one that is not judged has a note.
func TestVerdicts(t *testing.T) {
	fast, full := Time(800*units.Microsecond), Number(0.85)
	for _, c := range []struct {
		name   string
		scale  Scale
		values map[string]Value
		notes  map[string]string
		want   []Verdict
	}{
		{"passes and fails", FullScale, map[string]Value{"fast": fast, "full": full}, nil,
			[]Verdict{
				{"p/a/fast", fast, yes(), "", nil, nil},
				{"p/a/full", full, no(), "", nil, nil},
			}},
		{"a note of the run is kept", FullScale, map[string]Value{"fast": fast, "full": full},
			map[string]string{"fast": "9 seeds", "full": "the buffer is ours"}, []Verdict{
				{"p/a/fast", fast, yes(), "9 seeds", nil, nil},
				{"p/a/full", full, no(), "the buffer is ours", nil, nil},
			}},
		{"a claim that is not judged at small scale keeps its value", SmallScale,
			map[string]Value{"fast": fast, "full": full}, nil, []Verdict{
				{"p/a/fast", fast, yes(), "", nil, nil},
				{"p/a/full", full, nil, "not judged at small scale", nil, nil},
			}},
		{"a value that was not measured", FullScale, nil,
			map[string]string{"full": "no such hardware here"}, []Verdict{
				{"p/a/fast", Value{}, nil, "not measured", nil, nil},
				{"p/a/full", Value{}, nil, "no such hardware here", nil, nil},
			}},
		{"a value of another form", FullScale, map[string]Value{"fast": Number(800), "full": full},
			nil, []Verdict{
				{"p/a/fast", Number(800), nil,
					"not judged: claims: <= 1ms of 800: 800 is a number and 1ms is a time", nil,
					nil},
				{"p/a/full", full, no(), "", nil, nil},
			}},
	} {
		e := minimal(t)
		got, err := Judge(e, c.scale, c.values, c.notes)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, got, c.name)
		assert.Empty(t, Check(e, &Result{Experiment: e.ID, Scale: c.scale, Claims: got}), c.name)
	}
}

// TestVerdictSmall: a claim that is judged at small scale is judged by expect_small.
func TestVerdictSmall(t *testing.T) {
	e := minimal(t)
	e.Small.Claims = []string{"full"}
	got, err := Judge(e, SmallScale, map[string]Value{"full": Number(0.85)}, nil)
	require.NoError(t, err)
	assert.Equal(t, Verdict{"p/a/full", Number(0.85), yes(), "", nil, nil}, got[1])
}

// TestJudgeUnknown: a value under a name that is not a claim is a mistake in the experiment.
func TestJudgeUnknown(t *testing.T) {
	e := minimal(t)
	got, err := Judge(e, FullScale, map[string]Value{"fats": Number(1)},
		map[string]string{"p/a/full": "the long name"})
	assert.EqualError(t, err,
		"claims: p/a has no claim \"fats\"\nclaims: p/a has no claim \"p/a/full\"")
	assert.Len(t, got, 2)
}

func TestCheck(t *testing.T) {
	good := Verdict{"p/a/fast", Text("1ms"), yes(), "", nil, nil}
	rest := Verdict{"p/a/full", Number(0.5), no(), "why", nil, nil}
	for _, c := range []struct {
		name   string
		claims []Verdict
		want   []string
	}{
		{"complete, in any order", []Verdict{rest, good}, nil},
		{"missing", []Verdict{good}, []string{"p/a/full: missing from the result"}},
		{"unknown", []Verdict{good, rest, {ID: "p/b/right"}},
			[]string{"p/b/right: p/a has no such claim"}},
		{"twice", []Verdict{good, rest, good}, []string{"p/a/fast: duplicate claim"}},
		{"failed without a note", []Verdict{good,
			{"p/a/full", Number(0.5), no(), "", nil, nil}}, nil},
		{"not judged without a note", []Verdict{{"p/a/fast", Value{}, nil, "", nil, nil}, rest},
			[]string{"p/a/fast: not judged, and without a note"}},
		{"not judged with a note", []Verdict{
			{"p/a/fast", Value{}, nil, "no NIC", nil, nil}, rest}, nil},
		{"pass without reason", []Verdict{{"p/a/fast", Text("2ms"), yes(), "", nil, nil}, rest},
			[]string{"p/a/fast: pass is true, want false: expected <= 1ms at full scale, got 2ms"}},
		{"fail without reason", []Verdict{good, {"p/a/full", Number(0.9), no(), "why", nil, nil}},
			[]string{"p/a/full: pass is false, want true: expected >= 0.9 at full scale, got 0.9"}},
		{"pass without a value", []Verdict{{"p/a/fast", Value{}, yes(), "", nil, nil}, rest},
			[]string{"p/a/fast: pass is true: not measured"}},
	} {
		e := minimal(t)
		assert.Equal(t, c.want,
			Check(e, &Result{Experiment: e.ID, Scale: FullScale, Claims: c.claims}), c.name)
	}
	e := minimal(t)
	assert.Equal(t,
		[]string{"the result is of p/b, want p/a",
			"p/a/full: pass is false: not judged at small scale"},
		Check(e, &Result{Experiment: "p/b", Scale: SmallScale, Claims: []Verdict{good, rest}}))
}
