package carc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

func TestParseRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"llc":                 "key=value",
		"llc=much":            "llc=much",
		"llc=32B,line=64":     "want at least one line",
		"llc=8GiB":            "[0B, 4GiB]",
		"llc=4GiB,line=16B":   "lines",
		"line=48B":            "want a power of two",
		"mode=both":           "oneway, rr",
		"delta=some":          "want auto, off or a number of lines",
		"weight=0":            "[1, 64]",
		"ddio=2MiB,llc=1MiB":  "want at most llc",
		"cache=4MiB":          `"cache"`,
		"llc=4MiB,llc=2MiB":   "twice",
		"priority=8":          "[0, 7]",
		"share=active,hold=x": "hold=x",
	} {
		_, err := Parse(text)
		require.Error(t, err, text)
		assert.ErrorContains(t, err, why, text)
		assert.ErrorContains(t, err, text, "the error quotes the settings")
	}
}

func TestSpecDefaultsFromTheMachine(t *testing.T) {
	xeon := Cache{Size: 12 * units.MiB, Line: 64, DDIO: 2 * units.MiB}
	for text, want := range map[string]Cache{
		"":                    xeon,
		"llc=4MiB":            {Size: 4 * units.MiB, Line: 64, DDIO: 4 * units.MiB / 6},
		"llc=4MiB,ddio=1MiB":  {Size: 4 * units.MiB, Line: 64, DDIO: units.MiB},
		"line=128B,mode=rr":   {Size: 12 * units.MiB, Line: 128, DDIO: 2 * units.MiB},
		"llc=0B,delta=off":    xeon,
		"llc=0B,ddio=512 KiB": {Size: 12 * units.MiB, Line: 64, DDIO: 512 * units.KiB},
	} {
		spec, err := Parse(text)
		require.NoError(t, err, text)
		o, err := spec.On(xeon).read(&path)
		require.NoError(t, err, text)
		assert.Equal(t, want, Cache{o.llc, o.line, o.ddio}, text)
		assert.Equal(t, text, spec.String())
	}
}

func TestNewRefuses(t *testing.T) {
	spec, err := Parse("")
	require.NoError(t, err)
	_, _, err = spec.Endpoint().New(path)
	assert.ErrorContains(t, err, "last-level cache unknown")
	spec, err = Parse("llc=4MiB")
	require.NoError(t, err)
	_, _, err = spec.Endpoint().New(cc.Path{})
	assert.ErrorContains(t, err, "want both positive")
	_, _, err = spec.Endpoint().NewShare(path, Share{Weight: 65})
	assert.ErrorContains(t, err, "weight 65")
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "llc=4MiB,line=64,mode=rr,delta=off",
		"delta=-195,weight=3,share=active", "llc=1B,ddio=1B", "gather=0s,hold=1s,writes=on",
		"llc==,"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(spec.String())
		require.NoError(t, err)
		require.Equal(t, spec, again)
		gate, granter, err := spec.On(Cache{Size: units.MiB}).Endpoint().New(path)
		if err != nil {
			return
		}
		granter.Attach(&countingReporter{})
		n, some := granter.Emit(false, 1)
		require.True(t, some)
		require.NoError(t, gate.Receive(&n, cc.Backlog{}, 1))
		require.GreaterOrEqual(t, gate.Credits(), gate.shift.lines(path.Payload))
	})
}
