package cc

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/units"
)

// d2tcp100 is a flow with a window of 1e5 bytes and a round trip of 100 us.
func d2tcp100(t testing.TB) *D2TCP {
	path := everything
	path.BaseRTT = 100 * us
	d := make1[*D2TCP](t, "d2tcp:alpha=0.25", path)
	d.cwnd = 100
	return d
}

func TestD2TCPExample(t *testing.T) {
	for _, c := range []struct{ has, want float64 }{
		{2000, 0.66667}, {500, 2}, {100000, 0.5}, {1333.333, 1}, {0, 2}, {-10, 2},
	} {
		d := d2tcp100(t)
		d.SetDeadline(at(10000 + c.has))
		assert.InDelta(t, c.want, d.imminence(1e6, at(10000)), 1e-5, "%v us left", c.has)
	}
	for _, c := range []struct{ d, want float64 }{{2, 19.375}, {1, 17.5}, {0.5, 15}} {
		m := markShare{alpha: 0.25}
		assert.InDelta(t, c.want, 20*m.cut(c.d), 1e-12)
		m.alpha = 1
		assert.InDelta(t, 10, 20*m.cut(c.d), 1e-12, "all halve")
	}
}

func TestD2TCPCutsByDeadline(t *testing.T) {
	cut := func(has units.Duration) float64 {
		d := d2tcp100(t)
		if has != 0 {
			d.SetDeadline(at(0).Add(1 + has))
		}
		d.On(&Event{Kind: ECN, PSN: 1, SndNxt: 100, Packets: 1, Marked: 1, Left: 1e6}, 1)
		return d.cwnd
	}
	assert.InDelta(t, 100*(1-0.25*0.25/2), cut(500*us), 1e-9)
	assert.InDelta(t, 100*(1-0.5/2), cut(units.Second), 1e-9)
	assert.InDelta(t, 100*(1-0.25/2), cut(0), 1e-9, "no deadline is DCTCP")
}

func TestD2TCPDeadlineAsAParameter(t *testing.T) {
	d := make1[*D2TCP](t, "d2tcp:deadline=1ms", everything)
	d.Start(at(5))
	assert.Equal(t, at(1005), d.deadline)
}

// With nothing left to send a deadline counts as far; a missed one counts as near.
func TestD2TCPNothingLeft(t *testing.T) {
	d := d2tcp100(t)
	d.SetDeadline(at(100))
	assert.Equal(t, 0.5, d.imminence(0, at(1)))
}

// Errors of public implementations: in integers bytes_left·RTT/cwnd overflows or is truncated.
func TestD2TCPLargeAndSmallMessages(t *testing.T) {
	d := d2tcp100(t)
	d.SetDeadline(at(1e9))
	assert.Equal(t, 2.0, d.imminence(units.Bytes(1)<<62, at(1)))
	d.cwnd = 1e6
	d.SetDeadline(at(1).Add(133)) // ps, as many as are needed
	assert.InDelta(t, 1, d.imminence(1000, at(1)), 0.01)
}
