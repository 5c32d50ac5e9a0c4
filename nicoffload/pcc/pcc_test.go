package pcc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

const us = units.Microsecond

func at(n int) units.Time { return units.Time(units.Duration(n) * us) }

var path = cc.Path{LineRate: 400 * units.Gbps, BaseRTT: 8 * us, Payload: 4096}

func template(t testing.TB, p Params) *Template {
	a, err := Spec{p}.New(path)
	require.NoError(t, err)
	a.(*Template).Start(at(1))
	return a.(*Template)
}

func probe(rtt units.Duration) *cc.Event { return &cc.Event{Kind: cc.RTT, Probe: true, Delay: rtt} }

// A worked example: what each round trip does to the rate.
func TestTemplate(t *testing.T) {
	a := template(t, Params{})
	a.On(&cc.Event{Kind: cc.CNP}, at(2))
	assert.EqualValues(t, One, a.rate, "no immediate change")
	a.On(probe(20*us), at(20))
	assert.EqualValues(t, 838880, a.rate)
	a.On(probe(20*us), at(40))
	assert.EqualValues(t, 754999, a.rate)
	d := a.On(probe(10*us), at(50))
	assert.EqualValues(t, 807427, a.rate)
	assert.Equal(t, units.BitRate(807427*400_000_000_000>>20), d.Rate)
	assert.Equal(t, [cc.Reasons]uint64{cc.CutCNP: 1, cc.CutDelay: 1}, a.Snapshot().Cuts)

	a = template(t, Params{})
	a.On(&cc.Event{Kind: cc.OOO}, at(2))
	a.On(probe(100*us), at(100))
	assert.True(t, a.nack, "the NACK is kept until a long round trip")
	a.rate = One
	a.On(probe(200*us), at(300))
	assert.EqualValues(t, 524336, a.rate)
	assert.False(t, a.nack)
}

func TestBounds(t *testing.T) {
	a := template(t, Params{})
	for i := range 100 {
		a.On(probe(200*us), at(200*i))
	}
	assert.EqualValues(t, 64, a.rate)
	for i := range 100 {
		a.On(probe(5*us), at(20_000+i))
	}
	assert.EqualValues(t, One, a.rate)
	a.On(probe(-5), at(30_000))
	assert.EqualValues(t, 1, a.Snapshot().Ignored)
	a.probing = false
	a.On(probe(5*us), at(30_001))
	assert.EqualValues(t, 2, a.Snapshot().Ignored, "no probe was outstanding")
	a.On(&cc.Event{Kind: cc.RTT, Delay: 900 * us}, at(30_002))
	assert.EqualValues(t, One, a.rate, "RTT samples of data are ignored")
}

// One probe is requested per round trip, and again when it is lost, after a time that doubles.
func TestProbes(t *testing.T) {
	a := template(t, Params{})
	assert.Equal(t, at(1), a.decide().ProbeAt)
	d := a.On(probe(9*us), at(10))
	assert.Equal(t, at(10), d.ProbeAt)
	var asked []units.Time
	for now := 11; now < 3000; now++ {
		if d := a.On(&cc.Event{Kind: cc.TX}, at(now)); len(asked) == 0 ||
			d.ProbeAt != asked[len(asked)-1] {
			asked = append(asked, d.ProbeAt)
		}
	}
	assert.Equal(t, []units.Time{at(10), at(311), at(912), at(2113)}, asked)
	a.On(probe(9*us), at(3000))
	assert.Zero(t, a.abort)
	b, err := Spec{}.New(path)
	require.NoError(t, err)
	assert.NotZero(t, b.(*Template).Start(0).ProbeAt, "0 would mean no probe")
}

func TestParams(t *testing.T) {
	for want, p := range map[string]Params{
		"cut 20000/65536": {Cut: 20000}, "minimum 1048577": {Min: One + 1},
		"base round-trip time": {BaseRTT: us * 500},
	} {
		_, err := Spec{p}.New(path)
		assert.ErrorContains(t, err, want)
	}
	_, err := Spec{}.New(cc.Path{})
	assert.ErrorContains(t, err, "line rate")
	assert.Equal(t, "doca-pcc:base_rtt=13us,max_delay=150us", Spec{}.String())
	var _ cc.Factory = Spec{}
}

