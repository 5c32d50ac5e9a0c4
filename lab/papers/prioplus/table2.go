package prioplus

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// starts are the strategies of table 2 that reach line rate in n round trips.
func starts(n int) []struct {
	name string
	ramp
} {
	return []struct {
		name string
		ramp
	}{{"linear", linear(n)}, {"exponential", exponential(n)}, {"line", lineRate()}}
}

const table2RTTs = 8

// table2: how much starts delay, and what they add to the queue, by formula and in packets.
var table2 = &experiment.Experiment{
	ID:    "prioplus/table2",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		for n := 2; n <= 32; n++ {
			l, e := linear(n).delayed(), exponential(n).delayed()
			j.Series("linear delayed").Add(float64(n), l)
			j.Series("exponential delayed").Add(float64(n), e)
			j.Value("linear off", math.Abs(l/(float64(n)/2)-1))
			if n >= 6 { // before that the first doublings count
				j.Value("exponential off", math.Abs(e/(float64(n)-1.5)-1))
			}
		}
		for _, s := range starts(table2RTTs) {
			worst, _ := s.worst(-s.perRTT, len(s.rate))
			j.Value(s.name+" step", s.step())
			j.Value(s.name+" triangle", worst)

			config := micro(j.Seed, 500*units.Microsecond)
			config.Jitter = 0
			half, err := cc.Parse(fmt.Sprintf("fixed:window=1GiB,rate=%dbps",
				int64(config.Capacity()/2)))
			if err != nil {
				return err
			}
			r, err := config.Run(j.Context(), []sim.Flow{
				{Control: half}, {Start: 100 * units.Microsecond, Control: starter{s.name, s.ramp}},
			})
			if err != nil {
				return err
			}
			j.Value(s.name+" peak", r.Queues[0].Length.Max(units.Time(100*units.Microsecond),
				units.Time(r.End)))
			keepQueue(j, s.name, r, units.Microsecond)
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("bytes-linear", r.Values("linear off").Max())
		r.Claim("bytes-exp", r.Values("exponential off").Max())
		buffer, peak := claims.Value{}.With("line", claims.Number(r.Values("line step")[0])),
			claims.Value{}
		for _, s := range []struct{ name, short string }{{"exponential", "exp"},
			{"linear", "lin"}} {
			buffer = buffer.With(s.short+"_step", claims.Number(r.Values(s.name + " step")[0]))
			buffer = buffer.With(s.short+"_triangle",
				claims.Number(r.Values(s.name + " triangle")[0]))
		}
		for _, s := range starts(table2RTTs) {
			peak = peak.With(s.name, claims.Number(r.Values(s.name + " peak")[0]))
		}
		r.Claim("buffer", buffer)
		r.Claim("fabric-order", peak)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		delayed := figure.Lines("delayed", "Bytes delayed against a start at line rate",
			"round trips to line rate", "BDP")
		queue := figure.Steps("queue", "Queue of a start in 8 round trips beside half a link of "+
			"constant rate", "time (µs)", "queue (KB)")
		for _, s := range starts(table2RTTs) {
			if s.name != "line" {
				r.Series(s.name+" delayed").Draw(delayed, s.name)
			}
			r.Series(s.name).Scaled(1e6, 1e-3).Draw(queue, s.name)
		}
		return []figure.Figure{delayed, queue}
	},
}

// starter is a flow that reaches line rate by a ramp, without a window, until it learns of a queue.
// Then it takes less than half of the link, so that the queue drains.
type starter struct {
	name string
	ramp ramp
}

func (s starter) Name() string   { return s.name }
func (s starter) String() string { return s.name }

// New implements cc.Factory.
func (s starter) New(path cc.Path) (cc.Algorithm, error) {
	return &starting{ramp: s.ramp, path: path}, nil
}

type starting struct {
	ramp  ramp
	path  cc.Path
	begun units.Time // of the flow; 0 before
	rate  units.BitRate
	done  bool
}

func (*starting) Events() cc.EventSet { return cc.Events(cc.RTT, cc.TX, cc.TIMER) }

func (s *starting) Start(now units.Time) cc.Decision { return s.decide(now) }

func (s *starting) On(ev *cc.Event, now units.Time) cc.Decision {
	if s.begun == 0 && ev.Kind == cc.TX {
		s.begun = now
	}
	if delay, ok := ev.FabricDelay(); ok && delay > s.path.BaseRTT+units.Microsecond && !s.done {
		s.done, s.rate = true, units.BitRate(0.4*float64(s.path.LineRate))
	}
	return s.decide(now)
}

func (s *starting) decide(now units.Time) cc.Decision {
	const line = float64(rate) * payload / packet // rates are of payload
	d := cc.Decision{Window: units.GiB, Rate: s.rate}
	if !s.done {
		since := units.Duration(0)
		if s.begun > 0 {
			since = now.Sub(s.begun)
		}
		at := float64(since) / float64(s.path.BaseRTT) * float64(s.ramp.perRTT)
		k := int(at)
		r := s.ramp.at(k) + (at-float64(k))*(s.ramp.at(k+1)-s.ramp.at(k))
		d.Rate = units.BitRate(max(r, 1./256) * line)
		d.WakeAt = now.Add(s.path.BaseRTT / 16)
	}
	return d
}
