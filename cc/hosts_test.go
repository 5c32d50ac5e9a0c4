package cc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// hostly is a delay sample with the known parts of the hosts, in microseconds.
func hostly(delay, endpoint, localGap, remoteGap, localAway, remoteAway units.Duration) *Event {
	ev := rtt(delay*us, 1)
	ev.Endpoint, ev.LocalGap, ev.RemoteGap, ev.LocalAway, ev.RemoteAway = endpoint*us, localGap*us,
		remoteGap*us, localAway*us, remoteAway*us
	return ev
}

// The bounds of a sample for the fabric, for the hosts, and for the round trip without the time in
// which a host did not poll.
func TestWhatADelayIsMadeOf(t *testing.T) {
	for _, c := range []struct {
		name                  string
		ev                    *Event
		least, most           units.Duration // delay of the fabric
		hosts, present        units.Duration
		leastTrip, longerTrip units.Duration
	}{
		{"nothing is known of hosts", hostly(100, 0, 0, 0, 0, 0), 100 * us, 100 * us, 0, 100 * us,
			100 * us, 100 * us},
		{"time stamps", hostly(100, 30, 0, 0, 0, 0), 70 * us, 70 * us, 30 * us, 100 * us, 100 * us,
			100 * us},
		{"time stamps, and a host that was away", hostly(100, 30, 0, 0, 10, 10), 70 * us, 70 * us,
			10 * us, 80 * us, 80 * us, 80 * us},
		{"gaps of hosts that worked", hostly(100, 30, 20, 10, 0, 0), 40 * us, 70 * us, 40 * us,
			100 * us, 70 * us, 100 * us},
		{"gaps of hosts that napped", hostly(100, 0, 20, 10, 20, 10), 70 * us, 100 * us, 0, 70 * us,
			70 * us, 100 * us},
		{"both", hostly(100, 30, 20, 10, 15, 5), 40 * us, 70 * us, 20 * us, 80 * us, 70 * us,
			100 * us},
		{"more away than gap", hostly(100, 60, 10, 0, 60, 0), 30 * us, 40 * us, 0, 40 * us, 40 * us,
			50 * us},
		{"a gap as long as all of it", hostly(100, 30, 70, 0, 0, 0), 1, 70 * us, 30 * us, 100 * us,
			30 * us, 100 * us},
		{"gaps longer than all of it", hostly(100, 30, 80, 900, 0, 0), 1, 70 * us, 100 * us,
			100 * us, 1, 100 * us},
		{"away for longer than all of it", hostly(100, 30, 80, 900, 80, 900), 1, 70 * us, 0, 1, 1,
			100 * us},
	} {
		least, most, ok := c.ev.Fabric()
		require.True(t, ok, c.name)
		assert.Equal(t, c.least, least, c.name)
		assert.Equal(t, c.most, most, c.name)
		delay, ok := c.ev.FabricDelay()
		assert.True(t, ok, c.name)
		assert.Equal(t, least, delay, c.name)
		assert.Equal(t, c.hosts, c.ev.hosts(), c.name)
		assert.Equal(t, c.present, c.ev.present(), c.name)
		least, most = c.ev.roundTrip()
		assert.Equal(t, c.leastTrip, least, c.name)
		assert.Equal(t, c.longerTrip, most, c.name)
	}
}

func TestFabricNear(t *testing.T) {
	ev := hostly(100, 30, 20, 10, 0, 0) // 40 to 70
	for near, want := range map[units.Duration]units.Duration{10 * us: 40 * us, 40 * us: 40 * us,
		55 * us: 55 * us, 70 * us: 70 * us, 90 * us: 70 * us} {
		got, ok := ev.FabricNear(near)
		assert.True(t, ok)
		assert.Equal(t, want, got, near)
	}
}

