package tocc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// The example has 10 Gb/s, at most 64 734 895 B/s of credits, and a round trip of 259.52 us with
// 100 credits.
func TestFeedback(t *testing.T) {
	const rtt = 259520 * units.Nanosecond
	begin := func(paper bool) *feedback {
		return &feedback{paper: paper, target: 0.125, wMin: 0.01, wMax: 0.5, max: 64734895,
			cur: 64734895. / 2, w: 0.5, credit: 84}
	}
	f := begin(false)
	f.addSample(100, 20)
	f.update(rtt, units.Time(rtt))
	assert.InDelta(t, 27_512_330, f.cur, 1)
	assert.Equal(t, 0.25, f.w)

	f = begin(false)
	f.addSample(100, 5)
	f.update(rtt, units.Time(rtt))
	assert.InDelta(t, 48_551_171, f.cur, 1)
	assert.Equal(t, 0.5, f.w)
	f.update(rtt, units.Time(2*rtt))
	assert.InDelta(t, 48_551_171, f.cur, 1, "no credits counted")
	f.addSample(100, 0)
	f.update(rtt, units.Time(2*rtt-1))
	assert.InDelta(t, 48_551_171, f.cur, 1, "within a round trip")
	f.update(rtt, units.Time(2*rtt))
	assert.InDelta(t, 56_643_033, f.cur, 1)

	f = begin(false)
	f.addSample(10, 10)
	f.update(rtt, units.Time(rtt))
	assert.InDelta(t, 84/rtt.Seconds(), f.cur, 1, "all lost: one in a round trip")

	// the paper: rate·(1 - loss)·(1 + target), then (1 - w)·rate + w·max·(1 + target)
	f = begin(true)
	f.addSample(100, 20)
	f.update(rtt, units.Time(rtt))
	assert.InDelta(t, 64734895./2*0.8*1.125, f.cur, 1)
	assert.Equal(t, 0.25, f.w)
	f.addSample(100, 0)
	f.update(rtt, units.Time(2*rtt))
	assert.InDelta(t, 0.75*64734895./2*0.8*1.125+0.25*64734895*1.125, f.cur, 1)
	f.addSample(100, 0)
	f.update(rtt, units.Time(3*rtt))
	assert.Equal(t, 0.375, f.w, "half of what is left to w_max")
}

func creditsOf(t *testing.T, text string) *CreditReceiver {
	_, granter, err := parse(t, text).New(paper)
	require.NoError(t, err)
	return granter.(*CreditReceiver)
}

// Credits begin with a request, at alpha of the largest rate, or less for a flow of fewer than 40
// packets, and end with a stop.
func TestCreditsFromRequestToStop(t *testing.T) {
	for _, c := range []struct {
		text    string
		packets int
		rate    float64
	}{{"expresspass:jitter=0", 100, 0.5}, {"expresspass:jitter=0", 10, 0.125},
		{"expresspass:jitter=0,alpha=1", 40, 1}, {"expresspass:jitter=0,cc=none", 1, 1}} {
		r := creditsOf(t, c.text)
		assert.Zero(t, r.Next())
		require.NoError(t, r.Receive(rts(units.Bytes(c.packets)*pkt, 0), 1))
		assert.InDelta(t, c.rate, r.Rate(), 1e-9, "%s, %d packets", c.text, c.packets)
		n, ok := r.Emit(false, 1)
		require.True(t, ok)
		assert.Equal(t, cc.FlagSingle, n.Flags)
		assert.EqualValues(t, pkt, n.Limit)
		assert.EqualValues(t, 1550, n.Releases)
		// at the largest rate tokens and data fill the line
		gap := float64(94+1550) * 8 / 100e9 / c.rate
		assert.InDelta(t, gap, r.Next().Sub(1).Seconds(), 1e-12)
		_, ok = r.Emit(false, r.Next()-1)
		assert.False(t, ok)
		stop := rts(5*pkt, 5*pkt)
		stop.Flags = cc.FlagEnd
		require.NoError(t, r.Receive(stop, 2))
		assert.Zero(t, r.Next())
	}
	assert.Equal(t, 8, creditsOf(t, "ep").QueueCapacity())
}

