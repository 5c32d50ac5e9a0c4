package hostlab

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// widths are the widths of a channel, a+b, of which b is a fifth as in PrioPlus's 3.2 and 0.8 µs.
var widths = []units.Duration{4 * us, 8 * us, 16 * us, 32 * us, 64 * us, 128 * us}

// channelsOf returns PrioPlus's table with channels of a width.
func channelsOf(width units.Duration) string {
	return fmt.Sprintf("n=8,a=%v,b=%v", width*4/5, width/5)
}

// priorityHost is a kind of host whose required channel width is measured.
type priorityHost struct {
	Name  string
	World world
	Noisy bool // delays vary as on PrioPlus's testbed
}

var priorityHosts = []priorityHost{
	{"ideal", world{Name: "ideal"}, false},
	{"noise", world{Name: "noise", Which: all}, true},
	{"naps", world{Name: "naps", Which: all, Host: machine{Naps: fabric.DefaultNaps}}, false},
	{"interrupts", world{
		Name: "interrupts", Which: all,
		Host: machine{Coalesce: fabric.Coalesce{Every: 20 * us, Frames: 32}},
	}, false},
	{"1 ms each 100 ms", preemptedWorld(0, all), false},
	{"10 ms each 100 ms", preemptedWorld(1, all), false},
	{"3 ms each 10 ms", preemptedWorld(2, all), false},
}

// priorityCell is two priorities that meet, in channels of a width.
type priorityCell struct {
	Host   priorityHost
	Stamps bool
	Width  units.Duration
}

func (c priorityCell) name() string {
	stamps := "no stamps"
	if c.Stamps {
		stamps = "stamps"
	}
	return fmt.Sprintf("%s, %s, %v", c.Host.Name, stamps, c.Width)
}

// Two priorities of two flows each: the lower sends from the beginning, the higher for a while.
const (
	lower, higher  = 2, 5
	flowsOfEach    = 2
	settle         = 30 * ms
	takeoverBin    = 200 * us
	mostlyTheirs   = 0.9
	heldForTakover = 2 * ms
)

func priorityWidths(s experiment.Scale) []units.Duration {
	if s == experiment.Small {
		return []units.Duration{4 * us, 64 * us}
	}
	return widths
}

// virtualPriority: PrioPlus between hosts that measure delays badly.
var virtualPriority = &experiment.Experiment{
	ID:    "host/prioplus",
	Seeds: seeds,
	Cells: func(s experiment.Scale) (cells []experiment.Cell) {
		for _, h := range priorityHosts {
			for _, stamps := range []bool{true, false} {
				for _, w := range priorityWidths(s) {
					c := priorityCell{h, stamps, w}
					cells = append(cells, experiment.Cell{Name: c.name(), Params: c})
				}
			}
		}
		return cells
	},
	Run:     runPriorities,
	Judge:   judgePriorities,
	Figures: drawPriorities,
}

// needed is the narrowest channel with which the higher priority has its bytes.
func needed(r *experiment.Results, h priorityHost, stamps bool) units.Duration {
	for _, w := range priorityWidths(r.Scale) {
		if r.Cell(priorityCell{h, stamps, w}.name()).Values("share").Mean() >= mostlyTheirs {
			return w
		}
	}
	return units.Forever
}

func judgePriorities(r *experiment.Results) {
	widest := priorityWidths(r.Scale)[len(priorityWidths(r.Scale))-1]
	share, takeover, goodput := claims.Value{}, claims.Value{}, claims.Value{}
	with, without := claims.Value{}, claims.Value{}
	for _, h := range priorityHosts {
		with = with.With(h.Name, claims.Time(needed(r, h, true)))
		without = without.With(h.Name, claims.Time(needed(r, h, false)))
		c := r.Cell(priorityCell{h, false, widest}.name())
		share = share.With(h.Name, claims.Number(c.Values("share").Mean()))
		takeover = takeover.With(h.Name, experiment.Seconds(c.Values("takeover").Percentile(50)))
		ideal := r.Cell(priorityCell{priorityHosts[0], false, widest}.name())
		ratio := c.Values("goodput").Mean() / ideal.Values("goodput").Mean()
		goodput = goodput.With(h.Name, claims.Number(ratio))
	}
	r.Claim("width-stamps", with)
	r.Claim("width", without)
	r.Claim("share", share)
	r.Claim("takeover", takeover)
	r.Claim("goodput", goodput)
	notePriorities(r)
}

