package hostlab

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// idle is the world in which pollers look at their ports all the time.
var idle = world{Name: "always looks"}

// slack is a kernel's default timer slack.
const slack = 50 * us

// napWorlds are the worlds of hosts that do not look at their ports all the time.
var napWorlds = []world{
	idle,
	{Name: "naps", Which: all, Host: machine{Naps: fabric.DefaultNaps}},
	{Name: "naps, 50 µs late", Which: all, Host: machine{Naps: lateNaps()}},
	{Name: "looks each 50 µs", Which: all, Host: machine{Naps: fabric.Naps{Short: 50 * us}}},
	interrupts,
}

// interrupts is the world of NICs that deliver batches, and whose pollers find nothing until then.
var interrupts = world{
	Name: "interrupts", Which: all,
	Host: machine{Coalesce: fabric.Coalesce{Every: 50 * us, Frames: 32}},
}

func lateNaps() fabric.Naps {
	n := fabric.DefaultNaps
	n.Slack = slack
	return n
}

// processor models hosts whose cores are shared: 100 ns a round, and 100 ns a packet.
var processor = fabric.CPU{PerPoll: 100 * units.Nanosecond, PerPacket: 100 * units.Nanosecond}

// coreWorlds are the worlds of hosts whose cores have other work.
var coreWorlds = []world{
	{Name: "own cores", Which: all, Host: machine{CPU: processor}},
	{Name: "one core", Which: all, Host: sharing(0, 25*us)},
	{Name: "one core, yielded at once", Which: all, Host: sharing(0, 0)},
	{Name: "a loop beside a sender", Which: oneOf, Host: sharing(1, 25*us)},
	{Name: "a loop beside the receiver", Which: receiver, Host: sharing(1, 25*us)},
}

// sharing hosts have one core, together with a number of programs that never stop, and yield it
// after a while.
func sharing(loops int, spin units.Duration) machine {
	return machine{CPU: processor, Share: fabric.Share{Core: 1, Loops: loops, Spin: spin}}
}

// oneSeed is enough where hosts have no phases of their own.
func oneSeed(experiment.Scale) int { return 1 }

// napCell is an algorithm between hosts of a world, with a number of senders.
type napCell struct {
	Algorithm algorithm
	World     world
	Senders   int
}

func (c napCell) name() string {
	return fmt.Sprintf("%s, %d", cellName(c.Algorithm, c.World), c.Senders)
}

var napSenders = []int{1, 4}

func napCells(worlds []world) func(experiment.Scale) []experiment.Cell {
	return func(experiment.Scale) (cells []experiment.Cell) {
		for _, w := range worlds {
			for _, a := range algorithms {
				for _, n := range napSenders {
					c := napCell{a, w, n}
					cells = append(cells, experiment.Cell{Name: c.name(), Params: c})
				}
			}
		}
		return cells
	}
}

// naps: pollers that sleep, and NICs that interrupt them.
var naps = &experiment.Experiment{
	ID:    "host/naps",
	Seeds: oneSeed,
	Cells: napCells(napWorlds),
	Run:   runNaps,
	Judge: func(r *experiment.Results) {
		judgeNaps(r, napWorlds[:len(napWorlds)-1])
		batches := experiment.Keyed{}
		for _, a := range controlled {
			batches = batches.With(a.Name, leastGoodput(r, a, interrupts))
		}
		r.Claim("interrupts", batches)
		noteNaps(r)
	},
	Figures: func(r *experiment.Results) []figure.Figure { return drawNaps(r, napWorlds) },
}

// cores: pollers that share a core with each other, or with a program that never stops.
var cores = &experiment.Experiment{
	ID:      "host/cores",
	Seeds:   oneSeed,
	Cells:   napCells(coreWorlds),
	Run:     runNaps,
	Judge:   func(r *experiment.Results) { judgeNaps(r, coreWorlds); noteCores(r) },
	Figures: func(r *experiment.Results) []figure.Figure { return drawNaps(r, coreWorlds) },
}

// judgeNaps compares algorithms with fixed in the same world, and their queues with those between
// the hosts of the first world.
func judgeNaps(r *experiment.Results, worlds []world) {
	goodput, latency, queue := claims.Value{}, claims.Value{}, claims.Value{}
	for _, a := range controlled {
		least, late, most := math.Inf(1), 0.0, 0.0
		four := func(w world) float64 {
			return r.Cell(napCell{a, w, 4}.name()).Values("queue").Mean()
		}
		for _, w := range worlds {
			least = min(least, leastGoodput(r, a, w))
			own, base := r.Cell(napCell{a, w, 1}.name()),
				r.Cell(napCell{algorithms[0], w, 1}.name())
			late = max(late, median(own.Values("latency"))/median(base.Values("latency")))
			most = max(most, four(w)-four(worlds[0]))
		}
		goodput = goodput.With(a.Name, claims.Number(least))
		latency = latency.With(a.Name, claims.Number(late))
		queue = queue.With(a.Name, claims.Size(units.Bytes(most)))
	}
	r.Claim("goodput", goodput)
	r.Claim("latency", latency)
	r.Claim("queue", queue)
	r.Claim("errors", r.Values("failed").Sum())
}

// leastGoodput is the goodput of an algorithm relative to fixed in a world, with one sender or with
// four, whichever is less.
func leastGoodput(r *experiment.Results, a algorithm, w world) float64 {
	least := math.Inf(1)
	for _, n := range napSenders {
		own, base := r.Cell(napCell{a, w, n}.name()), r.Cell(napCell{algorithms[0], w, n}.name())
		least = min(least, own.Values("goodput").Mean()/base.Values("goodput").Mean())
	}
	return least
}

