package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/bench/cluster"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// Four flows to one host share its link, under every algorithm that the transport has the signals
// for, and keep it busy.
func TestControlledFlowsShareALink(t *testing.T) {
	for _, c := range []struct {
		control  string
		fairness float64 // least index of Jain
		busy     float64 // least share of the link
	}{
		{"swift", 0.98, 0.9}, {"dctcp", 0.95, 0.9}, {"idctcp", 0.95, 0.9}, {"d2tcp", 0.95, 0.9},
		{"ledbat-dc", 0.95, 0.9}, {"timely", 0.9, 0.8}, {"dcqcn", 0.9, 0.7}, {"dcqcn-nic", 0.9, 0.7},
		{"hpcc:ai=0.01BDP", 0.95, 0.85}, // W_AI for five flows; with the default they take longer to share,
	} {
		t.Run(c.control, func(t *testing.T) {
			spec, err := cc.Parse(c.control)
			require.NoError(t, err)
			var queues fabric.Queues
			queues[0].ECN = fabric.ECN{Kmin: 100 * units.KiB, Kmax: 100 * units.KiB, Pmax: 1}
			parts := fabric.Parts{Config: fabric.Config{MTU: 4500}, Switch: fabric.SwitchConfig{Queues: queues.At(), INT: true}}
			net := fabric.Star(parts, 5, fabric.Link{Rate: 100 * units.Gbps, Delay: 2 * units.Microsecond})
			cl, err := cluster.New(net, cluster.Config{Control: spec, PathMTU: 4096, AnswerClass: 0xe0})
			require.NoError(t, err)
			var rates []*fabric.Series
			var conns []*cluster.Conn
			for i := range 4 {
				require.NoError(t, cl.Warm(i, 4))
				f, err := cl.Start(workload.Flow{Src: i, Dst: 4, Bytes: 1 << 40})
				require.NoError(t, err)
				conns = append(conns, f.Conn)
				rates = append(rates, net.SampleRate(50*units.Microsecond, f.Conn.Received))
			}
			require.NoError(t, net.Run(units.Time(20*units.Millisecond)))
			sum, squares := 0.0, 0.0
			for i, r := range rates {
				mean := r.Mean(units.Time(10*units.Millisecond), net.Now())
				sum += mean
				squares += mean * mean
				t.Logf("%.1f Gb/s, %+v", mean/1e9, conns[i].QP.Snapshot())
			}
			t.Logf("Jain %.3f, %.1f Gb/s", sum*sum/(4*squares), sum/1e9)
			assert.GreaterOrEqual(t, sum*sum/(4*squares), c.fairness)
			assert.GreaterOrEqual(t, sum, c.busy*100e9)
			assert.LessOrEqual(t, sum, 100e9)
		})
	}
}
