package sim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

const us = units.Microsecond

func run(t *testing.T, c Bottleneck, flows ...Flow) *Result {
	t.Helper()
	c.Rate, c.Delay = 100*units.Gbps, 2*us
	r, err := c.Run(t.Context(), flows)
	require.NoError(t, err)
	return r
}

func control(t *testing.T, text string) cc.Spec {
	spec, err := cc.Parse(text)
	require.NoError(t, err)
	return spec
}

// A flow alone takes a base round trip plus its bytes at the payload rate of the link, and its
// times count from its start.
func TestOneFlow(t *testing.T) {
	c := Bottleneck{Until: units.Millisecond}
	r := run(t, c, Flow{Start: 50 * us, Bytes: 1_024_000, Control: control(t, "fixed")})
	f := r.Traces[0]
	require.True(t, f.Ended)
	assert.Len(t, f.Sent, 1000)
	assert.GreaterOrEqual(t, f.Sent[0], units.Time(50*us))
	ideal := r.Traces[0].BaseRTT + (100 * units.Gbps).Duration(999*(1024+Overhead))
	assert.InDelta(t, ideal.Nanoseconds(), f.FCT().Nanoseconds(), 200)
	c.Rate, c.PathMTU = 100*units.Gbps, 1024
	assert.InEpsilon(t, c.Capacity(), f.Goodput.Mean(units.Time(70*us), units.Time(110*us)), 0.02)
	assert.Less(t, r.End, 200*us, "it ends when all flows have")
}

// A stopped flow sends nothing more: its packets in flight still arrive, and the other flow has the
// link.
func TestStop(t *testing.T) {
	swift := control(t, "swift:base_target=rtt+10us")
	r := run(t, Bottleneck{Until: 2 * units.Millisecond},
		Flow{Stop: units.Millisecond, Control: swift}, Flow{Control: swift})
	f := r.Traces[0]
	assert.InDelta(t, 1022, f.Finish.Microseconds(), 12, "a round trip with the queue")
	assert.Zero(t, f.Goodput.Mean(units.Time(1100*us), units.Time(1900*us)))
	assert.Greater(t, r.Traces[1].Goodput.Mean(units.Time(1100*us), units.Time(1900*us)), 85e9)
	assert.Greater(t, r.Jain(500*us, 900*us), 0.9)
	assert.InDelta(t, 0.5, r.Jain(1100*us, 1900*us), 0.01)
}

// The queue is counted in the link's bytes: the part of a fixed window beyond the path's BDP.
func TestQueueIsDelay(t *testing.T) {
	fixed := control(t, "fixed:window=102400B")
	r := run(t, Bottleneck{Until: units.Millisecond}, Flow{Control: fixed}, Flow{Control: fixed})
	onLink := units.Bytes(2 * 100 * (1024 + Overhead))
	bdp := (100 * units.Gbps).Bytes(r.Traces[0].BaseRTT)
	assert.InEpsilon(t, float64(onLink-bdp), r.Queues[0].Length.Mean(units.Time(500*us),
		units.Time(900*us)), 0.15, "ACKs come for several packets at once")
}

// An algorithm gets the remaining bytes of the flow, not of the posted messages, and only the
// events of its EventSet.
func TestLeft(t *testing.T) {
	var left []units.Bytes
	tr := &Trace{Flow: Flow{Bytes: 10_000}, Window: &fabric.Series{}, payload: 1000}
	a := &tap{Algorithm: listener{func(ev *cc.Event) { left = append(left, ev.Left) }}, trace: tr}
	a.On(&cc.Event{Kind: cc.ACK, Bytes: 3_000}, 1)
	a.On(&cc.Event{Kind: cc.ACK, Bytes: 3_000}, 2)
	a.On(&cc.Event{Kind: cc.TX, Packets: 1, Bytes: 1_000}, 3) // not in its EventSet
	a.On(&cc.Event{Kind: cc.ACK, Bytes: 4_000}, 4)
	assert.Equal(t, []units.Bytes{7_000, 4_000, 0}, left)
	assert.True(t, tr.Ended)
	assert.Len(t, tr.Sent, 1)
}

