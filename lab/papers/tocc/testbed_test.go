package tocc

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/labtest"
)

func TestPairs(t *testing.T) {
	const rack = 4
	same := func(p [2]int) bool { return p[0]/rack == p[1]/rack }
	for _, c := range []struct {
		pattern pattern
		pairs   int
		holds   func(p [2]int) bool
	}{
		{allToAll, 8 * 7, func([2]int) bool { return true }},
		{incast, 7, func(p [2]int) bool { return p[1] == 7 }},
		{intraRack, 8 * 2, same},
		{interRack, 8 * 2, func(p [2]int) bool { return !same(p) }},
	} {
		pairs := testbed{Pattern: c.pattern, Rack: rack,
			Targets: 2}.pairs(rand.New(rand.NewPCG(1, 1)))
		assert.Len(t, pairs, c.pairs, c.pattern)
		seen := map[[2]int]bool{}
		for _, p := range pairs {
			assert.True(t, c.holds(p) && p[0] != p[1] && !seen[p], "%s: %v", c.pattern, p)
			seen[p] = true
		}
	}
}

func TestTestbedAtSmallScale(t *testing.T) {
	race.OneGoroutine(t)
	labtest.Small(t, []*experiment.Experiment{fig10b, fig10f})
}
