package transport

import (
	"bytes"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// reportLost makes the requester of a receive a report of n missing packets from first on. It
// returns how many more it then marks as lost.
func (p *pair) reportLost(a *side, first wire.PSN, n uint8) (lost int) {
	return p.reportLostAs(a, 0, first, n)
}

func (p *pair) reportLostAs(a *side, flags extension.TokenFlags, first wire.PSN,
	n uint8) (lost int) {
	if rec := a.qp.loss.recovery; rec != nil {
		lost -= rec.lost.len()
	}
	t := make(extension.Token, extension.TokenLen+extension.RangeLen)
	t.Set(0, 0, 1, flags, 0)
	t.SetRange(0, extension.Range{First: uint32(first), Count: n})
	p.a.now = p.now
	a.qp.loss.onLossReport(t)
	if rec := a.qp.loss.recovery; rec != nil {
		lost += rec.lost.len()
	}
	return lost
}

// len returns the number of members.
func (s *psnSet) len() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// lossReportPair is a connection whose requester has sent 100 to 109 after a round trip of 2 µs
// that it could measure; keeps returns whether a packet arrives.
func lossReportPair(t *testing.T, o sideOptions, keeps func(psn wire.PSN) bool) (p *pair,
	a, b *side) {
	o.timeout = 20 // four seconds
	o.psn = 99
	p, a, b, g, r := admittedPair(t, o)
	g.limit, r.demand, r.limit, r.arrived = 1<<30, 1<<30, 1<<30, 1<<30
	a.write(t, b, 10)
	p.await(a, 1)
	p.la.tamper = func(frame []byte) int {
		if q, ok := parsed(frame); ok && q.Op.Info().Kind == wire.Write && !keeps(q.PSN) {
			return 0
		}
		return 1
	}
	fill(a.mem, 3)
	a.write(t, b, 10240)
	p.settle(10 * units.Microsecond)
	return p, a, b
}

func TestLossReport(t *testing.T) {
	none := func(wire.PSN) bool { return false }
	p, a, b := lossReportPair(t, selective(), none)
	assert.Equal(t, 2*units.Microsecond, a.qp.adm.rtt.value)
	sent := func() uint64 { return p.a.counters.Retransmitted }

	for _, void := range []struct {
		first wire.PSN
		n     uint8
	}{{110, 255}, {90, 10}, {100 + 1<<23, 10}, {612, 1}, {105, 0}} {
		assert.Zero(t, p.reportLost(a, void.first, void.n), "%+v is not outstanding", void)
	}
	assert.Nil(t, a.qp.loss.recovery)

	assert.Equal(t, 3, p.reportLost(a, 103, 3))
	assert.Zero(t, p.reportLost(a, 103, 3), "lost already")
	p.settle(units.Microsecond)
	assert.EqualValues(t, 3, sent())
	assert.Equal(t, 4, p.reportLost(a, 102, 7),
		"102, and 106 to 108: the others left a microsecond ago")
	p.settle(units.Microsecond)
	assert.EqualValues(t, 7, sent())
	assert.Equal(t, 1, p.reportLostAs(a, extension.TokenTrimmed, 103, 1),
		"trimmed again: lost for certain")
	p.settle(units.Microsecond)
	assert.EqualValues(t, 8, sent())
	p.settle(4 * units.Microsecond)
	assert.Equal(t, 2, p.reportLost(a, 98, 4), "100 and 101, reported for the first time")
	assert.Equal(t, 3, p.reportLost(a, 103, 3), "two round trips have passed")
	p.settle(units.Microsecond)
	assert.EqualValues(t, 13, sent())

	p.la.tamper = nil
	p.settle(8 * units.Microsecond)
	assert.Equal(t, 10, p.reportLost(a, 100, 10))
	p.await(a, 1)
	assert.True(t, bytes.Equal(a.mem[:10240], b.mem[:10240]))
	assert.Zero(t, p.a.counters.Timeouts)
	assert.Nil(t, a.qp.loss.recovery)
	p.conserved()
}

// What a SACK reported as arrived is not retransmitted, whatever a list reports.
func TestLossReportExcludesSACKed(t *testing.T) {
	p, a, b := lossReportPair(t, selective(), func(psn wire.PSN) bool {
		return psn == 104 || psn == 107
	})
	assert.EqualValues(t, 6, p.a.counters.Retransmitted, "as the SACK reported")
	p.la.tamper = nil
	assert.Equal(t, 4, p.reportLost(a, 104, 6), "105, 106, 108 and 109: the others have arrived")
	assert.Equal(t, 4, p.reportLost(a, 100, 8), "100 to 103: the others arrived, or are lost")
	p.await(a, 1)
	assert.True(t, bytes.Equal(a.mem[:10240], b.mem[:10240]))
	assert.Zero(t, p.a.counters.Timeouts)
	p.conserved()
}

// A peer that reports what it misses is alive: a packet may be lost more often than retry_cnt.
func TestLossReportCostsNoRetry(t *testing.T) {
	o := selective()
	o.retries = 1
	p, a, b := lossReportPair(t, o, func(wire.PSN) bool { return false })
	for range 20 {
		require.Equal(t, 1, p.reportLost(a, 100, 1))
		p.settle(5 * units.Microsecond)
	}
	assert.EqualValues(t, 20, p.a.counters.Retransmitted)
	p.la.tamper = nil
	require.Equal(t, 10, p.reportLost(a, 100, 10))
	p.await(a, 1)
	assert.True(t, bytes.Equal(a.mem[:10240], b.mem[:10240]))
	p.conserved()
}

// But a path that always loses it is not tried for ever: each timeout of reports costs a retry.
func TestLossReportsCostRetries(t *testing.T) {
	o := selective()
	o.retries = 1
	p, a, _ := lossReportPair(t, o, func(wire.PSN) bool { return false })
	timeout, lists := a.qp.loss.timeout, 0
	for ; a.qp.state == ReadyToSend && lists < 100; lists++ {
		p.reportLost(a, 100, 1)
		p.settle(timeout / 8)
	}
	assert.Equal(t, Errored, a.qp.state)
	assert.EqualValues(t, 1, p.a.counters.RetriesExceeded)
	assert.InDelta(t, 2*8, lists, 2, "two timeouts: the first try and one retry")
}

// A NAK of the oldest packet may have crossed its retransmission: it costs no retry. What is lost
// again costs one when the timer expires.
func TestNakThatCrossesARetransmissionCostsNoRetry(t *testing.T) {
	o := selective()
	o.retries = 0
	p, a, _ := lossReportPair(t, o, func(wire.PSN) bool { return false })
	require.Equal(t, 1, p.reportLost(a, 100, 1))
	p.settle(units.Microsecond)
	require.EqualValues(t, 1, p.a.counters.Retransmitted)
	p.a.now = p.now
	a.qp.loss.receiveSequenceNak(100, &ackInfo{now: p.now, end: 100})
	assert.Equal(t, ReadyToSend, a.qp.state)
	p.settle(2 * a.qp.loss.timeout)
	assert.Equal(t, Errored, a.qp.state)
}

// Where the network reorders, a list is like a SACK: its packets may still arrive.
func TestLossReportWhereTheNetworkReorders(t *testing.T) {
	o := selective()
	o.reordering = 20 * units.Microsecond
	p, a, b := lossReportPair(t, o, func(wire.PSN) bool { return false })
	for range 5 {
		assert.Zero(t, p.reportLost(a, 103, 3))
		p.settle(3 * units.Microsecond)
	}
	assert.Zero(t, p.a.counters.Retransmitted)
	p.la.tamper = nil
	p.settle(12 * units.Microsecond) // 27 µs since the list, and the quarter that may be added
	assert.EqualValues(t, 3, p.a.counters.Retransmitted)
	p.reportLost(a, 100, 10)
	p.await(a, 1)
	assert.EqualValues(t, 10, p.a.counters.Retransmitted)
	assert.True(t, bytes.Equal(a.mem[:10240], b.mem[:10240]))
	assert.Zero(t, p.a.counters.Timeouts)
	p.conserved()
}

func TestLossReportNeedsSelectiveRepeat(t *testing.T) {
	p, a, _ := lossReportPair(t, defaults(), func(wire.PSN) bool { return false })
	assert.Zero(t, p.reportLost(a, 100, 10))
	assert.Nil(t, a.qp.loss.recovery)
}

// However often a TOKEN lists packets, each of them is looked at once, and packets that are not
// outstanding never.
func TestOverlappingLists(t *testing.T) {
	const window = 10 // 100 to 109 are outstanding
	full := make([]extension.Range, extension.MaxRanges)
	for i := range full {
		full[i] = extension.Range{First: 80, Count: 255}
	}
	for _, c := range []struct {
		name   string
		ranges []extension.Range
		lost   int
	}{
		{"apart", []extension.Range{{First: 101, Count: 2}, {First: 105, Count: 1}}, 3},
		{"the same twice", []extension.Range{{First: 101, Count: 2}, {First: 101, Count: 2}}, 2},
		{"one goes on where the other ends",
			[]extension.Range{{First: 101, Count: 4}, {First: 103, Count: 4}}, 6},
		{"descending", []extension.Range{{First: 105, Count: 2}, {First: 101, Count: 2}}, 2},
		{"before what is outstanding", []extension.Range{{First: 90, Count: 10}}, 0},
		{"as much as fits", full, window},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := defaults()
			o.sack = 256
			p, a, _ := lossReportPair(t, o, func(wire.PSN) bool { return false })
			f := make(extension.Token, extension.TokenLen+extension.RangeLen*len(c.ranges))
			f.Set(0, 0, len(c.ranges), 0, 0)
			for i, l := range c.ranges {
				f.SetRange(i, l)
			}
			looked, from := 0, a.qp.loss.una
			for i := range c.ranges {
				first, end := a.qp.loss.outstandingPart(f.Range(i), from)
				looked += int(end.Sub(first))
				from = end
			}
			require.Equal(t, c.lost, looked)
			p.a.now = p.now
			a.qp.loss.onLossReport(f)
			if c.lost == 0 {
				require.Nil(t, a.qp.loss.recovery)
				return
			}
			require.Equal(t, c.lost, a.qp.loss.recovery.lost.len())
		})
	}
}