// A rate that changes while a packet waits applies at once or, with KeepGaps, from the next packet
// on.
func TestKeepGaps(t *testing.T) {
	for _, keep := range []bool{false, true} {
		a := &tap{Algorithm: &rates{1000, 500, 2000, 0, 3000},
			trace: &Trace{Window: &fabric.Series{}, payload: 1000}, keepGaps: keep}
		assert.Equal(t, units.BitRate(1000), a.Start(0).Rate)
		rate := func(k cc.Kind) units.BitRate {
			return a.On(&cc.Event{Kind: k, Bytes: 1000}, 1).Rate
		}
		assert.Equal(t, map[bool]units.BitRate{false: 500, true: 1000}[keep], rate(cc.ACK))
		assert.Equal(t, units.BitRate(2000), rate(cc.TX))
		assert.Equal(t, units.BitRate(0), rate(cc.ACK), "nothing waits for a rate that is none")
		assert.Equal(t, units.BitRate(3000), rate(cc.ACK))
	}
}

// rates is an algorithm that sets a sequence of rates.
type rates []units.BitRate

func (r *rates) Events() cc.EventSet              { return cc.Events(cc.ACK, cc.TX) }
func (r *rates) Start(now units.Time) cc.Decision { return r.On(nil, now) }

func (r *rates) On(*cc.Event, units.Time) cc.Decision {
	d := cc.Decision{Window: 1, Rate: (*r)[0]}
	*r = (*r)[1:]
	return d
}

type listener struct{ hear func(*cc.Event) }

func (listener) Events() cc.EventSet { return cc.Events(cc.ACK) }

func (l listener) On(ev *cc.Event, _ units.Time) cc.Decision {
	l.hear(ev)
	return cc.Decision{Window: 1}
}

func TestJain(t *testing.T) {
	assert.InDelta(t, 1, Jain(3, 3, 3), 1e-12)
	assert.InDelta(t, 0.25, Jain(1, 0, 0, 0), 1e-12)
	assert.InDelta(t, 0.9, Jain(2, 1), 1e-12)
}

// Flows between pairs of hosts share the link between two switches; packets in the other direction
// use its other half.
func TestPairs(t *testing.T) {
	fixed := control(t, "fixed:window=102400B")
	pairs := func(flow int) (int, int) { return flow % 2, flow % 2 }
	r := run(t, Bottleneck{Until: units.Millisecond, Place: pairs}, Flow{Control: fixed},
		Flow{Control: fixed}, Flow{Back: true, Control: fixed}, Flow{Back: true, Control: fixed})
	for i, f := range r.Traces {
		assert.InDelta(t, 43, f.Goodput.Mean(units.Time(500*us), units.Time(900*us))/1e9, 0.5,
			"flow %d: half of what ACKs leave, one of 86 bytes for each packet", i)
	}
	onLink := units.Bytes(2 * 100 * (1024 + Overhead))
	assert.InEpsilon(t, float64(onLink-(100*units.Gbps).Bytes(r.Traces[0].BaseRTT)),
		r.Queues[0].Length.Mean(units.Time(500*us), units.Time(900*us)), 0.2)
	assert.Greater(t, r.Traces[0].BaseRTT, 12*us, "six links of 2 µs")

	_, err := Bottleneck{Rate: 100 * units.Gbps, Place: pairs, Until: 1}.Run(t.Context(),
		[]Flow{{Control: fixed}, {Control: fixed}, {Control: fixed}})
	assert.ErrorContains(t, err, "flows 0 and 2")
}

// A lossless switch pauses senders, and its largest occupancy is known.
func TestPause(t *testing.T) {
	fixed := control(t, "fixed:window=1MB")
	lossless := fabric.HPCCSwitch(units.MiB, 0.125, fabric.ECN{}, 2*us, 0)
	r := run(t, Bottleneck{Until: units.Millisecond, Switch: &lossless}, Flow{Control: fixed},
		Flow{Control: fixed}, Flow{Control: fixed})
	assert.Zero(t, r.Queues[0].Stats.Dropped)
	assert.Less(t, r.Totals.Fullest, units.Bytes(units.MiB))
	assert.Greater(t, r.Totals.Fullest, units.Bytes(200_000))
	assert.InDelta(t, float64(r.Totals.Fullest), r.Stored.Max(0, units.Time(units.Millisecond)),
		100_000)
	assert.Greater(t, r.Jain(200*us, 900*us), 0.95)
}
