package prioplus

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// anything is some flows that get events in any order, and what must hold after each event.
type anything struct {
	t       testing.TB
	what    string
	p       *PrioPlus
	now     units.Time
	left    units.Bytes // as last reported; 0: never reported
	high    int         // consecutive samples at or beyond D_limit, since the flow began
	most    units.Bytes
	longest units.Duration
}

func newAnything(t testing.TB, spec Spec, now units.Time) *anything {
	path := plain
	path.Signals |= cc.SignalOneWay
	a, err := spec.New(path)
	require.NoError(t, err)
	p := a.(*PrioPlus)
	x := &anything{t: t, what: spec.String(), p: p, now: now}
	x.most = plain.LineRate.Bytes(p.Target) + 2
	x.longest = units.Second + p.probeSaving + plain.BaseRTT
	x.check(p.Start(now), &cc.Event{Kind: cc.TIMER})
	return x
}

func (x *anything) on(ev *cc.Event) {
	before := x.p.flow
	d := x.p.On(ev, x.now)
	if ev.Kind != cc.TIMER && !ev.Probe {
		x.left = max(0, ev.Left)
	}
	heard := ev
	if _, ok := ev.FabricDelay(); ok && x.p.reverse != nil && ev.OneWay != 0 {
		heard = &x.p.reverse.ev
	}
	if delay, ok := heard.FabricDelay(); ok && (ev.Probe && before.probeAt != 0 || !ev.Probe &&
		ev.Packets > 0 && !before.stopped) {
		if ev.Probe {
			delay += x.p.probeSaving
		}
		if x.high++; delay < x.p.Limit {
			x.high = 0
		}
	}
	if before.idle && !x.p.idle && x.p.Direct && x.now.Sub(before.idleSince) >= restartRTTs*
		plain.BaseRTT {
		x.high = 0 // a flow began without a probe: what it knew is outdated
	}
	if p := x.p; p.probeAt != 0 && p.probeAt != before.probeAt && p.probeAt.Sub(x.now) > x.longest {
		require.FailNow(x.t, "waits too long with a probe", "%s: %+v after %+v", x.what, d, *ev)
	}
	if ev.Probe && (ev.Kind == cc.RTT || ev.Kind == cc.RTO) && before.probeAt != 0 &&
		d.Window == 0 {
		if d.ProbeAt == before.probeAt || d.ProbeAt.Before(x.now) {
			require.FailNow(x.t, "the probe returned or is lost, and there is no other",
				"%s: %+v after %+v", x.what, d, *ev)
		}
	}
	x.check(d, ev)
}

func (x *anything) check(d cc.Decision, ev *cc.Event) {
	p := x.p
	fail := func(why string) {
		x.t.Helper()
		require.FailNow(x.t, why, "%s: %+v at %v after %+v; %+v", x.what, d, x.now, *ev, p.flow)
	}
	cwnd, ai := float64(p.inner.Cwnd()), float64(p.inner.AI())
	switch {
	case d.Window < 0 || d.Window > x.most:
		fail("the window is out of bounds")
	case d.Rate < 0 || d.Rate > plain.LineRate:
		fail("the rate is out of bounds")
	case math.IsNaN(cwnd) || cwnd <= 0 || math.IsNaN(ai) || ai < 0 || ai > cwnd+1000:
		fail("no number")
	case !(p.nflow >= 1 && p.nflow <= maxFlows):
		fail("#flow is out of bounds")
	case x.left > 0 && d.Window == 0 && d.ProbeAt == 0:
		fail("stopped, and no probe is pending")
	case d.Window > 0 && d.ProbeAt != 0:
		fail("sends and probes")
	case d.Window > 0 && x.high >= 2:
		fail("sends with two samples beyond the limit")
	}
	if s := p.Snapshot(); s.Window != d.Window || s.Rate != d.Rate {
		fail("the snapshot differs")
	}
}

// event decodes an event from 12 bytes.
func (x *anything) event(b []byte) {
	step := units.Duration(binary.LittleEndian.Uint16(b)) * 3 * units.Nanosecond
	switch b[2] {
	case 0:
		step = -step * 1000
	case 1:
		step *= 1000
	}
	x.now = x.now.Add(step)
	psn := uint32(binary.LittleEndian.Uint16(b[3:])) << (b[5] & 7)
	ev := cc.Event{Kind: cc.Kind(b[6] % 12), PSN: psn, SndNxt: psn + uint32(b[7]),
		Packets: int(b[8] & 3), Left: 1000, InFlight: 1000,
		Delay: units.Duration(b[9]) * us / 4, Probe: b[10]&1 != 0}
	if b[6] >= 120 { // the most frequent kinds
		ev.Kind = cc.RTT
	}
	ev.Bytes = units.Bytes(ev.Packets) * 1000
	switch b[10] >> 1 {
	case 0, 1, 2, 3:
		ev.Left = 0
	case 4:
		ev.Left, ev.Delay = -1, -ev.Delay
	case 5:
		ev.Delay = units.Duration(math.MaxInt64)
	case 6:
		ev.Delay = units.Second
	case 7:
		ev.Packets, ev.Bytes = -1, units.Bytes(math.MinInt64)
	case 8:
		ev.Packets, ev.Bytes, ev.InFlight = 1<<23, math.MaxInt64, math.MaxInt64
	case 9:
		ev.Endpoint = ev.Delay / 2
	case 10:
		ev.Left = math.MaxInt64
	case 11:
		ev.OneWay = math.MinInt64
	default:
		ev.OneWay = units.Duration(int32(binary.LittleEndian.Uint32(b[3:]))) * units.Nanosecond
	}
	x.on(&ev)
}

func everySpec(t testing.TB) (specs []Spec) {
	for _, inner := range []string{"swift", "ledbat-dc", "swift:ai=100,beta=1"} {
		for _, channels := range []string{"8", "filter=1,direct=1,w_low=1BDP",
			"n=64,eps=0s,room=on,patience=20,least=1", "one_way=on"} {
			for _, priority := range []int{0, 7} {
				spec := specOf(t, inner, channels, priority)
				if channels != "filter=1,direct=1,w_low=1BDP" {
					specs = append(specs, spec)
				} else if priority == 0 {
					specs = append(specs, spec)
				}
			}
		}
	}
	return specs
}

func runAnything(t testing.TB, specs []Spec, data []byte) {
	for _, spec := range specs {
		x := newAnything(t, spec, 0)
		for b := data; len(b) >= 11; b = b[11:] {
			x.event(b)
		}
	}
}

func FuzzPrioPlus(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		data := make([]byte, 11*(1+3*i))
		for j := range data {
			data[j] = byte(random.Uint32())
		}
		f.Add(data)
	}
	specs := everySpec(f)
	f.Fuzz(func(t *testing.T, data []byte) { runAnything(t, specs, data) })
}

// TestAnything processes 200 000 random events for each case, from a seed that is printed.
func TestAnything(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	data := make([]byte, 11*200_000)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	runAnything(t, everySpec(t), data)
}
