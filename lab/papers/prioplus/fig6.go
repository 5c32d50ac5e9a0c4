package prioplus

import (
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// Figure 6 with a second made a microsecond: each hop takes one, a packet at the bottleneck two.
// The packets are long, so that acknowledgements and the first link take next to nothing.
const (
	fig6Hop     = units.Microsecond
	fig6Service = 2 * units.Microsecond
	fig6Payload = 4 * units.KiB
	fig6Packet  = fig6Payload + sim.Overhead
	fig6Window  = 3 // packets, which just fill the path: a round trip of 4 hops and one service
)

// fig6: a larger window shows in the delay two round trips later.
var fig6 = &experiment.Experiment{
	ID:    "prioplus/fig6",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		for i, name := range []string{"dual", "every"} {
			a, err := runFig6(j, 2-i)
			if err != nil {
				return err
			}
			j.Value(name, a.delays...)
			for k := range a.delays {
				j.Series(name+" delay").Add(float64(k+1), a.delays[k])
				j.Series(name+" window").Add(float64(k+1), a.windows[k])
			}
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		dual := r.Values("dual")[:3]
		r.Claim("two-rtts", experiment.Values{math.Round(dual[0]), math.Round(dual[1]),
			math.Round(dual[2])})
		// The second step is at the end of RTT 2.
		r.Claim("over-reaction", r.Values("every")[3]/fig6Target)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		delay := figure.Lines("delay", "Delay at the ends of round trips, target 6", "round trip",
			"delay (hops)")
		window := figure.Lines("window", "Window after the ends of round trips", "round trip",
			"packets")
		for _, c := range []struct{ name, title string }{{"dual", "a step every two round trips"},
			{"every", "a step every round trip"}} {
			d, w := r.Series(c.name+" delay"), r.Series(c.name+" window")
			delay.Add(c.title, d.X, d.Y)
			window.Add(c.title, w.X, w.Y)
		}
		return []figure.Figure{delay, window}
	},
}

func runFig6(j *experiment.Job, every int) (*adaptive, error) {
	a := &adaptive{window: fig6Window, every: every, warm: 5}
	bottleneck := units.BitRate(fig6Packet.Bits()) * units.BitRate(units.Second/fig6Service)
	_, err := sim.Scenario{
		Topology: sim.Custom(func(p fabric.Parts) *fabric.Network {
			net := fabric.New(p.Config)
			sw := net.AddSwitch("switch", p.Switch)
			for _, rate := range []units.BitRate{800 * units.Gbps, bottleneck} {
				net.Connect(p.AddHost(net), sw, fabric.Link{Rate: rate, Delay: fig6Hop})
			}
			return net
		}),
		Hosts:    sim.Hosts{PathMTU: fig6Payload},
		Workload: sim.Workload{Flows: []sim.Flow{{From: 0, To: 1, Control: a}}},
		Seed:     j.Seed,
		Until:    295 * units.Microsecond,
	}.Run(j.Context())
	return a, err
}

// fig6Target is the D_target of the figure in hops, without the packet's own service.
const fig6Target = 6

// adaptive is adaptive increase (section 4.2.3) and nothing else, once in so many round trips, from
// a window that has settled after warm of them.
type adaptive struct {
	window          float64
	every, warm     int
	end             uint32
	delays, windows []float64
}

func (a *adaptive) Name() string                      { return "adaptive increase" }
func (a *adaptive) String() string                    { return a.Name() }
func (a *adaptive) New(cc.Path) (cc.Algorithm, error) { return a, nil }
func (a *adaptive) Events() cc.EventSet               { return cc.Events(cc.RTT) }
func (a *adaptive) Start(units.Time) (d cc.Decision)  { return a.decide() }

// decide rounds to whole packets: those of the figure are, and what takes a little time here makes
// steps a little smaller.
func (a *adaptive) decide() cc.Decision {
	return cc.Decision{Window: units.Bytes(math.Round(a.window)) * fig6Payload}
}

func (a *adaptive) On(ev *cc.Event, _ units.Time) cc.Decision {
	if !ev.Acknowledges(a.end) {
		return a.decide()
	}
	a.end = ev.SndNxt
	if a.warm--; a.warm >= 0 {
		return a.decide()
	}
	const target = fig6Target*fig6Hop + fig6Service
	if len(a.delays)%a.every == 0 && ev.Delay < target {
		a.window += min(a.window/2, float64(target-ev.Delay)/float64(ev.Delay)*a.window)
	}
	a.delays = append(a.delays, float64(ev.Delay-fig6Service)/float64(fig6Hop))
	a.windows = append(a.windows, a.window)
	return a.decide()
}