// The number that data echoes identifies the lost credits; late and duplicated ones count for
// nothing.
func TestCreditLoss(t *testing.T) {
	r := creditsOf(t, "expresspass:jitter=0,alpha=1")
	require.NoError(t, r.Receive(rts(100*pkt, 0), 1))
	now := units.Time(1)
	for range 10 {
		now = r.Next()
		_, ok := r.Emit(false, now)
		require.True(t, ok)
	}
	for _, number := range []uint16{1, 2, 5, 4, 5, 9, 200} {
		r.Arrived(&cc.Arrival{Bytes: pkt, Set: cc.MarkGrant, Grant: number}, now)
	}
	assert.Equal(t, 9., r.rate.total)
	assert.Equal(t, 5., r.rate.dropped, "3, 4, 6, 7 and 8")
	assert.EqualValues(t, 5, r.Stats().Lost)
}

// Unscheduled packets have a field for the number of a credit that does not count, also before the
// first RTS arrives.
func TestUnscheduledPacketsSpendNoCredit(t *testing.T) {
	r := creditsOf(t, "expresspass+aeolus")
	now := units.Time(units.Second)
	for range 3 {
		r.Arrived(&cc.Arrival{Bytes: pkt, Set: cc.MarkGrant | cc.MarkUnscheduled}, now)
	}
	assert.Equal(t, paper.BaseRTT, r.srtt)
	assert.Zero(t, r.rate.total)
	assert.EqualValues(t, 3*pkt, r.Stats().Unscheduled)
}

// Intervals between credits differ by at most a tenth, and between flows.
func TestJitter(t *testing.T) {
	var gaps [2][]float64
	for i := range gaps {
		path := paper
		path.Seed = uint32(i)
		_, granter, err := parse(t, "expresspass:alpha=1").New(path)
		require.NoError(t, err)
		require.NoError(t, granter.Receive(rts(1000*pkt, 0), 1))
		for range 100 {
			at := granter.Next()
			_, ok := granter.Emit(false, at)
			require.True(t, ok)
			gaps[i] = append(gaps[i], granter.Next().Sub(at).Seconds()/131.52e-9)
		}
	}
	assert.NotEqual(t, gaps[0], gaps[1])
	for _, g := range gaps[0] {
		assert.InDelta(t, 1, g, 0.1001)
	}
}

// A silent sender gets no credits for longer than 2 ms.
func TestCreditsEndInSilence(t *testing.T) {
	r := creditsOf(t, "expresspass:cc=none")
	require.NoError(t, r.Receive(rts(100*pkt, 0), 1))
	var last units.Time
	for r.Next() != 0 {
		last = r.Next()
		r.Emit(false, last)
	}
	assert.InDelta(t, 2e-3, last.Sub(1).Seconds(), 1e-6)
}

// A credit admits one packet, which echoes its number; one that arrives when nothing is left is
// wasted.
func TestCreditSender(t *testing.T) {
	d := newDesk(t, "expresspass")
	credit := func(number uint16) {
		n := cc.ControlMessage{Kind: cc.TOKEN, Flags: cc.FlagSingle, Limit: pkt, Seq: number}
		require.NoError(t, d.gate.Receive(&n, d.backlog(), d.now))
	}
	d.post(3)
	assert.Empty(t, d.take())
	d.checkRTS(3, 0, 0, 0)
	for i := range uint16(2) {
		credit(7 + i)
		marks := d.take()
		require.Len(t, marks, 1)
		assert.Equal(t, cc.Marks{Set: cc.MarkGrant, Grant: 7 + i}, marks[0])
		if i == 0 {
			assert.Nil(t, d.rts(), "one arrival does not imply others in flight")
			d.wait(paper.BaseRTT)
		}
	}
	n := d.rts()
	require.NotNil(t, n,
		"a credit arrived in the last round trip, and one packet waits: an early stop")
	assert.Equal(t, cc.FlagEnd, n.Flags)
	credit(9)
	require.Len(t, d.take(), 1)
	d.rts()
	credit(10)
	assert.Nil(t, d.rts())
	d.wait(2 * paper.BaseRTT)
	n = d.rts()
	require.NotNil(t, n, "the stop may be lost")
	assert.Equal(t, cc.FlagEnd, n.Flags)
	assert.EqualValues(t, pkt, d.gate.(*CreditSender).Stats().Unneeded)
	d.post(1)
	n = d.rts()
	require.NotNil(t, n, "data after a stop: a new request")
	assert.Zero(t, n.Flags)
}
