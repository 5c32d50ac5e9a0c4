package intent

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

const spaceText = `
kmin: [0B, 64KiB, 128KiB]
gap: [64KiB]
pmax: [1%, 10]
headroom: [100KiB]
alpha: [1/32, 2]
`

func TestParseSpace(t *testing.T) {
	s, err := ParseSpace([]byte(spaceText))
	require.NoError(t, err)
	assert.Equal(t, bytetuning.Space{
		Kmin: []units.Bytes{0, 64 * units.KiB, 128 * units.KiB}, Gap: []units.Bytes{64 * units.KiB},
		Pmax:     []bytetuning.Percent{1, 10},
		Headroom: []units.Bytes{100 * units.KiB}, Alpha: []bytetuning.Alpha{-5, 1},
	}, s)
	assert.Equal(t, 12, s.Size())
	for want, edit := range map[string][2]string{
		"the range of gap is empty":                {"[64KiB]\np", "[]\np"},
		"the range of gap has 0B: want 1B to":      {"gap: [64KiB]", "gap: [0B]"},
		"the range of Pmax has 10% after 20%":      {"[1%, 10]", "[20%, 10%]"},
		`pmax: bytetuning: "many"`:                 {"[1%, 10]", "[many]"},
		`alpha: bytetuning: alpha "1/3"`:           {"1/32", "1/3"},
		"kmin: units: size":                        {"0B,", "some,"},
		"field headrom not found":                  {"headroom", "headrom"},
		"the range of Kmin has 64KiB after 128KiB": {"128KiB]", "128KiB, 64KiB]"},
	} {
		_, err := ParseSpace([]byte(strings.Replace(spaceText, edit[0], edit[1], 1)))
		assert.ErrorContains(t, err, want)
	}
	_, err = ParseSpace(nil)
	assert.ErrorContains(t, err, "it is empty")
}

func FuzzParseSpace(f *testing.F) {
	f.Add([]byte(spaceText))
	f.Add([]byte("kmin: [1]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := ParseSpace(text); err == nil {
			require.NoError(t, s.Validate())
			require.Positive(t, s.Size())
		}
	})
}
