package tocc

import (
	"fmt"
	"testing"

	"github.com/goroce/goroce/bench/lab/bottleneck"
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

func TestTmpDCQCN(t *testing.T) {
	us, ms := units.Microsecond, units.Millisecond
	for _, m := range []marks{lowMarks, highMarks} {
		for _, cnp := range []units.Duration{4 * us, 50 * us} {
			for _, text := range []string{
				"dcqcn-nic:rate_period=900us,ai=50Mb/s,hai=100Mb/s,window=1GB",
				"dcqcn-nic:rate_period=300us,ai=5Mb/s,hai=50Mb/s,window=1GB",
				"dcqcn-nic:rate_period=900us,ai=50Mb/s,hai=100Mb/s,window=1GB,g=0.00390625,alpha=1,min_rate=100Mb/s",
				"dcqcn-nic:rate_period=900us,ai=50Mb/s,hai=100Mb/s,window=1GB,cut_period=50us",
				"dcqcn-nic:rate_period=900us,ai=50Mb/s,hai=100Mb/s,window=1GB,alpha_period=55us,cut_period=50us",
				"dcqcn:period=900us,ai=50Mb/s,hai=100Mb/s,window=1GB",
				"dcqcn:period=300us,ai=5Mb/s,hai=50Mb/s,window=1GB",
			} {
				j := experiment.NewJob(t.Context(), experiment.Cell{}, experiment.Full, 1, nil)
				c := eightToOne(j, 60*ms)
				c.CNPs = cnp
				c.Switch = losslessSwitch(c, m)
				control, err := cc.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				r, err := bottleneck.Run(t.Context(), c, many(pairs, bottleneck.Flow{Control: control}))
				if err != nil {
					t.Fatal(err)
				}
				u := utilisation(c, r.Flows, bin, ms, 40*ms)
				v := rates(c, r.Flows, bin, 5*ms, 40*ms)
				fmt.Printf("%v cnp %v %s: spread %.2f (p5 %.2f p95 %.2f) util %.3f dip %.2f bufmax %.2f MB stored p5 %.0f p50 %.0f p95 %.0f pauses %d\n", m, cnp, text, spread(v), v.Percentile(5), v.Percentile(95), u.Mean(), 1-u.Percentile(5),
					float64(r.Fullest)/1e6, r.Stored.Percentile(5, units.Time(5*ms), units.Time(40*ms)), r.Stored.Percentile(50, units.Time(5*ms), units.Time(40*ms)), r.Stored.Percentile(95, units.Time(5*ms), units.Time(40*ms)), r.Pauses)
			}
		}
	}
}
