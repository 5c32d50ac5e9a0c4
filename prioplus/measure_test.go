package prioplus

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

func measuring(t *testing.T, table string) *PrioPlus {
	inner, err := cc.Parse("swift")
	require.NoError(t, err)
	channels, err := ParseChannels(table)
	require.NoError(t, err)
	a, err := Spec{Inner: inner, Channels: channels, Priority: 2}.New(plain)
	require.NoError(t, err)
	return a.(*PrioPlus)
}

func TestBaseIsMeasured(t *testing.T) {
	p := measuring(t, "n=8,measure=on")
	given := plain.BaseRTT
	width := p.Target - given
	now := units.Time(units.Millisecond)
	sample := func(ev cc.Event, delay units.Duration) {
		now = now.Add(10 * units.Microsecond)
		ev.Kind, ev.Delay, ev.Left = cc.RTT, delay, units.MiB
		p.On(&ev, now)
	}
	p.Start(now)
	p.On(&cc.Event{Kind: cc.POST, Left: units.MiB}, now)

	wls := p.WLS
	sample(cc.Event{Probe: true}, given/2-p.probeSaving)
	require.Equal(t, given/2, p.path.BaseRTT,
		"an echo of a probe, as long as a full packet would take")
	require.Equal(t, given/2+width, p.Target)
	require.Equal(t, p.Target+p.settings.a/2+p.settings.b, p.Limit, "the limit moves along")
	require.InEpsilon(t, float64(wls)/2, float64(p.WLS), 1e-9)
	require.False(t, p.stopped, "and finds the queue empty")

	full := cc.Event{Packets: 2, Bytes: 2 * plain.Payload, PSN: 2, SndNxt: 9}
	sample(cc.Event{Packets: 2, Bytes: plain.Payload + 1, PSN: 1, SndNxt: 9}, given/4)
	require.Equal(t, given/2, p.path.BaseRTT, "how long the packet was is not known")
	sample(full, given/3)
	require.Equal(t, given/3, p.path.BaseRTT)

	top := given/3 + 8*(p.settings.a+p.settings.b) + p.settings.a/2 + p.settings.b
	for range 30_000 { // 300 ms of a queue of the highest priority
		sample(cc.Event{Probe: true}, top-p.probeSaving)
	}
	require.Equal(t, given/3, p.path.BaseRTT, "a queue of the table's own flows is not the path")
	for range 11_000 { // 110 ms
		sample(cc.Event{Probe: true}, 2*top-p.probeSaving)
	}
	require.Equal(t, 2*top, p.path.BaseRTT, "nothing but another path explains that")
}

// The window stays that of the channel, whatever is measured.
func TestAnyBase(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		p := measuring(t, "n=8,measure=on")
		now := units.Time(random.Int64N(1 << 40))
		p.Start(now)
		p.On(&cc.Event{Kind: cc.POST, Left: units.MiB}, now)
		for range 5000 {
			now = now.Add(units.Duration(random.Int64N(int64(50 * units.Microsecond))))
			n := random.IntN(4)
			ev := cc.Event{Kind: cc.RTT, Packets: n, Bytes: units.Bytes(n) * plain.Payload,
				Left: units.MiB,
				PSN:  random.Uint32N(1 << 24), SndNxt: random.Uint32N(1 << 24),
				Delay: units.Duration(random.Int64N(1 << (10 + random.IntN(35))))}
			if random.IntN(3) == 0 {
				ev.Packets, ev.Bytes, ev.Probe = 0, 0, true
			}
			d := p.On(&ev, now)
			require.LessOrEqual(t, d.Window, plain.LineRate.Bytes(p.Target)+2, "seed %d", seed)
			require.GreaterOrEqual(t, d.Window, units.Bytes(0), "seed %d", seed)
			require.Greater(t, p.Target, p.path.BaseRTT, "seed %d", seed)
			require.Positive(t, float64(p.WLS), "seed %d", seed)
			require.True(t, d.Window > 0 || d.ProbeAt != 0, "seed %d: stopped for ever", seed)
		}
	}
}

func TestBaseIsGiven(t *testing.T) {
	p := measuring(t, "n=8")
	p.Start(0)
	p.On(&cc.Event{Kind: cc.POST, Left: units.MiB}, 1)
	p.On(&cc.Event{Kind: cc.RTT, Probe: true, Delay: plain.BaseRTT / 2, Left: units.MiB}, 2)
	require.Equal(t, plain.BaseRTT, p.path.BaseRTT)
}
