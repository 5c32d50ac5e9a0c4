package cc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dctcp20 has a window of 20 packets and alpha 1/2, and its first window end has passed.
func dctcp20(t testing.TB, more string) *DCTCP {
	d := make1[*DCTCP](t, "dctcp:alpha=0.5"+more, everything)
	d.cwnd, d.ssthresh = 20, 20
	return d
}

func TestDCTCPExample(t *testing.T) {
	d := dctcp20(t, "")
	d.windowEnd.at(10) // of the following ten
	d.cutEnd.at(9)     // the first nine belong to a window that was cut
	for i := range 10 {
		ev := &Event{Kind: ACK, PSN: uint32(i + 1), SndNxt: uint32(i + 21), Packets: 1}
		if i < 3 || i == 9 {
			ev.Kind, ev.Marked = ECN, 1
		}
		d.On(ev, at(1))
	}
	assert.InDelta(t, 0.49375, d.share.alpha, 1e-12)
	assert.InDelta(t, 15.0625, d.cwnd, 1e-12)
	assert.Equal(t, CutMark, d.Snapshot().Reason)
}

func TestDCTCPAlphaDecays(t *testing.T) {
	m := markShare{alpha: 1, gain: 1.0 / 16}
	m.count(10, 0)
	m.close()
	assert.Equal(t, 0.9375, m.alpha)
}

func TestDCTCPFloor(t *testing.T) {
	for _, c := range []struct {
		more string
		want float64
	}{{"", 2}, {",min_cwnd=0.1", 1.5}} {
		d := dctcp20(t, c.more)
		d.cwnd, d.share.alpha = 3, 1
		d.On(&Event{Kind: ECN, PSN: 1, SndNxt: 4, Packets: 1, Marked: 1}, at(1))
		assert.Equal(t, c.want, d.cwnd)
	}
}

// The first acknowledgement ends no window; a mark in it cuts at once.
func TestDCTCPFirstAck(t *testing.T) {
	d := make1[*DCTCP](t, "dctcp", everything)
	require.Equal(t, 120.0, d.cwnd)
	d.On(&Event{Kind: ECN, PSN: 1, SndNxt: 100, Packets: 1, Marked: 1}, at(1))
	assert.Equal(t, 1.0, d.share.alpha)
	assert.Equal(t, 60.0, d.cwnd)
}

func TestDCTCPGrowsByAPacketInARoundTrip(t *testing.T) {
	d := dctcp20(t, "")
	var s acks
	for _, ev := range s.window(20, 0) {
		d.On(&ev, at(1))
	}
	assert.InDelta(t, 21, d.cwnd, 0.05)
}

func TestDCTCPSlowStart(t *testing.T) {
	d := make1[*DCTCP](t, "dctcp:slow_start=on,init_cwnd=2", everything)
	var s acks
	for _, ev := range s.window(2, 0) {
		d.On(&ev, at(1))
	}
	assert.Equal(t, 4.0, d.cwnd)
}

func TestDCTCPLossAndTimeout(t *testing.T) {
	d := dctcp20(t, "")
	d.On(&Event{Kind: OOO, PSN: 5, SndNxt: 25}, at(1))
	assert.Equal(t, 10.0, d.cwnd)
	d.On(&Event{Kind: OOO, PSN: 7, SndNxt: 27}, at(2))
	assert.Equal(t, 10.0, d.cwnd, "once for a window")
	d.On(&Event{Kind: OOO, PSN: 25, SndNxt: 40}, at(3))
	assert.Equal(t, 5.0, d.cwnd, "sent after the cut")
	d.On(&Event{Kind: RTO, PSN: 25, SndNxt: 40}, at(4))
	assert.Equal(t, 1.0, d.cwnd)
	assert.Equal(t, 2.5, d.ssthresh)
	d.On(&Event{Kind: ACK, PSN: 41, SndNxt: 42, Packets: 1}, at(5))
	assert.Equal(t, 2.0, d.cwnd, "slow start")
}

// Errors of papers and public implementations, each avoided.

// One divides marked by total in integers: 0 unless every packet is marked.
func TestDCTCPShareIsFractional(t *testing.T) {
	m := markShare{alpha: 0, gain: 1}
	m.count(10, 9)
	m.close()
	assert.InDelta(t, 0.9, m.alpha, 1e-12)
}

// One never clears the marks of the first window: a share above 1.
func TestDCTCPShareIsAtMostOne(t *testing.T) {
	d := dctcp20(t, "")
	var s acks
	for range 50 {
		for _, ev := range s.window(20, 20) {
			d.On(&ev, at(1))
			require.LessOrEqual(t, d.share.marked, d.share.total)
		}
	}
	assert.LessOrEqual(t, d.share.alpha, 1.0)
}

// A window's last mark belongs to the alpha of the cut: alpha is updated before the cut.
// TestDCTCPExample would give 15 otherwise.
func TestDCTCPAlphaBeforeCut(t *testing.T) {
	d := dctcp20(t, "")
	d.share.alpha, d.share.gain = 0, 1
	d.windowEnd.at(1)
	d.On(&Event{Kind: ECN, PSN: 1, SndNxt: 21, Packets: 1, Marked: 1}, at(1))
	assert.Equal(t, 10.0, d.cwnd)
}

// Cuts are limited by sequence numbers, not by time.
func TestDCTCPCutsOnceInAWindowHoweverLong(t *testing.T) {
	d := dctcp20(t, "")
	d.On(&Event{Kind: ECN, PSN: 1, SndNxt: 21, Packets: 1, Marked: 1}, at(1))
	require.Equal(t, 15.0, d.cwnd)
	d.On(&Event{Kind: ECN, PSN: 21, SndNxt: 41, Packets: 20, Marked: 20}, at(1e6))
	assert.Equal(t, 15.0, d.cwnd)
	d.On(&Event{Kind: ECN, PSN: 22, SndNxt: 42, Packets: 1, Marked: 1}, at(1e6))
	assert.Less(t, d.cwnd, 15.0)
}

// alpha reaches 0, where integers remain slightly above.
func TestDCTCPAlphaReachesZero(t *testing.T) {
	m := markShare{alpha: 1, gain: 1.0 / 16}
	for range 2000 {
		m.count(1, 0)
		m.close()
	}
	assert.Less(t, m.alpha, 1e-50)
}

// A window without acknowledgements leaves alpha as it is.
func TestDCTCPEmptyWindow(t *testing.T) {
	m := markShare{alpha: 0.5, gain: 1.0 / 16}
	m.close()
	assert.Equal(t, 0.5, m.alpha)
}