// Impossible samples are ignored, and other events have none.
func TestNoFabricDelay(t *testing.T) {
	for name, ev := range map[string]*Event{
		"no delay":                   hostly(0, 0, 0, 0, 0, 0),
		"a second and more":          hostly(1_000_001, 0, 0, 0, 0, 0),
		"all of it in the hosts":     hostly(100, 100, 0, 0, 0, 0),
		"a negative part":            hostly(100, -1, 0, 0, 0, 0),
		"a negative gap here":        hostly(100, 0, -1, 0, 0, 0),
		"a negative gap there":       hostly(100, 0, 0, -1, 0, 0),
		"away here for less than 0":  hostly(100, 0, 0, 0, -1, 0),
		"away there for less than 0": hostly(100, 0, 0, 0, 0, -1),
		"an ACK that times nothing":  {Kind: ACK, Delay: 100 * us},
		"a timeout":                  {Kind: RTO, Delay: 100 * us},
	} {
		_, _, ok := ev.Fabric()
		assert.False(t, ok, name)
		_, ok = ev.FabricDelay()
		assert.False(t, ok, name)
		_, ok = ev.FabricNear(us)
		assert.False(t, ok, name)
	}
}

// Swift's fabric window is cut by the lower bound of the fabric; its endpoint window by the time in
// polling hosts, without the gap of this host.
func TestSwiftOfHosts(t *testing.T) {
	const spec = "swift:base_target=40us,per_hop=0s,fs_range=0s,endpoint_target=50us,init_cwnd=10"
	for _, c := range []struct {
		name             string
		ev               *Event
		fabric, endpoint float64
	}{
		{"no gaps", hostly(30, 0, 0, 0, 0, 0), 10.1, 10.1},
		{"a gap here", hostly(230, 0, 200, 0, 0, 0), 10.1, 10.1},
		{"a nap here", hostly(230, 0, 200, 0, 200, 0), 10.1, 10.1},
		{"the own host had it, at work", hostly(130, 100, 0, 0, 0, 0), 10.1, 10 * (1 - 0.8*50/100)},
		{"the own host had it, away", hostly(130, 100, 0, 0, 100, 0), 10.1, 10.1},
		{"a gap there", hostly(130, 0, 0, 100, 0, 0), 10.1, 10 * (1 - 0.8*50/100)},
		{"a nap there", hostly(130, 0, 0, 100, 0, 100), 10.1, 10.1},
		{"a nap there, and work", hostly(230, 100, 0, 100, 0, 100), 10.1, 10 * (1 - 0.8*50/100)},
		{"a queue beyond all gaps", hostly(180, 0, 100, 0, 0, 0), 10 * (1 - 0.8*40/80), 10.1},
		{"a queue that may be a gap", hostly(180, 0, 150, 0, 0, 0), 10.1, 10.1},
	} {
		s := make1[*Swift](t, spec, everything)
		s.On(c.ev, at(1000))
		assert.InDelta(t, c.fabric, s.fabric.cwnd, 1e-9, c.name)
		assert.InDelta(t, c.endpoint, s.endpoint.cwnd, 1e-9, c.name)
	}
	quiet, napping := make1[*Swift](t, spec, everything), make1[*Swift](t, spec, everything)
	quiet.On(hostly(30, 0, 0, 0, 0, 0), at(1000))
	napping.On(hostly(330, 0, 200, 100, 200, 100), at(1000))
	assert.Equal(t, quiet.srtt, napping.srtt, "by which it paces and waits between cuts")
	s := swift40(t, 10) // the hosts' part is unknown; the gap of this host is known
	s.On(hostly(230, 0, 200, 0, 0, 0), at(1000))
	assert.InDelta(t, 10.1, s.fabric.cwnd, 1e-9)
	s.On(hostly(280, 0, 200, 0, 0, 0), at(2000))
	assert.InDelta(t, 10.1*(1-0.8*40/80), s.fabric.cwnd, 1e-9)
}

// A target that moves leaves the endpoint window unchanged if it has been cut.
func TestSteerKeepsTheEndpointWindow(t *testing.T) {
	s := make1[*Swift](t, "swift:endpoint_target=50us", everything)
	s.Steer(40*us, 0.01, 100)
	assert.InDelta(t, 100, s.endpoint.cwnd, 1e-9, "the first time it is the largest")
	s.Steer(40*us, 0.01, 200)
	assert.InDelta(t, 200, s.endpoint.cwnd, 1e-9, "it has not been cut")
	s.On(hostly(130, 100, 0, 0, 0, 0), at(1000))
	cut := s.endpoint.cwnd
	require.InDelta(t, 120, cut, 1e-9)
	s.Steer(40*us, 0.01, 300)
	assert.InDelta(t, cut, s.endpoint.cwnd, 1e-9)
}

