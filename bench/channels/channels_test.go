package channels

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/units"
)

const us = units.Microsecond

var path = cc.Path{LineRate: 100 * units.Gbps, Payload: 1000, BaseRTT: us, Signals: cc.SignalDelay}

// peer acknowledges every packet of the gauge after a base round-trip time plus noise.
type peer struct {
	algorithm cc.Algorithm
	decision  cc.Decision
	now       units.Time
	base      units.Duration // of a full packet
	noise     func(i int) units.Duration
	sent      int
	kinds     []string
}

// step sends what the decision permits, and reports the result to the algorithm.
func (p *peer) step(t require.TestingT) {
	var noise units.Duration
	if p.noise != nil {
		noise = p.noise(p.sent)
	}
	p.sent++
	switch d := p.decision; {
	case d.ProbeAt != 0:
		require.False(t, d.ProbeAt.Before(p.now))
		require.Zero(t, d.Window, "nothing else is under way with a probe")
		p.kinds = append(p.kinds, "probe")
		p.now = d.ProbeAt.Add(p.base - path.LineRate.Duration(path.Payload) + noise)
		p.decision = p.algorithm.On(&cc.Event{Kind: cc.RTT, Probe: true,
			Delay: p.now.Sub(d.ProbeAt)}, p.now)
	case d.Window > 0:
		kind := "data"
		if d.Rate > 0 {
			kind = "stream"
			require.Equal(t, path.LineRate/10, d.Rate)
		} else {
			require.Equal(t, path.Payload, d.Window)
		}
		p.kinds = append(p.kinds, kind)
		left := p.now
		p.now = left.Add(p.base + noise)
		p.decision = p.algorithm.On(&cc.Event{Kind: cc.RTT, Packets: 1, Bytes: path.Payload,
			Delay: p.now.Sub(left), Left: 1}, p.now)
	default:
		require.Fail(t, "the gauge stands still")
	}
}

func measure(t require.TestingT, samples int, base units.Duration,
	noise func(int) units.Duration) (*Gauge, *peer) {
	g := &Gauge{Samples: samples}
	a, err := g.New(path)
	require.NoError(t, err)
	p := &peer{algorithm: a, now: units.Time(units.Second), base: base, noise: noise}
	p.decision = a.(cc.Starter).Start(p.now)
	require.Equal(t, cc.Decision{}, p.decision, "nothing leaves before there is something to send")
	p.decision = a.On(&cc.Event{Kind: cc.POST, Left: 1}, p.now)
	for !g.Done() {
		require.Less(t, p.sent, 4*samples)
		p.step(t)
	}
	return g, p
}

// event returns the event of a packet with the given base delay, fabric noise and time in poll
// gaps.
func event(probe bool, base, fabric, here, there units.Duration, known bool) *cc.Event {
	ev := &cc.Event{Kind: cc.RTT, Probe: probe, Packets: 1, Bytes: path.Payload,
		Delay: base + fabric + here/2 + there/2}
	if known {
		ev.LocalGap, ev.RemoteGap = here, there
	}
	return ev
}

// surveyed measures a path with the given fabric noise of sample i and poll gaps of the hosts.
func surveyed(
	t *testing.T, known bool, of func(i int) (fabric, here, there units.Duration),
) *Survey {
	g := &Gauge{Samples: 10000}
	with := path
	if known {
		with.Signals |= cc.SignalEndpoint
	}
	a, err := g.New(with)
	require.NoError(t, err)
	now, i := units.Time(units.Second), 0
	d := a.On(&cc.Event{Kind: cc.POST, Left: 1}, now)
	for ; !g.Done(); i++ {
		base, probe := 12*us, d.ProbeAt != 0
		if probe {
			base -= path.LineRate.Duration(path.Payload)
		}
		fabric, here, there := of(i)
		now = now.Add(20 * us)
		d = a.On(event(probe, base, fabric, here, there, known), now)
	}
	s, err := g.Survey(Wanted{Priorities: 8, Flows: 150, Inner: swift(t)})
	require.NoError(t, err)
	return s
}

