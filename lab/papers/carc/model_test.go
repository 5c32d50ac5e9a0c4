package carclab

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/units"
)

// server returns four threads with an echo each, behind a link, and a cache that is smaller than
// their rings.
func server(t *testing.T, v variant, link units.BitRate, ticks int) *model {
	mc := machine{cache: hostmodel.Xeon4309Y, link: link, ring: 4096}
	mc.cache.Size /= 8
	var loads []load
	for i := range 4 {
		loads = append(loads, load{thread: i, packet: 256, answer: 256, ticks: ticks, flow: 1})
	}
	m, err := newModel(mc.with(v), v.scheme, loads)
	require.NoError(t, err)
	require.NoError(t, m.run(t.Context(), 3*ms))
	m.reset()
	require.NoError(t, m.run(t.Context(), 2*ms))
	return m
}

func (m *model) mpps() float64 { return float64(m.classes[0].packets) / (2 * ms).Seconds() / 1e6 }

// The slowest part sets the rate: the link, threads whose lines hit, threads whose lines miss.
func TestPace(t *testing.T) {
	ns := func(ticks int, lines units.Duration) float64 {
		return (perPacket + lines).Nanoseconds() + float64(ticks)/tickRate*1e9
	}
	constant := variant{name: "constant latency", constant: true}
	for _, c := range []struct {
		variant
		link  units.BitRate
		ticks int
		mpps  float64
	}{
		{plain, 10 * gbps, 0, 10e9 / ((256 + overhead) * 8) / 1e6},
		{withoutAny, 200 * gbps, 280, 4 / ns(280, lineHit) * 1e3},
		{constant, 200 * gbps, 280, 4 / ns(280, lineMiss) * 1e3},
		{plain.alone(), 200 * gbps, 280, 4 / ns(280, 4*lineMiss) * 1e3},
		{hostCC.alone(), 200 * gbps, 280, 4 / ns(280, 4*lineMiss) * 1e3},
	} {
		m := server(t, c.variant, c.link, c.ticks)
		assert.InEpsilon(t, c.mpps, m.mpps(), 0.03, "%v at %v", c.name, c.link)
	}
}

// Seven lines are waited for at a time, and one at least takes its whole latency.
func TestReading(t *testing.T) {
	m := &model{machine: machine{hit: 20, miss: 90, parallel: 7}}
	for _, c := range []struct{ hits, misses, want int }{{0, 0, 0}, {1, 0, 20}, {7, 0, 20},
		{14, 0, 40}, {1, 1, 90}, {7, 7, 110}, {0, 14, 180}} {
		assert.EqualValues(t, c.want, m.reading(c.hits, c.misses, 0), c)
	}
	m.parallel = 0
	assert.EqualValues(t, 110, m.reading(1, 1, 0), "one after the other")
}

// hostCC's I_T: an idle host holds 119 lines at the full rate of 200 Gb/s.
func TestHostThreshold(t *testing.T) {
	assert.InDelta(t, 119*70./65, hostThreshold(200*gbps), 1.5)
}

// Packets are at the server or in flight in either direction, and nowhere else; a ring never
// overflows, and credits keep unconsumed data within the cache.
func TestPacketConservation(t *testing.T) {
	for _, v := range []variant{plain, carcOf("rr"), carcOf("oneway"), carcOf("oneway").inFIFO()} {
		m := server(t, v, 100*gbps, 500)
		onTheWay := 0
		for _, p := range []*pipe{&m.toNIC, &m.toThread, &m.responses} {
			onTheWay += len(p.tags) - p.head
		}
		waits, out := 0, uint64(0)
		for _, th := range m.threads {
			waits += th.queue.Waiting()
			if th.busy {
				waits++
			}
		}
		for _, c := range m.conns {
			out += c.sent - c.answered
			assert.LessOrEqual(t, c.sent-c.answered, c.window)
		}
		assert.EqualValues(t, out, onTheWay+waits, v.name)
		if v.carc != "" {
			assert.LessOrEqual(t, m.most, m.cache.Size, v.name)
			assert.NotZero(t, m.most)
		}
	}
}

// hostCC's marks cut windows when the I/O controller is full: here because its threshold is low.
func TestMarksSlowSenders(t *testing.T) {
	mc := machine{cache: hostmodel.Xeon4309Y, link: 100 * gbps, ring: 4096, hit: lineHit,
		miss: lineMiss}
	rate := func(threshold int) float64 {
		var loads []load
		for i := range 8 {
			loads = append(loads, load{thread: i, packet: 256, answer: 256, flow: 1})
		}
		m, err := newModel(mc, scheme{hostCC: true}, loads)
		require.NoError(t, err)
		m.signal.Occupancy = threshold
		require.NoError(t, m.run(t.Context(), ms))
		m.reset()
		require.NoError(t, m.run(t.Context(), ms))
		return float64(m.classes[0].packets)
	}
	assert.Less(t, rate(1), rate(1000)/2)
}

// realRun's consumer reads every message once, with credits and without.
func TestRealRun(t *testing.T) {
	for _, credits := range []string{"", "mode=oneway,delta=off"} {
		r := realRun{ring: make([]byte, 256*realMessage), credits: credits, llc: 64 * realMessage,
			missed: 1 << 40, lasts: 5e6}
		got, err := r.run()
		require.NoError(t, err)
		assert.Positive(t, got.perMessage)
		assert.Zero(t, got.misses)
		if credits != "" {
			assert.LessOrEqual(t, got.most, uint64(64), "unconsumed data fits")
		}
	}
}
