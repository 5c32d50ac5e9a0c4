package taurus

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// limited is a cell of sec4.1-limiter: flows that always have a packet, and share a link of 400
// Gb/s.
type limited struct {
	Flows   int
	Changes bool // one of the flows gets another rate each microsecond
	Windows bool // flows have windows, too
	Slow    bool // rates are as drawn, from 100 kb/s on, and leave most of the link free
}

// limiter: the rate limiter of the adjustment task, with as many flows as TAURUS's, in exact time
// and on this core.
var limiter = &experiment.Experiment{
	ID:    "taurus/sec4.1-limiter",
	Seeds: oneSeed,
	Cells: func(s experiment.Scale) []experiment.Cell {
		some := experiment.At(s, 10_000, 1000)
		cells := []experiment.Cell{
			{Name: "10000 flows", Params: limited{Flows: 10_000}},
			{Name: "rates that change", Params: limited{Flows: some, Changes: true}},
			{Name: "windows and rates", Params: limited{Flows: some, Windows: true}},
		}
		if s == experiment.Full {
			cells = append(cells,
				experiment.Cell{Name: "16000 flows", Params: limited{Flows: 16_000}},
				experiment.Cell{Name: "from 100 kb/s", Params: limited{Flows: 10_000, Slow: true}})
		}
		return cells
	},
	Run: func(j *experiment.Job) error {
		x := j.Params.(limited)
		newShaper(x, j.Seed).run(j)
		if !x.Changes && !x.Windows && !x.Slow {
			shapeExample(j)
			j.Value("releases", releases(x.Flows, experiment.At(j.Scale, 200, 30))...)
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		steady := r.Cell("10000 flows")
		r.Claim("accuracy", steady.Values("error").Percentile(99))
		r.Note("accuracy", "%s. A change re-times all of the current gap, so that flows whose "+
			"rate changes about once in a gap get up to that much more or less than their rates "+
			"allow. Steady flows at worst %.2g; a flow of %.3g Mb/s, the slowest, has a packet "+
			"each %.2g ms", accuracies(r),
			steady.Values("error").Max(), steady.Values("slowest")[0]/1e6,
			8e3*float64(mtu)/steady.Values("slowest")[0])
		r.Claim("order", experiment.With("reordered", r.Values("reordered").Sum()).
			With("early", r.Values("early").Sum()))
		r.Claim("example", experiment.With("A", claims.Numbers(steady.Values("A")...)).
			With("B", claims.Numbers(steady.Values("B")...)))
		n := steady.Values("releases")
		r.Claim("speed", n.Percentile(50))
		r.Note("speed", "median of runs of 100 000, in CPU time of the thread, between %.3g and "+
			"%.3g M/s; flows in turns of 8 packets' time on the link", n.Min()/1e6, n.Max()/1e6)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.CDF("error", "Rate of a flow over 1 ms or 100 gaps, 95 % of 400 Gb/s but "+
			"from 100 kb/s", "error (%)")
		p.X.Log = true
		r.Distributions(p, "error", 100)
		return []figure.Figure{p}
	},
}

// accuracies lists the accuracy of the cells beside the one that is judged.
func accuracies(r *experiment.Results) (text string) {
	for i, c := range r.Cells() {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s %.2g", c.Name, c.Values("error").Percentile(99))
	}
	return "p99 by cell: " + text
}

// shaper is a port of 400 Gb/s behind a limiter, in exact time.
type shaper struct {
	*pace.Limiter
	*rand.Rand
	limited
	flows    []shaped
	idle     *pace.Wheel // flows that have yet to begin
	now      units.Time
	free     units.Time // when the frame on the wire ends
	acks     []ack      // in the order of time: the round trip is the same for all
	received int        // of acks
}

// shaped is one flow: its allowance, and what it sent.
type shaped struct {
	base, rate    units.BitRate
	begin, last   units.Time // of the first packet, and the exact start of the newest
	over          units.Duration
	window, out   int // packets; 0 means no window
	sent, counted int
	entitled      float64    // bytes allowed by the rates so far, since begin
	since         units.Time // when the rate was set
	done          bool
	error         float64
}

type ack struct {
	at   units.Time
	flow uint32
}

const (
	shapedLink = 400 * gbps
	shapedRTT  = 100 * us
	leastRate  = 100 * units.Kbps
	mostRate   = shapedLink
)

// newShaper draws rates, with as many flows in each decade from 100 kb/s to 400 Gb/s, and scales
// them to 95 % of the link. Flows begin within one of their gaps: if all began at once, the link
// would delay the last by 0.8 ms, whatever the limiter does.
func newShaper(x limited, seed uint64) *shaper {
	s := &shaper{Limiter: pace.NewLimiter(0, pace.Slot), Rand: rand.New(rand.NewPCG(seed, 41)),
		limited: x,
		flows:   make([]shaped, x.Flows), idle: pace.New(0)}
	sum := 0.
	for i := range s.flows {
		s.flows[i].base = units.BitRate(min(float64(leastRate)/(1-s.Float64()), float64(mostRate)))
		sum += float64(s.flows[i].base)
	}
	scale := 0.95 * float64(shapedLink) / sum
	if x.Slow {
		scale = min(scale, 1)
	}
	for i := range s.flows {
		f := &s.flows[i]
		f.base = units.BitRate(float64(f.base) * scale)
		f.rate = f.base
		f.over = max(ms, 100*f.rate.Duration(mtu))
		if x.Windows { // about as many are delayed by each
			full := float64(f.rate.Bytes(shapedRTT)) / float64(mtu)
			f.window = max(1, int(full*2*s.Float64()))
		}
		s.Rate(uint32(i), f.rate, 0)
		s.idle.Set(uint32(i), units.Time(s.Int64N(int64(f.rate.Duration(mtu)))))
	}
	return s
}

// run continues until each flow has been measured.
func (s *shaper) run(j *experiment.Job) {
	reordered, early, left, slowest := 0, 0, len(s.flows), s.flows[0].rate
	change := units.Time(us)
	for left > 0 {
		for f, some := s.Head(s.now); some && !s.free.After(s.now); f, some = s.Head(s.now) {
			s.Sent(f, mtu)
			s.free = s.now.Add(shapedLink.Duration(mtu))
			x, start := &s.flows[f], s.Started(f)
			if s.now.Before(start) || x.sent > 0 && start.Before(x.last.Add(x.rate.Duration(mtu))) {
				early++
			}
			if x.sent > 0 && !x.last.Before(start) {
				reordered++
			}
			if x.last = start; x.measure(s.now) {
				left--
			}
			if x.out++; x.window > 0 {
				s.acks = append(s.acks, ack{s.now.Add(shapedRTT), f})
			}
			if x.window == 0 || x.out < x.window {
				s.Again(f, mtu)
			}
		}
		next, some := s.Next()
		if s.free.After(s.now) && (!some || s.free.Before(next)) {
			next, some = s.free, true
		}
		if s.Changes && (!some || change.Before(next)) {
			next, some = change, true
		}
		if s.received < len(s.acks) && (!some || s.acks[s.received].at.Before(next)) {
			next, some = s.acks[s.received].at, true
		}
		if begin, more := s.idle.Next(); more && (!some || begin.Before(next)) {
			next = begin
		}
		s.now = next
		s.begin()
		if s.Changes && !change.After(s.now) {
			s.change(uint32(s.IntN(len(s.flows))))
			change = change.Add(us)
		}
		s.acknowledge()
	}
	for i := range s.flows {
		j.Value("error", s.flows[i].error)
		slowest = min(slowest, s.flows[i].base)
	}
	j.Value("reordered", float64(reordered))
	j.Value("early", float64(early))
	j.Value("slowest", float64(slowest))
}

// measure counts a packet that leaves, and reports whether that completes the measurement of its
// flow.
func (x *shaped) measure(now units.Time) bool {
	if x.sent++; x.sent == 1 {
		x.begin, x.since = now, now
		return false
	}
	if x.counted++; x.done || now.Sub(x.begin) < x.over {
		return false
	}
	x.entitle(now)
	x.done = true
	may := x.entitled
	if x.window > 0 { // a window is sent once in a round trip
		may = min(may, float64(x.window)*float64(mtu)*now.Sub(x.begin).Seconds()/
			shapedRTT.Seconds())
	}
	x.error = math.Abs(float64(x.counted)*float64(mtu)/may - 1)
	return true
}

func (x *shaped) entitle(now units.Time) {
	x.entitled += float64(x.rate) / 8 * now.Sub(x.since).Seconds()
	x.since = now
}

// change gives a flow another rate for which the link has room.
func (s *shaper) change(f uint32) {
	x := &s.flows[f]
	if x.sent > 0 {
		x.entitle(s.now)
	}
	x.rate = units.BitRate(float64(x.base) * (0.5 + 0.5*s.Float64()))
	s.Rate(f, x.rate, s.now)
}

// begin starts flows whose time has come.
func (s *shaper) begin() {
	for f, due := s.idle.Due(s.now); due; f, due = s.idle.Due(s.now) {
		s.Wait(f, mtu, s.now)
	}
}

// acknowledge opens windows.
func (s *shaper) acknowledge() {
	for ; s.received < len(s.acks) && !s.acks[s.received].at.After(s.now); s.received++ {
		f := s.acks[s.received].flow
		s.flows[f].out--
		s.Wait(f, mtu, s.now)
	}
	if s.received > 1<<16 {
		s.acks, s.received = s.acks[:copy(s.acks, s.acks[s.received:])], 0
	}
}

// shapeExample is the worked example: flows of 100 and 50 Gb/s, and a link that is never busy.
func shapeExample(j *experiment.Job) {
	l := pace.NewLimiter(0, pace.Slot)
	for f, rate := range []units.BitRate{100 * gbps, 50 * gbps} {
		l.Rate(uint32(f), rate, 0)
		l.Wait(uint32(f), mtu, 0)
	}
	for now := units.Time(0); now.Before(units.Time(us + pace.Slot)); now, _ = l.Next() {
		for f, some := l.Head(now); some; f, some = l.Head(now) {
			l.Sent(f, mtu)
			if l.Started(f).Before(units.Time(us)) {
				j.Value([]string{"A", "B"}[f], now.Sub(0).Nanoseconds())
			}
			l.Again(f, mtu)
		}
	}
}

// releases returns how many packets a second a core releases, by run.
func releases(flows, runs int) (perSecond []float64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := newShaper(limited{Flows: flows}, 1)
	s.now = units.Time(units.Second)
	s.begin()
	now, turn := s.now, 8*shapedLink.Duration(mtu)
	for range runs {
		const run = 100_000
		begin := threadTime()
		for n := 0; n < run; now = now.Add(turn) {
			for f, some := s.Head(now); some; f, some = s.Head(now) {
				s.Sent(f, mtu)
				s.Again(f, mtu)
				n++
			}
		}
		if took := threadTime() - begin; took > 0 {
			perSecond = append(perSecond, run/took.Seconds())
		}
	}
	return slices.Clip(perSecond)
}