// Poll gaps do not count as noise of the fabric: channels do not get wider, and the survey reports
// when they are too narrow.
func TestGapsOfHosts(t *testing.T) {
	fabric := func(i int) units.Duration { return units.Duration(i%10) * 100 * units.Nanosecond }
	gaps := func(i int) (_, here, there units.Duration) {
		switch {
		case i%50 == 7: // 2 %
			return fabric(i), 30 * us, 0
		case i%500 == 9:
			return fabric(i), 0, 3000 * us
		case i%10 == 0:
			return fabric(i), 0, 0
		}
		return fabric(i), 200 * units.Nanosecond, 0
	}
	s := surveyed(t, true, gaps)
	assert.InDelta(t, 12, s.Path.BaseRTT.Microseconds(), 0.3)
	assert.LessOrEqual(t, s.B, 900*units.Nanosecond)
	assert.Equal(t, s.A+s.B, s.Width)
	assert.Equal(t, 30*us, s.Hosts.Here.P99)
	assert.Zero(t, s.Hosts.There.P99)
	assert.Equal(t, 3000*us, s.Hosts.There.Max)
	assert.InDelta(t, 0.022, s.Wide(), 0.001)
	assert.Greater(t, s.Hosts.Share, 0.8)
	require.True(t, s.TooNoisy())
	assert.Contains(t, s.Advice(), "TOO NOISY for 8 channels of")
	assert.Contains(t, s.Advice(),
		": this host has poll gaps of p99 = 30us. Channels narrower than ")
	assert.Contains(t, s.Advice(),
		"dedicated polling cores (docs/hosts.md), hardware time stamps, or a wider a+b (b=")
	assert.NotContains(t, s.Advice(), "the peer has poll gaps")
	var b strings.Builder
	require.NoError(t, s.Write(&b))
	assert.Contains(t, b.String(), s.Advice())
	assert.Regexp(t,
		`samples uncertain by more than a channel's width of \S+: 660 of 30000 \(2\.2 %\)`,
		b.String())

	d, err := s.Document()
	require.NoError(t, err)
	assert.True(t, d.Hosts.TooNoisy)
	assert.Equal(t, 30.0, d.Hosts.Here.P99)
	require.NotNil(t, d.Hosts.There)
	assert.InDelta(t, d.A+d.B, d.Hosts.Width, 1e-6)
	assert.InDelta(t, 0.022, d.Hosts.Wide, 0.001)

	// With the advised width, the same host is good enough.
	wide, err := prioplus.ParseChannels("n=8,a=" + s.A.String() + ",b=" + s.wideEnough().String())
	require.NoError(t, err)
	lowest, err := wide.Of(0, s.Path)
	require.NoError(t, err)
	assert.LessOrEqual(t, s.Hosts.Uncertain.P99, lowest.Target-s.Path.BaseRTT)

	// The same hosts without reports of gaps: everything counts as noise of the fabric.
	s = surveyed(t, false, gaps)
	assert.Greater(t, s.B, 1000*us)
	assert.Zero(t, s.Hosts.Share)
	assert.False(t, s.TooNoisy())
	d, err = s.Document()
	require.NoError(t, err)
	assert.Nil(t, d.Hosts.There)
}

func TestGapsOfThePeer(t *testing.T) {
	s := surveyed(t, true, func(i int) (_, here, there units.Duration) {
		if i%20 == 7 {
			return 0, 0, 50 * us
		}
		return 0, 0, 0
	})
	assert.Contains(t, s.Advice(), ": the peer has poll gaps of p99 = 50us. Channels narrower")
	assert.Equal(t, 1.0, s.Hosts.Share)

	s = surveyed(t, true, func(i int) (_, here, there units.Duration) {
		if i%20 == 7 {
			return 0, 2500 * units.Nanosecond, 2500 * units.Nanosecond
		}
		return 0, 0, 0
	})
	assert.Contains(t, s.Advice(), "this host has poll gaps of p99 = 2.5us and the peer "+
		"has poll gaps of p99 = 2.5us", "together they are more than a channel")
}

func TestQuietHosts(t *testing.T) {
	s := surveyed(t, true, func(i int) (_, here, there units.Duration) {
		return units.Duration(i%7) * 100 * units.Nanosecond, 0, 0
	})
	assert.False(t, s.TooNoisy())
	assert.Empty(t, s.Advice())
	assert.Zero(t, s.Hosts.Share)
	assert.Zero(t, s.Wide())
}

func swift(t require.TestingT) cc.Spec {
	spec, err := cc.Parse("swift")
	require.NoError(t, err)
	return spec
}

func TestProbeAndPacketInTurnThenAStream(t *testing.T) {
	_, p := measure(t, 3, 12*us, nil)
	assert.Equal(t, "probe data probe data probe data stream stream stream",
		strings.Join(p.kinds, " "))
}

// A lost probe is sent again.
func TestLostProbe(t *testing.T) {
	g := &Gauge{Samples: 3}
	a, err := g.New(path)
	require.NoError(t, err)
	first := a.On(&cc.Event{Kind: cc.POST, Left: 1}, 100)
	second := a.On(&cc.Event{Kind: cc.RTO, Probe: true}, 200)
	assert.Equal(t, units.Time(100), first.ProbeAt)
	assert.Equal(t, units.Time(200), second.ProbeAt)
	third := a.On(&cc.Event{Kind: cc.RTO, Probe: true}, 200)
	assert.NotEqual(t, second.ProbeAt, third.ProbeAt, "another moment, or it is the same probe")
}

