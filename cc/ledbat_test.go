package cc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// ledbat20 has a window of 10 packets, a target of 20 us, and has measured the base of 10 us.
func ledbat20(t testing.TB, more string) *LEDBAT {
	l := make1[*LEDBAT](t, "ledbat:target=20us,gain=1,current_filter=1"+more, everything)
	l.cwnd = 10
	first := rtt(10*us, 0)
	first.InFlight = 10000
	l.On(first, at(1))
	require.Equal(t, 10.0, l.cwnd)
	return l
}

// queued returns an ACK of a packet that met a queue.
func queued(q units.Duration) *Event {
	ev := rtt(10*us+q, 1)
	ev.InFlight = 9000
	return ev
}

func TestLEDBATExample(t *testing.T) {
	for _, c := range []struct {
		queue units.Duration
		want  float64
	}{{5 * us, 10.075}, {20 * us, 10}, {40 * us, 9.9}, {70 * us, 9.75}} {
		l := ledbat20(t, "")
		l.On(queued(c.queue), at(2))
		assert.InDelta(t, c.want, l.cwnd, 1e-9, "queue %v", c.queue)
	}
}

func TestLEDBATLoss(t *testing.T) {
	l := ledbat20(t, "")
	l.On(&Event{Kind: OOO}, at(100))
	assert.Equal(t, 5.0, l.cwnd)
	l.On(&Event{Kind: OOO}, at(101))
	assert.Equal(t, 5.0, l.cwnd, "once a round trip")
	l.On(&Event{Kind: OOO}, at(200))
	l.On(&Event{Kind: OOO}, at(300))
	l.On(&Event{Kind: OOO}, at(400))
	assert.Equal(t, 2.0, l.cwnd, "MIN_CWND")
	l.On(&Event{Kind: RTO}, at(500))
	assert.Equal(t, 1.0, l.cwnd, "one packet after CTO")
	assert.EqualValues(t, 3, l.Snapshot().Cuts[CutLoss])
	assert.EqualValues(t, 1, l.Snapshot().Cuts[CutTimeout])
}

func TestLEDBATFirstSampleIsTheBase(t *testing.T) {
	l := make1[*LEDBAT](t, "ledbat:target=20us", everything)
	first := rtt(500*us, 1)
	first.InFlight = 1000
	l.On(first, at(1))
	assert.InDelta(t, 2.5, l.cwnd, 1e-9, "off is 1")
	assert.Equal(t, 520*us, l.Snapshot().Target)
}

// The current delay is the least of the last few.
func TestLEDBATFilter(t *testing.T) {
	l := make1[*LEDBAT](t, "ledbat-dc:target=20us,base=10us,init_cwnd=10", everything)
	for _, delay := range []units.Duration{90, 30, 90, 90} {
		l.On(rtt(delay*us, 0), at(1))
	}
	assert.Equal(t, 30*us, l.filter.least())
	l.On(rtt(90*us, 0), at(1))
	assert.Equal(t, 30*us, l.filter.least(), "four are kept, not three")
	l.On(rtt(90*us, 0), at(1))
	assert.Equal(t, 90*us, l.filter.least())
}

// The RFC does not limit a cut; LEDBAT++ does.
func TestLEDBATCappedDecrease(t *testing.T) {
	l := ledbat20(t, ",cap_decrease=on")
	l.On(queued(70*us), at(2))
	assert.InDelta(t, 9.9, l.cwnd, 1e-9)
}

// The window of a flow that sends less than its window may not grow far beyond that.
func TestLEDBATAllowedIncrease(t *testing.T) {
	l := ledbat20(t, "")
	ev := queued(0)
	ev.InFlight = 2000
	for psn := uint32(1); psn < 3; psn++ { // each a round trip
		assert.InDelta(t, 10, l.cwnd, 0.2, "ten were in flight not long ago")
		ev.PSN, ev.SndNxt = psn, psn
		l.On(ev, at(2))
	}
	assert.InDelta(t, 4, l.cwnd, 1e-9, "three were")
}

// Errors of papers and public implementations, each avoided.

// The delay may be below the base: off is then limited to 1.
func TestLEDBATNegativeQueueIsCapped(t *testing.T) {
	l := make1[*LEDBAT](t, "ledbat-dc:target=20us,base=50us,init_cwnd=10", everything)
	l.On(rtt(5*us, 1), at(1))
	assert.InDelta(t, 10.1, l.cwnd, 1e-9)
}

// A route that becomes longer raises the base: it must not look like a queue for ever.
func TestLEDBATBaseExpires(t *testing.T) {
	l := ledbat20(t, ",base_history=3")
	now := at(2)
	for range 4 {
		now = now.Add(units.Minute)
		l.On(queued(70*us), now)
	}
	assert.Equal(t, 80*us, l.history.least())
}

// A latecomer measures a base that includes the queue it finds: it has an advantage, unless the
// base is configured.
func TestLEDBATLatecomer(t *testing.T) {
	late := make1[*LEDBAT](t, "ledbat:target=20us", everything)
	ev := rtt(60*us, 1)
	ev.InFlight = 9000
	late.On(ev, at(1))
	assert.Greater(t, late.cwnd, 2.0)
	dc := make1[*LEDBAT](t, "ledbat-dc:target=20us,base=10us", everything)
	before := dc.cwnd
	dc.On(ev, at(1))
	assert.Less(t, dc.cwnd, before)
}

// Some configurations keep the target of 100 ms for the Internet: queues of a data centre are much
// shorter.
func TestLEDBATTargetOfADataCentre(t *testing.T) {
	dc := make1[*LEDBAT](t, "ledbat-dc", everything)
	assert.Equal(t, everything.BaseRTT+6*us, dc.Snapshot().Target)
}

// With a window below a packet, one packet is sent per rtt/w; otherwise an incast keeps two packets
// of each flow.
func TestLEDBATBelowOnePacket(t *testing.T) {
	l := make1[*LEDBAT](t, "ledbat-dc:min_cwnd=0.1,init_cwnd=1,base=10us,target=20us", everything)
	for range 100 {
		l.On(rtt(500*us, 1), at(1))
	}
	assert.InDelta(t, 0.1, l.cwnd, 1e-9)
	assert.NotZero(t, l.decide().Rate)
	for range 4 { // the filter
		l.cwnd = 0.1
		l.On(rtt(10*us, 1), at(1))
	}
	assert.InDelta(t, 1.1, l.cwnd, 1e-9, "a packet a round trip, not ten")
}
