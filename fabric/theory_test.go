package fabric_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/units"
)

// queueing sends the frames of eight Poisson sources with fast links into a slow link. It returns
// the measured mean waiting time in its queue, and the mean and mean square of the service time, in
// seconds.
func queueing(t testing.TB, seed uint64, load float64, packets int, mean int,
	exponential bool) (waited, service, square float64) {
	const sources = 8
	rate := units.Gbps
	p := fabric.Parts{Config: fabric.Config{Seed: seed, MTU: 65500},
		Host: fabric.HostConfig{TxDepth: 1 << 20}}
	n := fabric.New(p.Config)
	s := n.AddSwitch("switch", p.Switch)
	for range sources {
		n.Connect(n.AddHost(p.Host), s, fabric.Link{Rate: 800 * units.Gbps})
	}
	sink := n.AddHost(p.Host)
	n.Connect(sink, s, fabric.Link{Rate: rate})
	require.NoError(t, n.Build())
	rng := generator(seed)
	length := func() int {
		if !exponential {
			return mean - 24
		}
		return min(max(int(rng.ExpFloat64()*float64(mean))-24, openloop.MinLen), 65000)
	}
	gap := float64(rate.Duration(units.Bytes(mean))) * sources / load
	for i := range sources {
		at := units.Time(0)
		openloop.Put(n, n.Host(i), func() (openloop.Frame, bool) {
			at = at.Add(units.Duration(rng.ExpFloat64() * gap))
			return openloop.Frame{At: at, Len: length(), Dst: sources}, true
		}, nil)
	}
	var sumWait, sumService, sumSquare float64
	got := 0
	openloop.Put(n, sink, nil, func(a openloop.Arrival) {
		took := rate.Duration(wireBytes(a.Len))
		entered := a.Sent.Add((800 * units.Gbps).Duration(wireBytes(a.Len)))
		sumWait += a.Arrived.Sub(entered).Seconds() - took.Seconds()
		sumService += took.Seconds()
		sumSquare += took.Seconds() * took.Seconds()
		if got++; got == packets {
			n.Stop()
		}
	})
	require.ErrorIs(t, n.Run(units.Time(1000*units.Second)), fabric.ErrStopped)
	return sumWait / float64(got), sumService / float64(got), sumSquare / float64(got)
}

// loads returns the loads to measure; with the race detector only the lightest.
func loads(all ...float64) []float64 {
	if race.Short() {
		return all[:1]
	}
	return all
}

// span returns how long a link is kept busy.
func span() units.Duration {
	if race.Short() {
		return units.Millisecond
	}
	return 10 * units.Millisecond
}

// TestMD1 compares the mean waiting time with M/D/1: ρ/(2µ(1-ρ)).
func TestMD1(t *testing.T) {
	for _, load := range loads(0.3, 0.6, 0.8) {
		waited, service, _ := queueing(t, 1, load, 1_000_000, 1000, false)
		want := load * service / (2 * (1 - load))
		assert.InEpsilon(t, want, waited, 0.02, "load %v", load)
	}
}

// TestMM1 compares the mean waiting time with M/M/1: ρ/(µ(1-ρ)). Rounding to bytes and the
// minimum and maximum length reduce it by less than half a per cent.
func TestMM1(t *testing.T) {
	for _, load := range loads(0.3, 0.6, 0.75) {
		waited, service, square := queueing(t, 2, load, 1_500_000, 6000, true)
		rho := load * service / units.Gbps.Duration(6000).Seconds()
		want := rho * service / (1 - rho)
		assert.InEpsilon(t, want, waited, 0.02,
			"load %v, mean service %v, coefficient of variation² %v", load, service,
			square/service/service-1)
	}
}

