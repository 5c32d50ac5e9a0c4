package fabric_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/units"
)

// TestDynamicThreshold checks that each of k congested queues takes α/(1+kα) of the buffer
// (Choudhury and Hahne).
func TestDynamicThreshold(t *testing.T) {
	const buffer = 1_000_000
	for _, c := range []struct {
		alpha     float64
		congested int
	}{{1, 1}, {1, 2}, {0.25, 1}, {0.125, 3}, {8, 1}} {
		var qs fabric.Queues
		qs[0] = fabric.Queue{Alpha: c.alpha}
		hosts := 3 * c.congested
		n := fabric.Star(fabric.Parts{Host: fabric.HostConfig{TxDepth: 8},
			Switch: fabric.SwitchConfig{Buffer: buffer, Queues: qs.At()}}, hosts,
			fabric.Link{Rate: 100 * units.Gbps})
		for i := range c.congested { // two senders per receiver
			openloop.Put(n, n.Host(3*i), backlog(openloop.Frame{Len: 1082, Dst: 3*i + 2}, 0), nil)
			openloop.Put(n, n.Host(3*i+1), backlog(openloop.Frame{Len: 1082, Dst: 3*i + 2}, 0), nil)
			openloop.Put(n, n.Host(3*i+2), nil, nil)
		}
		run(t, n, 2*units.Millisecond)
		want := c.alpha / (1 + float64(c.congested)*c.alpha) * buffer
		for i := range c.congested {
			st := n.Switches()[0].Ports()[3*i+2].QueueStats(0)
			assert.InDelta(t, want, float64(st.Longest), 0.02*want+2*float64(stored(1082)),
				"alpha %v, %d queues", c.alpha, c.congested)
			assert.NotZero(t, st.Dropped)
		}
	}
}