func TestQuantised(t *testing.T) {
	for _, c := range []struct{ in, out units.BitRate }{
		{400 * units.Gbps, 400 * units.Gbps}, {500 * units.Gbps, 400 * units.Gbps}, {0, 0},
		{100 * units.Kbps, 381469}, // less than one unit becomes one
		{200 * units.Gbps, 200 * units.Gbps}, {units.Mbps, 762939},
	} {
		assert.Equal(t, c.out, Quantised(c.in, 400*units.Gbps), c.in)
	}
}

// teller decides on a window of the event's PSN.
type teller struct{ heard []cc.Kind }

func (*teller) Events() cc.EventSet { return ^cc.EventSet(0) }
func (a *teller) On(ev *cc.Event, now units.Time) cc.Decision {
	a.heard = append(a.heard, ev.Kind)
	return cc.Decision{Window: units.Bytes(ev.PSN), Rate: 100 * units.Gbps,
		WakeAt: now.Add(50 * us)}
}

func TestDecisionsComeLater(t *testing.T) {
	c, err := NewController(Config{LineRate: 400 * units.Gbps, Delay: 2 * us})
	require.NoError(t, err)
	a := &teller{}
	f := c.Add(a, 0)
	c.Decision(f)
	assert.False(t, c.Events(f).Has(cc.RTO) || c.Events(f).Has(cc.HOST))
	c.Report(&cc.Event{Kind: cc.ACK, Flow: f, PSN: 1}, at(1))
	c.Report(&cc.Event{Kind: cc.ACK, Flow: f, PSN: 2}, at(2))
	c.Report(&cc.Event{Kind: cc.RTO, Flow: f, PSN: 3}, at(2))
	c.Report(&cc.Event{Kind: cc.HOST, Flow: f, PSN: 4}, at(2))
	assert.Equal(t, at(3), c.Poll(at(2)))
	_, changed := c.Decision(f)
	assert.False(t, changed)
	c.Poll(at(3))
	d, changed := c.Decision(f)
	assert.True(t, changed)
	assert.Equal(t, cc.Decision{Window: 1, Rate: 100 * units.Gbps}, d)
	got, some := c.Changed()
	assert.True(t, some && got == f)
	c.Poll(at(4))
	d, _ = c.Decision(f)
	assert.EqualValues(t, 2, d.Window)
	assert.Equal(t, []cc.Kind{cc.ACK, cc.ACK}, a.heard)
	c.Poll(at(60))
	assert.Equal(t, cc.TIMER, a.heard[2])
	c.Report(&cc.Event{Kind: cc.ACK, Flow: f, PSN: 9}, at(61))
	c.Remove(f)
	g := c.Add(&teller{}, at(61))
	assert.Equal(t, f, g)
	c.Poll(at(70))
	d, _ = c.Decision(g)
	assert.NotEqualValues(t, 9, d.Window, "a decision for the removed flow")
	_, err = NewController(Config{})
	assert.ErrorContains(t, err, "0b/s")
}

func TestNothingAllocates(t *testing.T) {
	c, err := NewController(Config{LineRate: 400 * units.Gbps, Delay: 2 * us})
	require.NoError(t, err)
	f := c.Add(template(t, Params{}), 0)
	now, ev := 0, probe(us)
	ev.Flow = f
	step := func() {
		now++
		ev.Delay = units.Duration(now%40+1) * us
		c.Report(ev, at(now))
		c.Poll(at(now))
		for _, some := c.Changed(); some; _, some = c.Changed() {
			c.Decision(f)
		}
	}
	for range 10_000 {
		step()
	}
	assert.Zero(t, testing.AllocsPerRun(1000, step))
}