// The paper's numbers: 150 flows at 100 Gb/s and noise with a 99.85th percentile of 0.8 us give
// channels of 4 us.
func TestSurveyOfThePaper(t *testing.T) {
	g, _ := measure(t, 10000, 12*us, func(i int) units.Duration {
		switch {
		case i%2000 < 2: // one probe and one packet per thousand each
			return 5 * us
		case i%100 < 4:
			return 800 * units.Nanosecond
		}
		return units.Duration(i%7) * 100 * units.Nanosecond
	})
	s, err := g.Survey(Wanted{Priorities: 12, Flows: 150, Inner: swift(t)})
	require.NoError(t, err)
	assert.Equal(t, 12*us, s.Path.BaseRTT)
	assert.Equal(t, 3300*units.Nanosecond, s.A, "3.24, upwards")
	assert.Equal(t, 800*units.Nanosecond, s.B)
	assert.Equal(t, us, s.Eps)
	assert.Equal(t, "n=12,a=3.3us,b=800ns,eps=1us", s.Channels.String())
	assert.Equal(t, 5*us, s.Ping.Max)
	assert.Equal(t, 10000, s.Stream.Samples)
	assert.Equal(t, 10, s.BeyondB)
	assert.Equal(t, 5, s.TwoInARow, "the stream has them in pairs")

	var b strings.Builder
	require.NoError(t, s.Write(&b))
	assert.Contains(t, b.String(),
		"--channels n=12,a=3.3us,b=800ns,eps=1us --base-rtt 12us --line-rate 100Gb/s\n")
	assert.Contains(t, b.String(), "A = 3.3us, B = 800ns, A+B = 4.1us")
	assert.Contains(t, b.String(), "beyond B: 10 of 10000; two in a row, which stop a flow: 5 "+
		"times, once in 2 MB; if noise were independent, once in 1000 MB")

	d, err := s.Document()
	require.NoError(t, err)
	text, err := json.Marshal(d)
	require.NoError(t, err)
	assert.Contains(t, string(text),
		`"channels":"n=12,a=3.3us,b=800ns,eps=1us",`+
			`"table":[{"priority":0,"class":"low","d_target_us":16.1,`)
	assert.Len(t, d.Table, 12)
	assert.Equal(t, 0.8, d.Noise["data"].P9985)
}

// A given base RTT overrides the measured one.
func TestConfiguredBase(t *testing.T) {
	g, _ := measure(t, 10, 12*us, nil)
	g.BaseRTT = 20 * us
	s, err := g.Survey(Wanted{Priorities: 8, Flows: 1, Inner: swift(t)})
	require.NoError(t, err)
	assert.Equal(t, 20*us, s.Path.BaseRTT)
}

// prioplus accepts the table of a path with any noise.
func TestEveryNoiseHasATable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Int64Range(0, int64(100*units.Millisecond)).Draw(t, "noise")
		g, _ := measure(t, rapid.IntRange(1, 50).Draw(t, "samples"), 12*us,
			func(int) units.Duration {
				return units.Duration(rapid.Int64Range(0, most).Draw(t, "noise of one"))
			})
		s, err := g.Survey(Wanted{Priorities: rapid.IntRange(1, 256).Draw(t, "priorities"),
			Flows: rapid.IntRange(1, 1000).Draw(t, "flows"), Inner: swift(t)})
		require.NoError(t, err)
		_, err = s.Channels.Of(0, s.Path)
		require.NoError(t, err)
		require.Less(t, s.Eps, s.A+s.B)
	})
}

func TestInARow(t *testing.T) {
	for _, c := range []struct {
		samples        []units.Duration
		filter, expect int
	}{
		{[]units.Duration{1, 1, 1, 1}, 2, 0},
		{[]units.Duration{9, 1, 9, 1}, 2, 0},
		{[]units.Duration{9, 9, 1, 9}, 2, 1},
		{[]units.Duration{9, 9, 9, 9}, 2, 2},
		{[]units.Duration{9, 9, 9, 9}, 3, 1},
		{[]units.Duration{3, 9, 9}, 1, 2}, // 2 above the minimum is not beyond b
	} {
		assert.Equal(t, c.expect, inARow(c.samples, 1, 2, c.filter), "%v", c)
	}
}

func TestNoise(t *testing.T) {
	assert.Zero(t, noiseOf(nil))
	samples := make([]units.Duration, 10000)
	for i := range samples {
		samples[len(samples)-1-i] = units.Duration(100 + i)
	}
	assert.Equal(t, Noise{Samples: 10000, Least: 100, Mean: 4999, P50: 4999, P99: 9899, P9985: 9984,
		P999: 9989, Max: 9999}, noiseOf(samples))
}

func TestInvalidParameters(t *testing.T) {
	dctcp, err := cc.Parse("dctcp")
	require.NoError(t, err)
	for _, c := range []struct {
		Wanted
		says string
	}{
		{Wanted{8, 0, swift(t), ""}, "fluctuation of 0 flows, want 1 or more"},
		{Wanted{0, 1, swift(t), ""}, "channels n=0: n=0 is outside [1, 256]"},
		{Wanted{8, 1, swift(t), "b=x"}, `channels n=8,b=x: `},
		{Wanted{8, 1, dctcp, ""},
			"the fluctuation of dctcp is unknown, want swift (section 4.3.2)"},
	} {
		assert.ErrorContains(t, c.Check(), c.says)
	}
	assert.NoError(t, Wanted{8, 1, swift(t), "room=on"}.Check())
	_, err = new(Gauge).Survey(Wanted{8, 1, swift(t), "room=on"})
	assert.ErrorIs(t, err, errNoSamples)
}

var _ cc.Factory = &Gauge{}
