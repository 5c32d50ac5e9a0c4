package prioplus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// traffic is the events of a flow within its channel: a packet is acknowledged every 80 ns, with
// delays around the target.
type traffic struct {
	now units.Time
	ev  cc.Event
}

func (tr *traffic) next(a cc.Algorithm) cc.Decision {
	tr.now = tr.now.Add(80 * units.Nanosecond)
	psn := (tr.ev.PSN + 1) & 0xffffff
	tr.ev = cc.Event{Kind: cc.RTT, PSN: psn, SndNxt: (psn + 400) & 0xffffff, Packets: 1,
		Bytes: 1000, Left: 1 << 30,
		Delay: 30*us + units.Duration(psn%32)*100*units.Nanosecond, InFlight: 400_000}
	return a.On(&tr.ev, tr.now)
}

var sink cc.Decision

// alone returns an original CC, steered to the channel's target, and the same within a channel.
func alone(t testing.TB, inner string) (bare cc.Steerable, wrapped *PrioPlus) {
	b := flowOf(t, inner, "8", 4)
	b.probed(20)
	spec, err := cc.Parse(inner)
	require.NoError(t, err)
	bare, err = spec.Steered(plain)
	require.NoError(t, err)
	bare.Steer(b.Target, minCwnd, 400)
	return bare, b.PrioPlus
}

func TestNoEventAllocates(t *testing.T) {
	for _, inner := range cc.Steerables() {
		_, p := alone(t, inner)
		var tr traffic
		assert.Zero(t, testing.AllocsPerRun(1000, func() {
			tr.next(p)
			p.Snapshot()
		}), inner)
	}
}

// BenchmarkOver measures what the channel adds to an acknowledgement: a thousand with and a
// thousand without it alternate.
func BenchmarkOver(b *testing.B) {
	for _, inner := range cc.Steerables() {
		b.Run(inner, func(b *testing.B) {
			bare, p := alone(b, inner)
			var (
				tr      [2]traffic
				took    [2]time.Duration
				batches int
			)
			for b.Loop() {
				for i, a := range []cc.Algorithm{bare, p} {
					begun := time.Now()
					for range 1000 {
						sink = tr[i].next(a)
					}
					took[i] += time.Since(begun)
				}
				batches++
			}
			n := float64(batches) * 1000
			b.ReportMetric(float64(took[0].Nanoseconds())/n, "ns/bare")
			b.ReportMetric(float64(took[1].Nanoseconds())/n, "ns/ack")
			b.ReportMetric(float64((took[1]-took[0]).Nanoseconds())/n, "ns/over")
			if p.stopped {
				b.Fatal("the flow has stopped")
			}
		})
	}
}
