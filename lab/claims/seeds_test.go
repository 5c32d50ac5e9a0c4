package claims

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSpread(t *testing.T) {
	number := func(x float64, pass *bool) SeedVerdict { return SeedVerdict{Number(x), pass} }
	for _, c := range []struct {
		seeds []SeedVerdict
		want  string
	}{
		{nil, ""},
		{[]SeedVerdict{number(0.174, yes()), number(-0.02, no()), number(0.3541, yes())},
			"holds with 2 of 3 seeds alone, -0.02 to 0.354"},
		{[]SeedVerdict{{Numbers(1, 2), no()}, {Numbers(1, 3), nil}},
			"holds with 0 of 2 seeds alone"},
	} {
		assert.Equal(t, c.want, (&Verdict{BySeed: c.seeds}).Spread())
	}
}
