package cc

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A window is as many packets as it had at its beginning, whatever the PSNs are.
func TestIDCTCPWindowsByCount(t *testing.T) {
	d := make1[*IDCTCP](t, "idctcp:alpha=0.5,init_cwnd=10", everything)
	d.cutFor = 9
	d.On(&Event{Kind: ECN, Packets: 9, Marked: 3}, at(1))
	assert.Equal(t, 0.5, d.share.alpha)
	d.On(&Event{Kind: ECN, Packets: 1, Marked: 1}, at(1))
	assert.InDelta(t, 0.49375, d.share.alpha, 1e-12)
	assert.InDelta(t, 7.53125, d.cwnd, 1e-12)
	d.On(&Event{Kind: ECN, Packets: 10, Marked: 10}, at(2))
	assert.InDelta(t, 7.53125, d.cwnd, 1e-12, "once for what was in flight")
	d.On(&Event{Kind: ECN, Packets: 1, Marked: 1}, at(3))
	assert.Less(t, d.cwnd, 7.0)
}

func TestIDCTCPIgnoresDelay(t *testing.T) {
	d := make1[*IDCTCP](t, "idctcp", everything)
	assert.Equal(t, Events(ACK, ECN, OOO, RTO), d.Events())
}

func TestIDCTCPLossAndTimeout(t *testing.T) {
	d := make1[*IDCTCP](t, "idctcp:init_cwnd=20", everything)
	d.On(&Event{Kind: OOO}, at(1))
	assert.Equal(t, 10.0, d.cwnd)
	d.On(&Event{Kind: OOO}, at(2))
	assert.Equal(t, 10.0, d.cwnd)
	d.On(&Event{Kind: RTO}, at(3))
	assert.Equal(t, 2.0, d.cwnd)
	assert.Equal(t, [Reasons]uint64{CutLoss: 1, CutTimeout: 1}, d.Snapshot().Cuts)
}

// An incast of more flows than the BDP has packets needs windows below one.
func TestIDCTCPBelowOnePacket(t *testing.T) {
	d := make1[*IDCTCP](t, "idctcp:init_cwnd=1,min_cwnd=0.01", everything)
	for range 100 {
		d.On(&Event{Kind: ECN, Packets: 1, Marked: 1}, at(1))
	}
	assert.InDelta(t, 0.01, d.cwnd, 1e-9)
	assert.NotZero(t, d.decide().Rate)
}
