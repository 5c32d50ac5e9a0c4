package prioplus

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// Groups have equal bytes, and the smallest sizes come first.
func TestEqualBytes(t *testing.T) {
	assert.Empty(t, equalBytes(workload.WebSearch, 1))
	bounds := equalBytes(workload.WebSearch, 8)
	require.Len(t, bounds, 7)
	var bytes [8]float64
	for i := range 10_000 {
		size := workload.WebSearch.Quantile((float64(i) + 0.5) / 10_000)
		bytes[sizeGroup(size, bounds)] += float64(size)
	}
	for g, b := range bytes {
		assert.InEpsilon(t, workload.WebSearch.Mean()*10_000/8, b, 0.02, "group %d", g)
	}
}

func TestKnee(t *testing.T) {
	gap := experiment.Series{X: []float64{0, 1, 2, 3}, Y: []float64{1, 1.3, 1.36, 1}}
	assert.Equal(t, 2.0, knee(gap))
	gap.Y[2] = 1.35
	assert.Equal(t, math.Inf(1), knee(gap))
}

// Hosts with classes of data send the higher first: of two flows of one host the higher takes its
// ideal time, whatever the other does.
func TestClassesOfData(t *testing.T) {
	for _, higher := range []int{0, 1} {
		net := fabric.Star(fabric.Parts{Config: fabric.Config{Classify: classify()},
			Host: fabric.HostConfig{DataClasses: 2}}, 3,
			fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
		cl, err := sim.New(sim.Scenario{
			Topology: sim.On(net),
			Hosts:    sim.Hosts{PathMTU: payload},
			Scheme: sim.Scheme{PerFlow: func(_ *sim.Simulation, f workload.Flow) (sim.Service,
				error) {
				return physicalNoCC.serve(priorities{N: 2}, f.Class, 0)
			}},
		})
		require.NoError(t, err)
		require.NoError(t, cl.ResolveAddresses())
		begin := net.Now()
		flows := list{{Src: 0, Dst: 1, Bytes: 1_000_000, Class: higher},
			{ID: 1, Src: 0, Dst: 2, Bytes: 1_000_000, Class: 1 - higher}}
		took := map[int]units.Duration{}
		cl.Drive(&flows, func(f *sim.Transfer) { took[f.Class] = f.Done.Sub(begin) })
		require.NoError(t, net.Run(begin.Add(units.Millisecond)))
		require.Empty(t, cl.Errors)
		alone := cl.Ideal(workload.Flow{Src: 0, Dst: 1, Bytes: 1_000_000})
		assert.InEpsilon(t, float64(alone), float64(took[1]), 0.02)
		assert.InEpsilon(t, 2*float64(alone), float64(took[0]), 0.1)
	}
}

// In the artifact's runs ACKs of PrioPlus have a queue above all data, and those of other schemes
// are in the queue of their data.
func TestQueueOfACKs(t *testing.T) {
	answers := func(s scheme, a acks) uint8 {
		service, err := s.serve(priorities{N: 8, ACKs: a}, 5, units.Millisecond)
		require.NoError(t, err)
		return service.AnswerClass >> 2
	}
	for _, s := range []scheme{virtualSwift, virtualFree, virtualLEDBAT} {
		assert.EqualValues(t, ackQueue, answers(s, acksOnTop), s)
		assert.EqualValues(t, ackQueue, answers(s, acksPublished), s)
	}
	for s, queue := range map[scheme]int{baseline: 0, deadlines: 0, telemetry: 0, physical: 5,
		physicalLEDBAT: 5, ideal: 5, idealNoCC: 5, physicalNoCC: 5} {
		assert.EqualValues(t, ackQueue, answers(s, acksOnTop), s)
		assert.EqualValues(t, queue, answers(s, acksPublished), s)
	}
	assert.Zero(t, answers(virtualSameACK, acksOnTop))
}