// median is infinite if nothing completed.
func median(v experiment.Values) float64 {
	if len(v) == 0 {
		return math.Inf(1)
	}
	return v.Percentile(50)
}

func drawNaps(r *experiment.Results, worlds []world) (figures []figure.Figure) {
	var names []string
	for _, w := range worlds {
		names = append(names, w.Name)
	}
	draw := func(name, title, unit string, senders int, of func(experiment.Pool) float64) {
		p := figure.Bars(name, title, unit, names...)
		for _, a := range algorithms {
			var heights experiment.Measures
			for _, w := range worlds {
				heights.Add(r.Cell(napCell{a, w, senders}.name()), of)
			}
			heights.Bars(p, a.Name)
		}
		figures = append(figures, p)
	}
	goodput := func(c experiment.Pool) float64 { return c.Values("goodput").Mean() * 1e-9 }
	draw("goodput-1", "Goodput of one flow", "Gb/s", 1, goodput)
	draw("goodput-4", "Goodput of four flows", "Gb/s", 4, goodput)
	latency := func(c experiment.Pool) float64 { return median(c.Values("latency")) * 1e6 }
	draw("latency", "Median time of a WRITE of 64 KiB, one at a time", "µs", 1, latency)
	draw("queue", "Mean queue of four flows", "KB", 4, func(c experiment.Pool) float64 {
		return c.Values("queue").Mean() * 1e-3
	})
	return figures
}

func runNaps(j *experiment.Job) error {
	c := j.Params.(napCell)
	until := experiment.At(j.Scale, 120*ms, 20*ms)
	if err := runLong(j, longCell{c.Algorithm, c.World}, c.Senders, until); err != nil {
		return err
	}
	if c.Senders > 1 {
		return nil
	}
	return runLatency(j, c, until)
}

// message is the size of the messages whose latency is measured.
const message = 64 * units.KiB

// runLatency records the latencies of single WRITEs with pauses between them.
func runLatency(j *experiment.Job, c napCell, until units.Duration) error {
	s, err := between(j.Seed, c.Algorithm, c.World, c.Senders)
	if err != nil {
		return err
	}
	s.Until = until
	s.Workload.Requests = []sim.Requests{{To: c.Senders, Bytes: message, Think: 200 * us,
		Start: ms}}
	r, err := s.Run(j.Context())
	if err != nil {
		return err
	}
	j.Value("latency")
	for _, w := range r.Requests[0].Done {
		if w.Posted > 2*ms {
			j.Value("latency", w.Took().Seconds())
		}
	}
	return nil
}

// between returns a scenario of senders and a receiver, or of hosts that are both, with the control
// of an algorithm on all connections.
func between(seed uint64, a algorithm, w world, senders int) (sim.Scenario, error) {
	control, err := a.control("8")
	if err != nil {
		return sim.Scenario{}, err
	}
	var queues fabric.Queues
	queues[0].ECN = a.ECN
	s := sim.Scenario{
		Topology: sim.Star(senders+1, fabric.Link{Rate: rate, Delay: delay}),
		Hosts: sim.Hosts{
			Machine: fabric.HostConfig{RxDelay: units.Nanosecond}, MachineOf: w.configure(senders),
			PathMTU: payload, Timeout: timeout, Cold: true,
		},
		Scheme: sim.Scheme{
			Control: control, AnswerClass: 0xe0, Switch: fabric.SwitchConfig{Queues: queues.At()},
		},
		Seed: seed,
	}
	if a.Tokens {
		spec, switches, err := tokens()
		if err != nil {
			return s, err
		}
		s.Scheme.Tokens, s.Scheme.Switch, s.Scheme.Selective = &spec, *switches, true
	}
	return s, nil
}

// noteNaps explains failed claims. Numbers are those of full scale.
func noteNaps(r *experiment.Results) {
	r.Note("goodput", "naps cost nothing, even late ones, but polling each 50 µs does: the base "+
		"round trip of 11 µs becomes 50 to 100 µs, of which a window of a BDP fills a fifth. "+
		"There Swift and PrioPlus have four tenths of the link with one flow, DCTCP three tenths "+
		"with four flows, and ToCC a seventh with one, whose tokens and data alternate. TIMELY's "+
		"four flows have four fifths of it, and nine tenths with hosts that poll all the time")
	r.Note("latency", "a WRITE of 64 KiB takes several windows of a BDP, and each of them meets "+
		"a nap")
	r.Note("interrupts", "each endpoint adds the 50 µs for which its NIC may hold a frame "+
		"to its poll gaps, so no algorithm takes a batch for congestion. The round trip is then "+
		"60 to 110 µs, as with a poller that looks each 50 µs, and a window of a BDP fills a "+
		"fifth of it")
	r.Note("queue", "TIMELY: between its thresholds it follows the gradient, not the delay")
}

// noteCores explains failed claims. Numbers are those of full scale.
func noteCores(r *experiment.Results) {
	const windows = "fixed windows are 1.4 ms of the link, which wait while a loop has the " +
		"receiver's core for 3 ms (17.4 Gb/s of four flows); windows of a BDP get the receiver's " +
		"half of the time, 12.2 Gb/s"
	r.Note("goodput",
		windows+". Where all hosts share one core, which they keep for 25 µs without work, a "+
			"round trip is 50 µs or more: 16 to 20 Gb/s of 22, PrioPlus 8, ToCC 4. TIMELY has "+
			"8.5 Gb/s beside the loop: its gradient takes some absences for a growing queue")
	r.Note("latency", "each window of a BDP waits for the core")
	r.Note("queue", "TIMELY, where hosts yield the core at once: between its thresholds it "+
		"follows the gradient, not the delay")
}