func TestLineRateToTheByte(t *testing.T) {
	for _, c := range []struct {
		rate units.BitRate
		len  int
	}{{100 * units.Gbps, 1082}, {100 * units.Gbps, 60}, {400 * units.Gbps, 4154},
		{800 * units.Gbps, 256}, {25 * units.Gbps, 1500}, {units.Gbps, 1500}, {3 * units.Gbps,
			999}} {
		n := fabric.Star(fabric.Parts{}, 2, fabric.Link{Rate: c.rate, Delay: units.Microsecond})
		openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: c.len, Dst: 1}, 0), nil)
		sink := openloop.Put(n, n.Host(1), nil, nil)
		run(t, n, 100*units.Microsecond) // past the first frame's delay
		before := sink.Received
		window := span()
		run(t, n, window)
		sent := float64(sink.Received-before) * float64(wireBytes(c.len))
		// A frame on the wire at either end of the window counts as a whole or not at all.
		assert.InDelta(t, float64(c.rate.Bytes(window)), sent, float64(wireBytes(c.len)),
			"%v, frames of %d", c.rate, c.len)
	}
}

// TestREDCurve compares the frequency of marks at each queue length with the RED curve.
func TestREDCurve(t *testing.T) {
	ecn := fabric.ECN{Kmin: 50_000, Kmax: 150_000, Pmax: 0.4}
	var qs fabric.Queues
	qs[0] = fabric.Queue{Limit: 250_000, ECN: ecn}
	n := fabric.Star(fabric.Parts{Config: fabric.Config{Seed: 3},
		Host: fabric.HostConfig{TxDepth: 64}, Switch: fabric.SwitchConfig{Queues: qs.At()}}, 5,
		fabric.Link{Rate: 100 * units.Gbps})
	require.NoError(t, n.Build())
	rng := generator(3)
	// Four on-off sources vary the queue over all lengths.
	const frame = 996
	for i := range 4 {
		at, left := units.Time(0), 0
		openloop.Put(n, n.Host(i), func() (openloop.Frame, bool) {
			if left--; left <= 0 {
				left = 1 + rng.IntN(200)
				at = at.Add(units.Duration(rng.ExpFloat64() * float64(22*units.Microsecond)))
			}
			return openloop.Frame{At: at, Len: frame, Dst: 4, ECN: 2, Tag: uint64(i)}, true
		}, nil)
	}
	const bin = 10_000
	var seen, marked [25]int
	out := n.Switches()[0].Ports()[4]
	length, marks := units.Bytes(0), uint64(0)
	out.Watch(0, func(_ units.Time, now units.Bytes) {
		if now > length { // a frame arrived at a queue of this length
			seen[length/bin]++
			if m := out.QueueStats(0).Marked; m > marks {
				marked[length/bin]++
			}
		}
		length, marks = now, out.QueueStats(0).Marked
	})
	openloop.Put(n, n.Host(4), nil, nil)
	run(t, n, 6*span())
	for i := range seen {
		if seen[i] < 500 {
			continue
		}
		middle := (float64(i) + 0.5) * bin
		want := 0.0
		switch {
		case middle >= 150_000:
			want = 1
		case middle > 50_000:
			want = 0.4 * (middle - 50_000) / 100_000
		}
		assert.InDelta(t, want, float64(marked[i])/float64(seen[i]), 0.03+0.4*0.05,
			"at %d KB, %d frames", 10*i, seen[i])
	}
	assert.Greater(t, seen[10], 500, "the queue did not vary enough")
	assert.Greater(t, seen[18], 500, "the queue did not vary enough")
}

