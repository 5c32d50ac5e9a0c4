package fabric_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/units"
)

// TestTokensOfTwoPriorities checks that token queues of several priorities share one limit in
// strict priority.
func TestTokensOfTwoPriorities(t *testing.T) {
	token := wireBytes(60)
	const share = 0.0518
	for _, c := range []struct {
		high       float64 // tokens of the higher priority that arrive, of the share
		highs, low float64 // of the share
	}{{1.5, 1, 0}, {0.5, 0.5, 0.5}} {
		n := fabric.Star(fabric.Parts{Switch: fabric.TokenSwitch{Tokens: []int{4, 5}, Token: token,
			Data: 1538}.Config()}, 4, fabric.Link{Rate: 100 * units.Gbps})
		// Half as much again as the share is a backlog that memory has room for: a switch without
		// a limit of its buffer keeps every frame.
		offer := func(host int, of float64, dscp uint8) {
			at, gap := units.Time(0),
				(100 * units.Gbps).Duration(units.Bytes(float64(token)/share/of))
			openloop.Put(n, n.Host(host), func() (openloop.Frame, bool) {
				at = at.Add(gap)
				return openloop.Frame{At: at, Len: 60, Dst: 3, DSCP: dscp}, true
			}, nil)
		}
		offer(0, c.high, 44)
		offer(1, 1.5, 36)
		openloop.Put(n, n.Host(2), backlog(openloop.Frame{Len: 1500, Dst: 3}, 0), nil)
		openloop.Put(n, n.Host(3), nil, nil)
		run(t, n, span())
		out := n.Switches()[0].Ports()[3]
		of := func(queue int) float64 {
			return float64(out.QueueStats(queue).Frames) * float64(token) * 8 / span().Seconds() /
				100e9 / (84. / (84 + 1538))
		}
		assert.InDelta(t, c.highs, of(5), 0.01)
		assert.InDelta(t, c.low, of(4), 0.01)
	}
}

// TestTokensAfterAPause checks that after an idle time two tokens leave together, and that the next
// ones are spaced by their share, with preamble and gap.
func TestTokensAfterAPause(t *testing.T) {
	token := wireBytes(60)
	n := fabric.New(fabric.Config{})
	s := n.AddSwitch("switch", fabric.TokenSwitch{Tokens: []int{5}, Token: token,
		Data: 1538}.Config())
	n.Connect(n.AddHost(fabric.HostConfig{TxDepth: 100}), s, fabric.Link{Rate: 800 * units.Gbps})
	n.Connect(n.AddHost(fabric.HostConfig{}), s, fabric.Link{Rate: 100 * units.Gbps})
	sent := 0
	openloop.Put(n, n.Host(0), func() (openloop.Frame, bool) {
		sent++
		// ten every 100 µs
		at := units.Time(units.Duration(1+(sent-1)/10) * 100 * units.Microsecond)
		return openloop.Frame{At: at, Len: 60, Dst: 1, DSCP: 44}, sent <= 30
	}, nil)
	var came []units.Time
	openloop.Put(n, n.Host(1), nil, func(a openloop.Arrival) { came = append(came, a.Arrived) })
	run(t, n, units.Millisecond)
	require.Len(t, came, 30)
	alone, apart := (100 * units.Gbps).Duration(token), (100 * units.Gbps).Duration(token+1538)
	for i := range 29 {
		switch gap := came[i+1].Sub(came[i]).Nanoseconds(); i % 10 {
		case 9:
		case 0:
			assert.InDelta(t, alone.Nanoseconds(), gap, 0.01, "token %d", i)
		case 1: // the second left after the first, whose time counts
			assert.InDelta(t, (apart - alone).Nanoseconds(), gap, 7, "token %d", i)
		default:
			assert.InDelta(t, apart.Nanoseconds(), gap, 0.01, "token %d", i)
		}
	}
}

