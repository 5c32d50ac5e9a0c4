package tocc

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/bench/cluster"
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/labtest"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
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
		pairs := testbed{Pattern: c.pattern, Rack: rack, Targets: 2}.pairs(rand.New(rand.NewPCG(1, 1)))
		assert.Len(t, pairs, c.pairs, c.pattern)
		seen := map[[2]int]bool{}
		for _, p := range pairs {
			assert.True(t, c.holds(p) && p[0] != p[1] && !seen[p], "%s: %v", c.pattern, p)
			seen[p] = true
		}
	}
}

// A writer keeps its rate as long as there is room, has no more outstanding than it may, and with time to think one.
func TestWriter(t *testing.T) {
	const us = units.Microsecond
	for _, c := range []struct {
		what     string
		w        writer
		messages float64 // in a millisecond
	}{
		{"at a rate", writer{bytes: 8192, depth: 4, every: 10 * us}, 100},
		{"at more than the link", writer{bytes: 8192, depth: 4, every: us}, 1e-3 * testbedCap / 8 / 8192},
		{"as much as it takes", writer{bytes: 8192, depth: 4}, 1e-3 * testbedCap / 8 / 8192},
		// 1.00 µs of link, and 2.8 µs for eight packets: one after the other.
		{"with time to think", writer{bytes: 8192, depth: 1, think: 20 * us}, 1000 / (20 + 4 + 8.0*1106*8/25000)},
	} {
		net := fabric.Star(fabric.Parts{}, 2, fabric.Link{Rate: testbedRate, Delay: us})
		cl, err := cluster.New(net, cluster.Config{SendDepth: 4})
		require.NoError(t, err)
		require.NoError(t, cl.Introduce())
		w := c.w
		w.conn, err = cl.Connect(0, 1)
		require.NoError(t, err)
		var times experiment.Values
		w.net, w.failed = net, func(err error) { require.NoError(t, err) }
		w.ended = func(posted, ended units.Time) {
			times = append(times, ended.Sub(posted).Microseconds())
			assert.Less(t, len(w.posted), w.depth)
		}
		begin := net.Now()
		w.begin(begin)
		require.NoError(t, net.Run(begin.Add(units.Millisecond)))
		assert.InDelta(t, c.messages, len(times), 0.02*c.messages+1, c.what)
	}
}

func TestTestbedAtSmallScale(t *testing.T) {
	labtest.OneGoroutine(t)
	labtest.Small(t, []*experiment.Experiment{fig10b, fig10f})
}