// TestEgressThreshold tests an egress threshold of 8 times the free buffer, that is 8/9 of the
// buffer. k senders with α are paused at kα/(1+kα) of the buffer, so from 9 senders with α 1 on
// the queue loses frames although the buffer has room (ByteTuning, case II). A smaller α pauses
// earlier.
func TestEgressThreshold(t *testing.T) {
	const buffer, headroom = 2_000_000, 50_000
	for _, c := range []struct {
		alpha   float64
		senders int
		lost    bool
	}{{1, 2, false}, {1, 6, false}, {1, 12, true}, {1, 24, true}, {1. / 16, 24, false}} {
		qs := fabric.Queues{{Lossless: true, Alpha: c.alpha, Egress: 8, Headroom: headroom}}
		kept := units.Bytes(c.senders+1) * headroom
		n := fabric.Star(fabric.Parts{Host: fabric.HostConfig{TxDepth: 8},
			Switch: fabric.SwitchConfig{Buffer: buffer + kept, Queues: qs.At()}},
			c.senders+1, fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
		for i := range c.senders {
			openloop.Put(n, n.Host(i), backlog(openloop.Frame{Len: 1082, Dst: c.senders}, 0), nil)
		}
		openloop.Put(n, n.Host(c.senders), nil, nil)
		run(t, n, units.Millisecond)
		var refused uint64
		for _, p := range n.Switches()[0].Ports() {
			refused += p.QueueStats(0).Refused
		}
		st := n.Switches()[0].Ports()[c.senders].QueueStats(0)
		assert.Equal(t, st.Dropped, refused)
		assert.Equal(t, c.lost, st.Dropped > 0, "alpha %v, %d senders", c.alpha, c.senders)
		assert.Less(t, n.Switches()[0].Stats().Fullest, units.Bytes(buffer))
	}
}

// burst sends frames to the switch practically at once, and returns the counters of the receiver's
// queue and the frames received.
func burst(t *testing.T, q fabric.Queue, frames ...openloop.Frame) (*fabric.Network,
	fabric.QueueStats, []openloop.Arrival) {
	return burstOf(t, 0, q, frames...)
}

// burstOf is burst with a seed.
func burstOf(t *testing.T, seed uint64, q fabric.Queue, frames ...openloop.Frame) (*fabric.Network,
	fabric.QueueStats, []openloop.Arrival) {
	return burstIn(t, seed, fabric.Queues{q}, frames...)
}

func burstIn(t *testing.T, seed uint64, qs fabric.Queues,
	frames ...openloop.Frame) (*fabric.Network, fabric.QueueStats, []openloop.Arrival) {
	n := fabric.New(fabric.Config{Seed: seed})
	s := n.AddSwitch("switch", fabric.SwitchConfig{Queues: qs.At()})
	n.Connect(n.AddHost(fabric.HostConfig{TxDepth: 1000}), s, fabric.Link{Rate: 800 * units.Gbps})
	n.Connect(n.AddHost(fabric.HostConfig{}), s, fabric.Link{Rate: units.Gbps})
	i := 0
	openloop.Put(n, n.Host(0), func() (openloop.Frame, bool) {
		if i++; i > len(frames) {
			return openloop.Frame{}, false
		}
		f := frames[i-1]
		f.Dst, f.Tag = 1, uint64(i)
		return f, true
	}, nil)
	var got []openloop.Arrival
	openloop.Put(n, n.Host(1), nil, func(a openloop.Arrival) { got = append(got, a) })
	require.NoError(t, n.Run(units.Time(10*units.Millisecond)))
	return n, s.Ports()[1].QueueStats(0), got
}

func tags(as []openloop.Arrival) (tags []uint64) {
	for _, a := range as {
		tags = append(tags, a.Tag)
	}
	return tags
}

// TestSelectiveDrop checks that unscheduled packets, which are not ECN-capable, are dropped when
// the queue has reached the threshold without them, and that scheduled ones are not (Aeolus).
func TestSelectiveDrop(t *testing.T) {
	const notECT, ect = 0, 2
	// 1500 bytes stored
	full := func(ecn uint8) openloop.Frame { return openloop.Frame{Len: 1496, ECN: ecn} }
	// The first frame leaves at once; then the queue holds 0, 1500, 3000 … bytes.
	_, st, got := burst(t, fabric.Queue{SelectiveDrop: 8000},
		full(ect), full(ect), full(ect), full(ect), full(ect), full(ect), // 7500 wait
		full(notECT), // 7500 < 8000: accepted, 9000 wait
		full(notECT), // dropped
		full(ect),    // accepted
		full(notECT)) // dropped
	assert.Equal(t, []uint64{1, 2, 3, 4, 5, 6, 7, 9}, tags(got))
	assert.EqualValues(t, 2, st.Selected)
	assert.Zero(t, st.Dropped)
}

// TestStepMarking checks DCTCP's step: exactly the ECN-capable packets that arrive at a queue at
// the threshold are marked.
func TestStepMarking(t *testing.T) {
	var frames []openloop.Frame
	for i := range 12 {
		// the last one is not ECN-capable
		frames = append(frames, openloop.Frame{Len: 1496, ECN: uint8(2 * (1 - i/11))})
	}
	_, st, got := burst(t, fabric.Queue{ECN: fabric.ECN{Kmin: 6000, Kmax: 6000}}, frames...)
	require.Len(t, got, 12)
	for i, a := range got {
		assert.Equal(t, i >= 5 && i < 11, a.CE, "packet %d finds %d bytes", i, max(0, i-1)*1500)
	}
	assert.EqualValues(t, 6, st.Marked)
	// At dequeue the departing packet is counted in the queue.
	_, st, got = burst(t, fabric.Queue{ECN: fabric.ECN{Kmin: 6000, Kmax: 6000, AtDequeue: true}},
		frames[:8]...)
	require.Len(t, got, 8)
	assert.EqualValues(t, 4, st.Marked) // 10 500, 9 000, 7 500 and 6 000 bytes
	assert.Equal(t, []bool{false, true, true, true, true, false, false, false},
		[]bool{got[0].CE, got[1].CE, got[2].CE, got[3].CE, got[4].CE, got[5].CE, got[6].CE,
			got[7].CE})
}

// TestMarkingByDSCP checks that frames of one queue are marked by the thresholds of their DSCP.
func TestMarkingByDSCP(t *testing.T) {
	var frames []openloop.Frame
	for i := range 12 {
		frames = append(frames, openloop.Frame{Len: 1496, ECN: 2, DSCP: uint8(i % 3)})
	}
	_, st, got := burst(t, fabric.Queue{
		ECN:   fabric.ECN{Kmin: 6000, Kmax: 6000},
		ECNOf: map[uint8]fabric.ECN{1: {Kmin: 12_000, Kmax: 12_000}, 2: {}},
	}, frames...)
	require.Len(t, got, 12)
	for i, a := range got {
		found := max(0, i-1) * 1500
		assert.Equal(t, a.DSCP == 0 && found >= 6000 || a.DSCP == 1 && found >= 12_000, a.CE,
			"packet %d of DSCP %d finds %d bytes", i, a.DSCP, found)
	}
	assert.EqualValues(t, 3, st.Marked)
}

func TestImpossibleQueues(t *testing.T) {
	for name, c := range map[string]struct {
		q    fabric.Queue
		says string
	}{
		"thresholds": {fabric.Queue{ECN: fabric.ECN{Kmin: 2, Kmax: 1}},
			"want 0 <= Kmin <= Kmax"},
		"probability": {fabric.Queue{ECN: fabric.ECN{Kmax: 1, Pmax: 2}}, "Pmax"},
		"a DSCP's": {fabric.Queue{ECNOf: map[uint8]fabric.ECN{3: {Kmin: 2, Kmax: 1}}},
			"DSCP 3: ECN thresholds 2 and 1"},
		"trim":     {fabric.Queue{Trim: 1, TrimTo: fabric.MaxQueues}, "queue 16"},
		"trimmed":  {fabric.Queue{Trim: 1, TrimDSCP: 64}, "TrimDSCP 64 out of range"},
		"share":    {fabric.Queue{Share: 1.5}, "share of the link"},
		"level":    {fabric.Queue{Share: 0.5, Level: 3}, "want its own level"},
		"negative": {fabric.Queue{Limit: -1}, "negative threshold"},
		"lossy":    {fabric.Queue{Egress: 8}, "lossy queue with Egress"},
		"buffer": {fabric.Queue{Lossless: true, Headroom: units.MiB},
			"less than the buffer"},
	} {
		t.Run(name, func(t *testing.T) {
			var qs fabric.Queues
			qs[2] = c.q
			n := fabric.Star(fabric.Parts{Switch: fabric.SwitchConfig{Buffer: units.MiB,
				Queues: qs.At()}}, 2, fabric.Link{Rate: units.Gbps})
			require.ErrorContains(t, n.Build(), c.says)
		})
	}
}

// TestHeadroomIsOfTheIngressPort checks that reserve and headroom are those of the ingress port: a
// fast port that sends to a slow one has the headroom for its own rate.
func TestHeadroomIsOfTheIngressPort(t *testing.T) {
	const frame = 1082
	delay := units.Microsecond
	n := fabric.New(fabric.Config{})
	s := n.AddSwitch("switch",
		fabric.SwitchConfig{Buffer: units.MiB, Queues: func(rate units.BitRate) (qs fabric.Queues) {
			qs[0] = fabric.Queue{Lossless: true, Limit: 20_000,
				Headroom: fabric.Headroom(rate, delay, delay, stored(frame), 480)}
			return qs
		}})
	n.Connect(n.AddHost(fabric.HostConfig{}), s, fabric.Link{Rate: 400 * units.Gbps, Delay: delay})
	n.Connect(n.AddHost(fabric.HostConfig{}), s, fabric.Link{Rate: 10 * units.Gbps, Delay: delay})
	openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: frame, Dst: 1}, 2000), nil)
	sink := openloop.Put(n, n.Host(1), nil, nil)
	require.NoError(t, n.Run(units.Time(5*units.Millisecond)))
	assert.EqualValues(t, 2000, sink.Received)
	assert.NotZero(t, s.Ports()[0].QueueStats(0).PausesSent)
	assert.Zero(t, s.Ports()[1].QueueStats(0).Dropped)
}

// TestFollow checks that the buffer space of a DSCP is counted separately from other frames.
func TestFollow(t *testing.T) {
	n := fabric.Star(fabric.Parts{}, 3,
		fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
	require.NoError(t, n.Build())
	sw := n.Switches()[0]
	followed, other := sw.Follow(1), sw.Follow(40)
	openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1082, Dst: 2, DSCP: 1}, 10), nil)
	openloop.Put(n, n.Host(1), backlog(openloop.Frame{Len: 1082, Dst: 2}, 10), nil)
	openloop.Put(n, n.Host(2), nil, nil)
	run(t, n, 100*units.Microsecond)
	assert.Zero(t, followed.Now)
	assert.InDelta(t, 5*1086, int64(followed.Most), 2*1086,
		"half of the excess of two links into one")
	assert.Zero(t, other.Most)
}