// Naps of the hosts change nothing: a flow whose samples report them decides like one whose hosts
// polled all the time.
func TestNapsChangeNothing(t *testing.T) {
	for _, spec := range []string{"swift", "ledbat", "ledbat-dc", "timely"} {
		for _, path := range []Path{everything, plain4} {
			quiet, napping := make1[Algorithm](t, spec, path), make1[Algorithm](t, spec, path)
			acked := acks{}
			for i := range 2000 {
				ev := acked.window(1, 0)[0]
				ev.SndNxt = (ev.PSN + 8) & 0xffffff
				ev.Kind, ev.Delay, ev.Left, ev.InFlight = RTT, units.Duration(20+i*7%11)*us, 1<<30,
					1<<20
				if i%100 > 90 { // sometimes there is a queue
					ev.Delay += 200 * us
				}
				nap := ev
				nap.LocalGap = units.Duration(i*13%50) * us
				nap.LocalAway = nap.LocalGap
				if path.Signals&SignalEndpoint != 0 {
					nap.RemoteGap = units.Duration(i*17%50) * us
					nap.RemoteAway = nap.RemoteGap
				}
				// its round trip includes the hosts: only the bounds are the same
				if spec == "timely" {
					nap.Endpoint, nap.LocalGap, nap.RemoteGap = nap.LocalGap+nap.RemoteGap, 0, 0
				}
				nap.Delay += nap.LocalAway + nap.RemoteAway
				now := at(1000 + 20*float64(i))
				require.Equal(t, quiet.On(&ev, now), napping.On(&nap, now), "%s, sample %d", spec,
					i)
			}
			require.Equal(t, quiet.(Observable).Snapshot().Cuts,
				napping.(Observable).Snapshot().Cuts, spec)
		}
	}
}

// LEDBAT takes the value within the bounds of a sample that is nearest to its base: a gap does not
// count as a queue, and does not hide one.
func TestLEDBATOfHosts(t *testing.T) {
	for _, c := range []struct {
		name string
		ev   *Event
		want string
	}{
		{"no queue", hostly(40, 0, 0, 0, 0, 0), "grows"},
		{"a gap", hostly(400, 0, 360, 0, 0, 0), "grows"},
		{"a gap that may be all of it", hostly(400, 0, 900, 0, 0, 0), "grows"},
		{"a gap, and a queue", hostly(400, 0, 100, 0, 0, 0), "falls"},
		{"a queue", hostly(400, 0, 0, 0, 0, 0), "falls"},
	} {
		l := make1[*LEDBAT](t, "ledbat-dc", plain4)
		l.cwnd = 100
		for i := range 50 {
			c.ev.PSN, c.ev.InFlight = uint32(i), 1<<20
			l.On(c.ev, at(1000+float64(i)))
		}
		if c.want == "grows" {
			assert.Greater(t, l.cwnd, 100., c.name)
		} else {
			assert.Less(t, l.cwnd, 100., c.name)
		}
	}
}

// LEDBAT's history of the base consists of upper bounds of the fabric.
func TestLEDBATBaseOfHosts(t *testing.T) {
	l := make1[*LEDBAT](t, "ledbat", everything)
	l.On(hostly(100, 30, 50, 0, 0, 0), at(1000))
	assert.Equal(t, 70*us, l.history.least())
	l.On(hostly(100, 30, 0, 0, 0, 0), at(1001))
	assert.Equal(t, 70*us, l.history.least())
	l.On(hostly(90, 30, 50, 0, 0, 0), at(1002))
	assert.Equal(t, 60*us, l.history.least())
}