// TestTokenSwitches checks the parameters of the papers' switches.
func TestTokenSwitches(t *testing.T) {
	at := func(s fabric.TokenSwitch, rate units.BitRate) fabric.Queues {
		return s.Config().Queues(rate)
	}
	q := at(fabric.ToCCSwitch(84, 1538), 100*units.Gbps)
	assert.InDelta(t, 0.0518, q[5].Share, 0.00005)
	assert.EqualValues(t, 14, q[5].ECN.Kmin/64, "as many tokens as 14.3 packets of data")
	assert.EqualValues(t, 55, q[5].ECN.Kmax/64)
	assert.Equal(t, fabric.ECN{Kmin: 22_000, Kmax: 85_000, Pmax: 0.2}, q[0].ECN)
	assert.Zero(t, q[5].Limit, "they queue")
	q = at(fabric.ToCCSwitch(94, 4440), 10*units.Gbps)
	assert.InDelta(t, 0.0207, q[5].Share, 0.00005)
	assert.Equal(t, fabric.ECN{Kmin: 2200, Kmax: 8500, Pmax: 0.2}, q[0].ECN)
	half := fabric.ToCCSwitch(84, 1538)
	half.TokenECN = 0.5
	assert.EqualValues(t, 7, at(half, 100*units.Gbps)[5].ECN.Kmin/64)

	q = at(fabric.ExpressPassSwitch(84, 1538), 10*units.Gbps)
	assert.EqualValues(t, 8*64, q[5].Limit)
	assert.InDelta(t, 64_734_895*8/1e10, q[5].Share, 0.0001, "of the ns-2 scripts")
	assert.Zero(t, q[5].ECN)
	assert.Zero(t, q[0].SelectiveDrop)
	assert.EqualValues(t, 8000, at(fabric.ExpressPassSwitch(84, 1538).WithAeolus(),
		10*units.Gbps)[0].SelectiveDrop)

	homa := fabric.HomaSwitch().Config()
	assert.EqualValues(t, 35_000_000, homa.Buffer)
	for i, q := range homa.Queues(100 * units.Gbps) {
		assert.Equal(t, fabric.Queue{}, q, "queue %d is a plain priority queue", i)
	}

	q = at(fabric.NDPSwitch(1538, 57), 100*units.Gbps)
	assert.EqualValues(t, 8*1518, q[0].Trim)
	assert.EqualValues(t, 8*1518, q[7].Limit)
	assert.EqualValues(t, 57, q[0].TrimDSCP)
	assert.Zero(t, q[7].Trim)

	for name, s := range map[string]fabric.TokenSwitch{
		"ToCC": fabric.ToCCSwitch(84, 1538), "ExpressPass": fabric.ExpressPassSwitch(84,
			1538).WithAeolus(), "Homa": fabric.HomaSwitch(), "NDP": fabric.NDPSwitch(1538, 57),
	} {
		require.NoError(t, fabric.Star(fabric.Parts{Switch: s.Config()}, 2,
			fabric.Link{Rate: units.Gbps}).Build(), name)
	}
}

// TestCreditsAreDropped checks that of a burst of credits one leaves at once and eight wait
// (ExpressPass).
func TestCreditsAreDropped(t *testing.T) {
	frames := make([]openloop.Frame, 30)
	for i := range frames {
		frames[i] = openloop.Frame{Len: 60, DSCP: 44}
	}
	qs := fabric.ExpressPassSwitch(84, 1538).Config().Queues(units.Gbps)
	n, _, got := burstIn(t, 1, qs, frames...)
	assert.Equal(t, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}, tags(got))
	assert.EqualValues(t, 21, n.Switches()[0].Ports()[1].QueueStats(5).Dropped)
}

func TestImpossibleGroups(t *testing.T) {
	for _, c := range []struct {
		qs   fabric.Queues
		says string
	}{
		{fabric.Queues{4: {Share: 0.1, Group: 1}, 5: {Share: 0.2, Group: 1}},
			"queues 4 and 5 of one group differ"},
		{fabric.Queues{4: {Share: 0.1, Burst: 2, Group: 1}, 5: {Share: 0.1, Burst: 3, Group: 1}},
			"queues 4 and 5 of one group differ"},
		{fabric.Queues{4: {Group: 1}}, "group 1 with no Share"},
		{fabric.Queues{4: {Group: -1}}, "negative"},
	} {
		n := fabric.Star(fabric.Parts{Switch: fabric.SwitchConfig{Queues: c.qs.At()}}, 2,
			fabric.Link{Rate: units.Gbps})
		require.ErrorContains(t, n.Build(), c.says)
	}
}
