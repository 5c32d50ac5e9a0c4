package carclab

import (
	"fmt"
	"math"
	"strings"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// gates are the gates that messages of a run must pass, all of them together.
type gates struct {
	CC      string // an algorithm, "prioplus" around Swift, or "" for none
	Credits bool
	Tokens  string // "tocc"; "joint": no token without room in the cache; or ""
	Split   bool   // congestion control behind nicoffload's device
}

func (g gates) String() string {
	var parts []string
	if g.Credits {
		parts = append(parts, "carc")
	}
	if g.Tokens != "" {
		parts = append(parts, g.Tokens)
	}
	if g.CC != "" {
		parts = append(parts, g.CC)
	}
	name := strings.Join(parts, " ∧ ")
	if g.Split {
		name += ", split"
	}
	return name
}

// phases are the parts of a run of length 20: the program's rate and other traffic, as shares of a
// link, from one to the next.
var phases = []struct {
	from, until units.Duration // of 20
	v2, cross   float64
}{{0, 5, 1, 0}, {5, 10, 0.4, 0}, {10, 12, 1, 0}, {12, 16, 1, 0.5}}

// course is a receiver whose program slows down, and whose link is shared for a while.
type course struct {
	gates
	whole units.Duration // of all phases, and of what is left after them
	bed   *testbed
	good  *fabric.Series // deliveries
	eaten *fabric.Series // consumption by the program
	algs  []cc.Algorithm
	gate  []cc.Gate
	paths cc.Path

	classes [2]*fabric.Series
}

const (
	courseRTT = 12 * us
	// courseMiss is the cost of a line that is not in the cache to a program of 16 threads that
	// wait for lines in parallel: 90 ns against 20 in each.
	courseMiss = (90 - 20) * units.Nanosecond / 16
	// courseWays is the number of ways of its cache, of which a NIC allocates in two.
	courseWays = 16
)

// newCourse builds a course: at 10 Gb/s with a tenth of the cache and of messages.
func newCourse(j *experiment.Job, g gates, whole units.Duration) (*course, error) {
	c := &course{gates: g, whole: whole}
	rate := experiment.At(j.Scale, 100*gbps, 10*gbps)
	llc := experiment.At(j.Scale, 2*units.MiB, 256*units.KiB)
	b := &testbed{
		senders: experiment.At(j.Scale, 8, 4), rate: rate, baseRTT: courseRTT, seed: j.Seed,
		message: experiment.At(j.Scale, 16*units.KiB, 4*units.KiB), deep: 64, v2: c.v2,
		cache: &hostmodel.CacheConfig{Size: llc, Ways: courseWays, DDIO: 2}, miss: courseMiss,
		order: hostmodel.LIFO, stop: whole, until: whole + 20*ms, cross: rate / 2,
		around: func(a cc.Algorithm) { c.algs = append(c.algs, a) },
	}
	for _, p := range phases {
		if p.cross > 0 {
			b.crossing = append(b.crossing, span{c.moment(p.from), c.moment(p.until)})
		}
	}
	b.watch = append(b.watch, func() {
		c.good = b.sample(c.bin(), delivered, everySender)
		c.eaten = b.sample(c.bin(), consumed, everySender)
	})
	c.bed = b
	scaled := func(kb float64) units.Bytes { return units.Bytes(kb * 1000 * float64(rate) / 100e9) }
	// HPCC's for 100 Gb/s
	b.queues[0].ECN = fabric.ECN{Kmin: scaled(100), Kmax: scaled(400), Pmax: 0.2}
	if g.Credits {
		spec, err := carc.Parse(fmt.Sprintf("llc=%dB,ddio=%dB", int64(llc),
			int64(llc/courseWays*2)))
		if err != nil {
			return nil, err
		}
		b.credits = &spec
	}
	if err := c.controls(); err != nil {
		return nil, err
	}
	if g.Tokens != "" {
		if err := c.tokens(llc / units.Bytes(b.senders)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// controls sets the congestion control.
func (c *course) controls() error {
	if c.Split {
		c.bed.compute = func(_ int, now units.Time) (cc.Controller, error) {
			distance := nicoffload.TypicalPCIe
			return nicoffload.NewShared(
				nicoffload.Config{Aggregation: nicoffload.DefaultAggregation},
				nicoffload.AgentConfig{}, &distance, now)
		}
	}
	var control cc.Factory
	var err error
	switch c.CC {
	case "":
		return nil
	case "prioplus":
		control, err = virtual(8)
	default:
		control, err = cc.Parse(c.CC)
	}
	c.bed.control = func(int) cc.Factory { return control }
	return err
}

// virtual returns PrioPlus around Swift, priorities from 1 to 8.
func virtual(priority int) (cc.Factory, error) {
	channels, err := prioplus.ParseChannels("8")
	if err != nil {
		return nil, err
	}
	inner, err := cc.Parse("swift")
	if err != nil {
		return nil, err
	}
	spec := prioplus.Spec{Inner: inner, Channels: channels, Priority: priority - 1}
	return spec, spec.Check()
}

// tokens adds ToCC, of which an endpoint's receivers share one. Where tokens also carry credits,
// each connection's are at most its part of the cache.
func (c *course) tokens(part units.Bytes) error {
	spec, err := tocc.Parse("unsch=0B")
	if err != nil {
		return err
	}
	ep := spec.Endpoint()
	var joints []*joint
	c.bed.admit = func(_ int, path cc.Path) (cc.Gate, cc.Granter, error) {
		gate, granter, err := ep.New(path)
		if err != nil {
			return nil, nil, err
		}
		c.gate, c.paths = append(c.gate, gate), path
		if c.Tokens == "joint" {
			j := &joint{Granter: granter, room: part}
			joints = append(joints, j)
			granter = j
		}
		return gate, granter, nil
	}
	if c.Tokens == "joint" {
		c.bed.done = func(sender int, bytes units.Bytes) { joints[sender].done(bytes) }
	}
	return nil
}

// run runs the phases, and lets all posted work complete.
func (c *course) run(j *experiment.Job) error { return c.bed.run(j.Context()) }

// v2 is the program's rate at a time.
func (c *course) v2(at units.Duration) units.BitRate {
	share := 1.
	for _, p := range phases {
		if at >= c.moment(p.from) {
			share = p.v2
		}
	}
	return units.BitRate(share * float64(c.bed.rate))
}

// moment returns a time on the scale of 20.
func (c *course) moment(d units.Duration) units.Duration { return c.whole * d / 20 }

// bin returns the length of a bin of goodput, 100 us in 20 ms.
func (c *course) bin() units.Duration { return c.whole / 200 }

// steady returns the rate of each bin of a phase without the first twentieth of the run.
func (c *course) steady(rate *fabric.Series, phase int) (v experiment.Values) {
	p := phases[phase]
	from, until := c.bed.Zero().Add(c.moment(p.from+1)), c.bed.Zero().Add(c.moment(p.until))
	for i, at := range rate.Times {
		if !at.Add(-c.bin()).Before(from) && !at.After(until) {
			v = append(v, rate.Values[i])
		}
	}
	return v
}

// limit returns the tighter of the program's rate and the free rate of the link.
func (c *course) limit(phase int) float64 {
	p := phases[phase]
	return min(p.v2, 1-p.cross) * float64(c.bed.rate)
}

// variation returns the largest coefficient of variation inside the phases.
func (c *course) variation(rate *fabric.Series) (worst float64) {
	for i := range phases {
		v := c.steady(rate, i)
		mean, squares := v.Mean(), 0.
		for _, x := range v {
			squares += (x - mean) * (x - mean)
		}
		worst = max(worst, math.Sqrt(squares/float64(len(v)))/mean)
	}
	return worst
}

// settling returns the longest time after a step for which goodput, the mean of five bins, is
// outside 20 % of its phase's mean.
func (c *course) settling() (longest units.Duration) {
	const smooth = 5
	for i, p := range phases {
		mean := c.steady(c.good, i).Mean()
		from, until := c.bed.Zero().Add(c.moment(p.from)), c.bed.Zero().Add(c.moment(p.until))
		for k, at := range c.good.Times {
			if k < smooth || at.Add(-smooth*c.bin()).Before(from) || at.After(until) {
				continue
			}
			if v := experiment.Values(c.good.Values[k+1-smooth : k+1]).Mean(); math.Abs(v/mean-1) >
				0.2 {
				longest = max(longest, at.Sub(from))
			}
		}
	}
	return longest
}

// record records the results.
func (c *course) record(j *experiment.Job) {
	for i := range phases {
		j.Value("share", c.steady(c.good, i).Mean()/c.limit(i))
		j.Value("eaten", c.steady(c.eaten, i).Mean()/c.limit(i))
	}
	s := j.Series("goodput")
	for i, at := range c.good.Times {
		if at.After(c.bed.Zero()) && !at.After(c.bed.Zero().Add(c.whole)) {
			s.Add(at.Sub(c.bed.Zero()).Seconds(), c.good.Values[i])
		}
	}
	j.Value("variation", c.variation(c.good))
	j.Value("consumption", c.variation(c.eaten))
	j.Value("misses", c.bed.Result().Programs[0].Host.Cache.Stats.MissShare())
	j.Value("unfinished", float64(c.bed.unfinished()))
	j.Value("settling", c.settling().Seconds())
	discarded := units.Bytes(0)
	for _, g := range c.gate {
		if s, ok := g.(*tocc.Sender); ok {
			discarded += s.Stats().Discarded
		}
	}
	j.Value("discarded", float64(discarded))
	asked, sent := 0., 0.
	for _, g := range c.bed.gates {
		asked += float64(g.Stats().Queries)
		sent += float64(g.Stats().Messages)
	}
	node := c.bed.Nodes[c.bed.senders].Endpoint.Stats()
	j.Value("asked", asked)
	j.Value("messages", sent)
	j.Value("explicit", float64(node.CreditsSent))
	j.Value("rnr", float64(node.RNRSent))
}
