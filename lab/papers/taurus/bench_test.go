package taurus

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/labtest"
	"github.com/goroce/goroce/units"
)

// All but one of those that need two cores, and the limiter's, are left out: `make lab-small` runs
// them.
func TestBenchExperimentsAtSmallScale(t *testing.T) {
	race.OneGoroutine(t)
	labtest.Small(t, slices.DeleteFunc(slices.Clone(benchExperiments),
		func(e *experiment.Experiment) bool {
			return e == fig2ab || e == table2 || e == limiter
		}))
}

// A poll counts in the slices in which it ran, in proportion.
func TestKeeperSpreadsWork(t *testing.T) {
	for name, c := range map[string]struct {
		from, to units.Duration
		busy     []units.Duration
		messages []uint64
	}{
		"within a slice": {100 * us, 300 * us, []units.Duration{200 * us, 0, 0},
			[]uint64{100, 0, 0}},
		"over three": {100 * us, 1100 * us, []units.Duration{400 * us, 500 * us, 100 * us},
			[]uint64{40, 50, 10}},
		"from before a turn": {-100 * us, 100 * us, []units.Duration{100 * us, 0, 0},
			[]uint64{50, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			records := make([]interval, slicesOfTurn+1)
			k := newRecorder(0, records)
			k.moveOn(units.Time(c.from))
			k.worked(units.Time(c.from), units.Time(c.to), 100)
			for i := range c.busy {
				assert.Equal(t, c.busy[i], records[i].busy)
				assert.Equal(t, c.messages[i], records[i].messages)
			}
		})
	}
}

// Datapaths of the bench work: a pair sends, and the agent takes a generator's reports.
func TestDatapaths(t *testing.T) {
	p, err := newPair(&cc.Inline{}, 3, benched("idctcp"))
	require.NoError(t, err)
	packets := uint64(0)
	for range 10_000 {
		n, _ := p.acknowledge(0, wall())
		packets += n
	}
	require.NoError(t, p.err)
	assert.Greater(t, packets, uint64(5000))

	c, err := newReporter("", 3, 0, benched("idctcp"))
	require.NoError(t, err)
	sent, lost := c.datapath.acknowledge(3000, wall())
	c.agent.Poll(wall())
	assert.Equal(t, uint64(3000), sent)
	assert.NotZero(t, lost, "the ring is smaller than that")
	assert.Equal(t, sent-lost, c.handled())
}