func drawPriorities(r *experiment.Results) (figures []figure.Figure) {
	draw := func(name, title, unit, value string, k float64, stamps bool) {
		p := figure.Lines(name, title, "width of a channel (µs)", unit)
		p.X.Log = true
		for _, h := range priorityHosts {
			var x []float64
			var y experiment.Measures
			mean := func(c experiment.Pool) float64 { return k * c.Values(value).Mean() }
			for _, w := range priorityWidths(r.Scale) {
				c := r.Cell(priorityCell{h, stamps, w}.name())
				if v := mean(c); !math.IsInf(v, 0) && !math.IsNaN(v) {
					x = append(x, w.Microseconds())
					y.Add(c, mean)
				}
			}
			y.Line(p, h.Name, x)
		}
		figures = append(figures, p)
	}
	for _, stamps := range []bool{true, false} {
		name := map[bool]string{true: "stamps", false: "none"}[stamps]
		with := map[bool]string{true: "with time stamps", false: "without time stamps"}[stamps]
		draw("share-"+name, "Share of the higher priority, "+with, "share", "share", 1, stamps)
		draw("takeover-"+name, "Time to 90 % of the link, "+with, "ms", "takeover", 1e3, stamps)
		draw("goodput-"+name, "Goodput of both priorities, "+with, "Gb/s", "goodput", 1e-9, stamps)
	}
	return figures
}

func runPriorities(j *experiment.Job) error {
	c := j.Params.(priorityCell)
	both := experiment.At(j.Scale, 100*ms, 30*ms)
	w := c.Host.World
	w.Stamps = c.Stamps
	until := settle + both
	config := network(j.Seed, w, 2*flowsOfEach, until)
	config.Interval = takeoverBin
	if c.Host.Noisy {
		config.HostOf = noisy(j.Seed, w, 2*flowsOfEach)
	}
	var flows []sim.Flow
	for _, p := range []int{lower, higher} {
		control, err := (algorithm{Name: "swift", Priority: p}).control(channelsOf(c.Width))
		if err != nil {
			return err
		}
		f := sim.Flow{Control: control}
		if p == higher {
			f.Start = settle
		}
		flows = append(flows, sim.Many(flowsOfEach, f)...)
	}
	r, err := config.Run(j.Context(), flows)
	if err != nil {
		return err
	}
	total := r.Goodput()
	high := sim.Goodput(r.Traces[flowsOfEach:])
	from, end := units.Time(settle), units.Time(until)
	j.Value("share", high.Mean(from, end)/total.Mean(from, end))
	j.Value("goodput", total.Mean(units.Time(settle/3), end))
	j.Value("takeover", takeoverTime(high, total, from, end).Seconds())
	j.Value("queue", r.Queues[0].Length.Mean(from, end))
	return nil
}

// takeoverTime returns how long it takes until the higher priority has its share and keeps it for a
// while; units.Forever if it never does.
func takeoverTime(high, total *fabric.Series, from, end units.Time) units.Duration {
	for at := from; !at.Add(heldForTakover).After(end); at = at.Add(takeoverBin) {
		until := at.Add(heldForTakover)
		if all := total.Mean(at, until); all > 0 && high.Mean(at, until) >= mostlyTheirs*all {
			return at.Sub(from)
		}
	}
	return units.Forever
}

// noisy hosts process what they receive late, as the hosts of PrioPlus's testbed do.
func noisy(seed uint64, w world, senders int) func(int, *fabric.HostConfig) {
	configure := w.configure(senders)
	random := rand.New(rand.NewPCG(seed, 2))
	return func(host int, c *fabric.HostConfig) {
		configure(host, c)
		c.Jitter = func() units.Duration { return workload.DelayNoise.Sample(random) }
	}
}

// notePriorities explains failed claims.
func notePriorities(r *experiment.Results) {
	r.Note("share", "the takeover of channels of 64 and 128 µs takes milliseconds of 70 or, at "+
		"small scale, of 30 (11 ms with 128 µs between ideal hosts, 0.90 of the bytes; 21 ms "+
		"where hosts nap). Preempted for 3 ms of 10, hosts of the higher priority are away at "+
		"times at which those of the lower are not")
	r.Note("width",
		"where no channel suffices, takeovers take too much of the time, or hosts of the higher "+
			"priority are away for too much of it")
	r.Note("width-stamps",
		"as width; time stamps show what passes in hosts, but not what hosts fail to do")
	r.Note("takeover", "channels of 128 µs fill in 11 ms, and half as fast where hosts nap; or "+
		"the takeover begins while a host is away")
	r.Note("goodput", "a stopped flow that probes learns late that the link is free")
}