// The difference of two samples of TIMELY is its lower bound: 0 where the bounds of the samples
// overlap.
func TestTIMELYOfUncertainSamples(t *testing.T) {
	type bounds struct{ least, most units.Duration }
	for _, c := range []struct {
		name        string
		first, next bounds
		diff        float64 // us, unsmoothed
	}{
		{"certain, the same", bounds{60, 60}, bounds{60, 60}, 0},
		{"certain, longer", bounds{60, 60}, bounds{68, 68}, 8},
		{"certain, shorter", bounds{60, 60}, bounds{52, 52}, -8},
		{"overlapping", bounds{60, 80}, bounds{70, 90}, 0},
		{"one within the other", bounds{60, 80}, bounds{65, 70}, 0},
		{"touching", bounds{60, 80}, bounds{80, 90}, 0},
		{"longer at any rate", bounds{60, 80}, bounds{88, 100}, 8},
		{"shorter at any rate", bounds{60, 80}, bounds{40, 52}, -8},
	} {
		a := timely10(t, "")
		a.update(c.first.least*us, c.first.most*us, 1, 0)
		a.update(c.next.least*us, c.next.most*us, 1, 0)
		assert.InDelta(t, a.ewma*c.diff, a.diff/float64(us), 1e-9, c.name)
	}
	a := timely10(t, "")
	a.On(hostly(60, 0, 0, 0, 0, 0), at(1000))
	ev := hostly(100, 0, 30, 10, 30, 10) // a nap
	ev.PSN = 1
	rate := a.rate
	a.On(ev, at(1100))
	assert.Zero(t, a.diff)
	assert.GreaterOrEqual(t, a.rate, rate)
}

// Consecutive timeouts cut once, since the peer is away. One after a sample cuts again.
func TestTIMELYTimeouts(t *testing.T) {
	a := timely10(t, "")
	a.rate = 8e9
	timeout := func(micros float64, want float64, says string) {
		t.Helper()
		a.On(&Event{Kind: RTO}, at(micros))
		assert.InDelta(t, want, a.rate, 1, says)
	}
	timeout(1000, 8e9*0.6, "half of what the strongest cut is")
	timeout(1001, 8e9*0.6, "in the same round trip")
	timeout(5000, 8e9*0.6, "and later, as long as there is silence")
	timeout(90000, 8e9*0.6, "however long")
	ev := rtt(20*us, 1)
	ev.PSN = 1
	a.On(ev, at(90100))
	require.Zero(t, a.diff, "samples before a timeout do not count for the gradient")
	rate := a.rate
	timeout(95000, rate*0.6, "it is another one")
}

// A base round trip is at most the upper bound of a sample, and only a sample whose lower bound is
// above the base may raise it.
func TestBaseRTTBetween(t *testing.T) {
	b := BaseRTT{Path: lan, Window: 100 * us, Queue: 40 * us}
	for i, s := range []struct {
		at, least, most units.Duration
		want            units.Duration
		says            string
	}{
		{0, 10, 20, 20, "the first, at most"},
		{1, 5, 30, 20, "may be less, and may not"},
		{2, 5, 12, 12, "is less"},
		{3, 0, 10, 12, "none"},
		{4, 11, 10, 12, "bounds the wrong way round"},
		{5, 1, 2_000_000, 12, "a clock that jumped"},
		{10, 52, 300, 12, "may be a queue"},
		{30, 60, 300, 12, "no queue is as long: 1st"},
		{50, 58, 400, 12, "2nd"},
		{70, 50, 400, 12, "may be a queue: the window begins anew"},
		{80, 60, 300, 12, "1st"},
		{100, 58, 300, 12, "2nd"},
		{120, 70, 70, 12, "3rd"},
		{140, 59, 300, 12, "4th"},
		{160, 59, 59, 12, "5th"},
		{180, 90, 300, 58, "a window long: the least of what they were at least"},
	} {
		b.SampleBetween(s.least*us, s.most*us, 1000, at(1+float64(s.at)))
		require.Equal(t, s.want*us, b.Base(), "%d: %s", i, s.says)
	}
	b = BaseRTT{Path: lan, Window: 100 * us}
	b.SampleBetween(10*us, 20*us, 0, at(1))
	assert.Equal(t, 20*us+2400*units.Nanosecond, b.Base(), "a probe: both bounds are of less")
}
