package cc

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var timer = &Event{Kind: TIMER}

// A CNP sets flags; one cut follows at the end of the cut period, however many CNPs arrived.
func TestDCQCNNICFirstCut(t *testing.T) {
	d := make1[*DCQCNNIC](t, "dcqcn-nic:alpha=1,g=0.00390625", everything)
	dec := d.On(cnp, at(10))
	assert.Equal(t, 100*gbps, dec.Rate)
	assert.Equal(t, at(14), dec.WakeAt)
	d.On(cnp, at(11))
	d.On(cnp, at(13.5)) // alpha is updated at 11, 12, 13 and 14: with, with, without and with one
	dec = d.On(timer, at(14))
	alpha := 255.0/256*255/256 + 1.0/256
	assert.InDelta(t, alpha, d.alpha, 1e-12)
	assert.InDelta(t, 100e9*(1-alpha/2), d.rc, 1)
	assert.Equal(t, 100e9, d.rt)
	assert.Equal(t, at(314), dec.WakeAt, "the rate timer begins anew")
	assert.Equal(t, CutCNP, d.Snapshot().Reason)
}

// One step of recovery, one additive step, then hyper increase.
func TestDCQCNNICStages(t *testing.T) {
	d := make1[*DCQCNNIC](t, "dcqcn-nic", everything)
	d.rc, d.rt, d.running = 20e9, 40e9, true
	for _, target := range []float64{40e9, 40.005e9, 40.055e9, 40.105e9, 40.155e9} {
		d.increase()
		assert.InDelta(t, target, d.rt, 1)
	}
}

// The cuts of a run keep the target of the first one, unless it is clamped.
func TestDCQCNNICTarget(t *testing.T) {
	for _, c := range []struct {
		more   string
		target float64
	}{{"", 100e9}, {":clamp_target=on", 50.5e9}} {
		d := make1[*DCQCNNIC](t, "dcqcn-nic"+c.more, everything)
		d.On(cnp, at(0))
		d.On(cnp, at(3.9))
		d.On(timer, at(4))
		d.On(cnp, at(5))
		d.On(timer, at(8))
		assert.InDelta(t, c.target, d.rt, 0.1e9)
		d.stage = 2
		was := d.rc
		d.On(cnp, at(9))
		d.On(timer, at(12))
		assert.Equal(t, was, d.rt, "raised in between")
	}
}

// alpha is updated for all its periods at once, with the same result as one by one.
func TestDCQCNNICAlphaIsAsIfOnTime(t *testing.T) {
	d := make1[*DCQCNNIC](t, "dcqcn-nic", everything)
	d.On(cnp, at(0))
	d.age(at(100))
	g := d.gain
	assert.InDelta(t, (d.dcqcnNICParams.alpha*(1-g)+g)*math.Pow(1-g, 99), d.alpha, 1e-12)
}

// It wakes up for the rate timer, and for a cut only if one is pending.
func TestDCQCNNICSleeps(t *testing.T) {
	d := make1[*DCQCNNIC](t, "dcqcn-nic", everything)
	dec := d.On(cnp, at(0.5))
	dec = d.On(timer, dec.WakeAt)
	wakes := 0
	for now := at(4.5); dec.WakeAt != 0; wakes++ {
		require.Equal(t, now.Add(300*us), dec.WakeAt)
		now = dec.WakeAt
		dec = d.On(timer, now)
		require.Less(t, wakes, 100)
	}
	assert.Equal(t, 100*gbps, dec.Rate)
}

func TestDCQCNNICNoCutTakesMoreThanHalf(t *testing.T) {
	d := make1[*DCQCNNIC](t, "dcqcn-nic:min_dec_fac=0.75", everything)
	d.On(cnp, at(0))
	d.On(timer, at(4))
	assert.Equal(t, 75e9, d.rc)
}

// A cut that is due is made even if the rate has reached the line in the meantime.
func TestDCQCNNICCutIsNotForgotten(t *testing.T) {
	d := make1[*DCQCNNIC](t, "dcqcn-nic:rate_period=2us", everything)
	d.On(cnp, at(0))
	dec := d.On(timer, at(2))
	assert.Equal(t, 100*gbps, dec.Rate)
	assert.Equal(t, at(4), dec.WakeAt)
	assert.Less(t, d.On(timer, at(4)).Rate, 51*gbps)
}

func TestDCQCNNICTimeout(t *testing.T) {
	d := make1[*DCQCNNIC](t, "dcqcn-nic", everything)
	d.On(&Event{Kind: RTO}, at(0))
	assert.Equal(t, NoCut, d.Snapshot().Reason)
	d.On(timer, at(4))
	assert.Equal(t, CutTimeout, d.Snapshot().Reason)
}

// Error of public descriptions: the NIC's constants in the paper's rules are a third algorithm.
func TestDCQCNNICDiffersFromThePaper(t *testing.T) {
	nic := make1[*DCQCNNIC](t, "dcqcn-nic", everything)
	paper := make1[*DCQCN](t, "dcqcn:f=1,ai=5Mb/s,hai=50Mb/s", everything)
	nic.rc, nic.rt, nic.running = 20e9, 40e9, true
	paper.rc, paper.rt, paper.running = 20e9, 40e9, true
	for range 10 {
		nic.increase()
		paper.tick()
	}
	assert.InDelta(t, 40e9+5e6+8*50e6, nic.rt, 1)
	assert.InDelta(t, 40e9+9*5e6, paper.rt, 1)
}