func TestDeficitRoundRobinShares(t *testing.T) {
	for _, weights := range [][]int{{1, 1}, {1, 2, 5}, {10, 1, 1, 1}} {
		var qs fabric.Queues
		total := 0
		for i, w := range weights {
			qs[i] = fabric.Queue{Level: 1, Weight: w, Limit: 500_000}
			total += w
		}
		n := fabric.Star(fabric.Parts{Switch: fabric.SwitchConfig{Queues: qs.At()}}, len(weights)+1,
			fabric.Link{Rate: 100 * units.Gbps})
		sink := len(weights)
		lengths := []int{1496, 300, 4000, 77} // shares are of bytes, for any frame lengths
		for i := range weights {
			openloop.Put(n, n.Host(i),
				backlog(openloop.Frame{Len: lengths[i], Dst: sink, DSCP: uint8(8 * i)}, 0), nil)
		}
		openloop.Put(n, n.Host(sink), nil, nil)
		run(t, n, span())
		out := n.Switches()[0].Ports()[sink]
		for i, w := range weights {
			st := out.QueueStats(i)
			share := float64(st.Frames) * float64(wireBytes(lengths[i])) /
				float64(out.Stats().Bytes)
			assert.InDelta(t, float64(w)/float64(total), share, 0.01, "weights %v, queue %d",
				weights, i)
		}
	}
}

// TestTokenLimiter checks that a token queue gets token/(token+data) of the link, also when the
// link is otherwise idle.
func TestTokenLimiter(t *testing.T) {
	token, data := wireBytes(60), wireBytes(1534)
	share := float64(token) / float64(token+data)
	for _, busy := range []bool{false, true} {
		var qs fabric.Queues
		qs[7] = fabric.Queue{Share: share, Limit: 10_000}
		qs[0] = fabric.Queue{Limit: 100_000}
		n := fabric.Star(fabric.Parts{Switch: fabric.SwitchConfig{Queues: qs.At()}}, 3,
			fabric.Link{Rate: 100 * units.Gbps})
		openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 60, Dst: 2, DSCP: 56}, 0), nil)
		if busy {
			openloop.Put(n, n.Host(1), backlog(openloop.Frame{Len: 1534, Dst: 2}, 0), nil)
		}
		openloop.Put(n, n.Host(2), nil, nil)
		run(t, n, span())
		out := n.Switches()[0].Ports()[2]
		got := float64(out.QueueStats(7).Frames) * float64(token) * 8 / span().Seconds()
		assert.InEpsilon(t, share*100e9, got, 0.01, "link otherwise busy: %v", busy)
		if busy {
			assert.InEpsilon(t, 1-share,
				float64(out.QueueStats(0).Frames)*float64(data)*8/span().Seconds()/100e9, 0.01)
		}
	}
}

// TestECMP checks that every path gets its share of many flows within four standard deviations, and
// that both directions of a flow use the same links.
func TestECMP(t *testing.T) {
	seed := testSeed(t)
	n := fabric.FatTree(4,
		fabric.Link{Rate: 100 * units.Gbps}).Build(fabric.Parts{Config: fabric.Config{Seed: seed}})
	require.NoError(t, n.Build())
	count := map[*fabric.Port]int{}
	const flows = 10_000
	for port := range uint16(flows) {
		there, back := n.Path(0, 15, 0xc000+port), n.Path(15, 0, 0xc000+port)
		require.Len(t, there, 6)
		for i := range there {
			require.Same(t, there[i], back[len(back)-1-i].Peer(), "port %d, hop %d", port, i)
		}
		count[there[2]]++ // aggregation to core: one of four
	}
	assert.Len(t, count, 4)
	for _, c := range count {
		assert.InDelta(t, flows/4, c, 4*math.Sqrt(flows*0.25*0.75))
	}
	other := fabric.FatTree(4,
		fabric.Link{Rate: 100 * units.Gbps}).Build(
		fabric.Parts{Config: fabric.Config{Seed: seed + 1}})
	moved := 0
	for port := range uint16(1000) {
		if n.Path(0, 15, port)[2].Peer() == nil || pathIndex(n, 0, 15, port) != pathIndex(other, 0,
			15, port) {
			moved++
		}
	}
	assert.Greater(t, moved, 500, "another seed must choose other paths")
}

// pathIndex returns the index of the core switch of a path.
func pathIndex(n *fabric.Network, src, dst int, port uint16) string {
	return n.Path(src, dst, port)[3].Node().String()
}
