package prioplus

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig4: a low flow while two high ones come and go.
var fig4 = &experiment.Experiment{
	ID:    "prioplus/fig4",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		low, err := virtual("n=8", 2, wai)
		if err != nil {
			return err
		}
		high, err := virtual("n=8", 6, wai)
		if err != nil {
			return err
		}
		config := micro(j.Seed, 7*units.Millisecond)
		config.Interval, config.Jitter = bin, 0
		watched := watch{from: 200 * units.Microsecond}
		r, err := config.Run(j.Context(), []sim.Flow{
			{Control: low, OnEvent: watched.received},
			{Start: units.Millisecond, Bytes: 12_000_000, Control: high},
			{Start: 4 * units.Millisecond, Bytes: 12_000_000, Control: high},
		})
		if err != nil {
			return err
		}
		phases, returns := withoutReturns(watched.phases(2*r.Traces[0].BaseRTT, r.End))
		j.Value("returns", returns...)
		for _, p := range phases {
			j.Value("phase", float64(p.state))
			j.Series("phase").Add(p.from.Seconds(), float64(p.state))
		}
		j.Value("silent", float64(watched.sentWhileStopped(r.Traces[0].BaseRTT)))
		all := binsOf(bin, r.Traces)
		for i, name := range []string{"priority 2", "priority 6, first", "priority 6, second"} {
			binsOf(bin, r.Traces[i:i+1]).keep(j, name)
		}
		second := r.Traces[2]
		j.Value("takeover",
			seconds(binsOf(bin, r.Traces[2:]).takeover(all, second.Start, second.Finish)))
		// too small to see
		for k := 0; k < len(watched.delay.X); k += 1 + len(watched.delay.X)/2000 {
			j.Series("delay").Add(watched.delay.X[k], watched.delay.Y[k])
		}
		keepQueue(j, "queue", r, 10*units.Microsecond)
		return nil
	},
	Judge: func(r *experiment.Results) {
		var phases []claims.Value
		for _, p := range r.Values("phase") {
			phases = append(phases, claims.Text([...]string{"send", "probe"}[int(p)]))
		}
		r.Claim("phases", claims.List(phases...))
		r.Note("phases", "without %d returns of at most %.2f ms: the low flow gave up a whole BDP "+
			"at once, the high flow adds a quarter of one in a round trip, and so the first "+
			"probe, 28 µs after the stop, finds room in the queue; the second stop lasts",
			len(r.Values("returns")), 1e3*r.Values("returns").Max())
		r.Claim("probe-only", r.Values("silent")[0])
		r.Claim("adaptive-step", experiment.Seconds(r.Values("takeover")[0]))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.Lines("goodput", "A flow of priority 2, and two of priority 6", "time (ms)",
			"goodput (Gb/s)")
		for _, name := range []string{"priority 2", "priority 6, first", "priority 6, second"} {
			r.Series(name).Scaled(1e3, 1e-9).Draw(p, name)
		}
		d := r.Series("delay").Scaled(1e3, 1e6)
		delay := figure.Points("delay", "Delays measured by the flow of priority 2: D_target "+
			"20.2 µs, D_limit 22.6 µs", "time (ms)", "delay (µs)")
		return []figure.Figure{p, delay.Add("data and probes", d.X, d.Y)}
	},
}

// phase is what a flow does from a time on.
type phase struct {
	from  units.Duration
	state int
}

const (
	sends = iota
	probes
)

// watch records when a flow sends, and when it stopped and probes.
type watch struct {
	from  units.Duration // earlier events do not count
	all   []phase
	sent  []sending
	delay experiment.Series
}

// sending records a packet that left.
type sending struct {
	at    units.Duration
	bytes units.Bytes
}

func (w *watch) received(ev *cc.Event, a cc.Algorithm, at units.Duration) {
	if delay, ok := ev.FabricDelay(); ok {
		w.delay.Add(at.Seconds(), delay.Seconds())
	}
	if ev.Kind == cc.TX {
		w.sent = append(w.sent, sending{at, ev.Bytes})
	}
	state := sends
	if a.(cc.Observable).Snapshot().Channel.State == cc.Stopped {
		state = probes
	}
	if n := len(w.all); n == 0 || w.all[n-1].state != state {
		w.all = append(w.all, phase{at, state})
	}
}

// phases returns the phases of at least a given length.
func (w *watch) phases(least, end units.Duration) (long []phase) {
	for i, p := range w.all {
		until := end
		if i+1 < len(w.all) {
			until = w.all[i+1].from
		}
		p.from = max(p.from, w.from)
		if until-p.from >= least && (len(long) == 0 || long[len(long)-1].state != p.state) {
			long = append(long, p)
		}
	}
	return long
}

// briefReturn is the longest return that counts as a part of the stop around it. The flow otherwise
// sends for more than a millisecond.
const briefReturn = 200 * units.Microsecond

// withoutReturns removes sending between two stops that is brief, and returns how long it took, in
// seconds.
func withoutReturns(all []phase) (left []phase, returns []float64) {
	for i, p := range all {
		if n := len(left); p.state == probes && n > 1 && left[n-2].state == probes {
			if took := all[i].from - left[n-1].from; took <= briefReturn {
				left = left[:n-1] // the stop before goes on
				returns = append(returns, took.Seconds())
				continue
			}
		}
		left = append(left, p)
	}
	return left, returns
}

// sentWhileStopped counts what left later than a round trip after a stop, before the flow resumed.
func (w *watch) sentWhileStopped(rtt units.Duration) (sum units.Bytes) {
	for i, p := range w.all {
		if p.state == sends {
			continue
		}
		for _, s := range w.sent {
			if s.at > p.from+rtt && (i+1 == len(w.all) || s.at < w.all[i+1].from) {
				sum += s.bytes
			}
		}
	}
	return sum
}
