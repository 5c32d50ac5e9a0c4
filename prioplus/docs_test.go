package prioplus

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/cc/cctest"
	"github.com/goroce/goroce/units"
)

// TestDocument checks that the table of parameters in docs/prioplus.md is up to date.
func TestDocument(t *testing.T) {
	var s cc.Settings
	new(options).declare(&s)
	cctest.Document(t, "prioplus.md", "prioplus", "\n"+s.Table()+"\n")
}

// At 10 Gb/s a probe is 0.8 us shorter than a packet on each of two links: both measure a queue of
// two microseconds.
func TestProbesAreShorter(t *testing.T) {
	path := cc.Path{LineRate: 10 * units.Gbps, BaseRTT: 13 * us, Payload: 1000, Hops: 1,
		Signals: cc.SignalDelay}
	a, err := specOf(t, "swift", "8", 0).New(path)
	require.NoError(t, err)
	b := &bench{PrioPlus: a.(*PrioPlus), t: t, left: 1000}
	b.on(cc.Event{Kind: cc.POST})
	b.on(cc.Event{Kind: cc.RTT, Probe: true, Delay: 13*us - 1600*units.Nanosecond + 2*us})
	assert.InDelta(t, 1, float64(b.inner.Cwnd()), 1e-9, "others send")
	assert.Equal(t, cc.Sending, b.Snapshot().Channel.State)
}
