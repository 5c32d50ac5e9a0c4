package taurus

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"weak"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/cc/eventlog"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// table3: the life of an algorithm (appendix A), and whether its decisions behind the device are
// those in line.
var table3 = &experiment.Experiment{
	ID:    "taurus/table3",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		if err := live(j); err != nil {
			return err
		}
		for _, c := range controls() {
			differ, err := compare(c, j.Seed)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name(), err)
			}
			j.Value("differ", float64(differ))
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("lifecycle", experiment.With("order_ok", r.Values("ordered").Min() > 0).
			With("live", r.Values("live")[0]))
		r.Note("lifecycle", "%d flows, of which %.0f were alive before; the garbage collector "+
			"has freed what the agent no longer holds",
			len(r.Values("ordered")), r.Values("lived")[0])
		r.Claim("same-decisions", r.Values("differ").Sum())
		r.Note("same-decisions", "%d algorithms, %d events each, of %d flows",
			len(r.Values("differ")), comparedEvents, comparedFlows)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "algorithms",
			Title:  "Decisions behind the device that differ from those in line",
			Header: []string{"algorithm", "of 100000 events"}}
		for i, c := range controls() {
			t.Row(c.Name(), r.Values("differ")[i])
		}
		return []figure.Figure{t}
	},
}

// calls records the calls, in order.
type calls struct {
	nicoffload.Device
	of map[nicoffload.Handle][]string
}

func (c *calls) took(h nicoffload.Handle, call string) { c.of[h] = append(c.of[h], call) }

// Configure implements nicoffload.Device.
func (c *calls) Configure(h nicoffload.Handle, b nicoffload.Binding) error {
	c.took(h, "bind")
	return c.Device.Configure(h, b)
}

// Write implements nicoffload.Device.
func (c *calls) Write(results []nicoffload.Result) int {
	for i := range results {
		c.took(results[i].Flow, "update")
	}
	return c.Device.Write(results)
}

// lived is an algorithm that records its calls.
type lived struct {
	*listener
	setup func()
}

// Start implements cc.Starter.
func (l *lived) Start(units.Time) cc.Decision {
	l.setup()
	return l.first
}

// live runs flows from their beginning to the agent's end.
func live(j *experiment.Job) error {
	const flows = 16
	nic, err := openFlows(flows, nicoffload.Binding{}, nicoffload.Immediate, 0)
	if err != nil {
		return err
	}
	device := &calls{Device: nic, of: map[nicoffload.Handle][]string{}}
	var contexts []weak.Pointer[lived]
	agent, err := nicoffload.NewAgent(nicoffload.AgentConfig{Device: device,
		Aggregation: &nicoffload.Immediate, Adopt: func(h nicoffload.Handle) (cc.Algorithm, error) {
			device.took(h, "init")
			window := units.Bytes(0)
			a := &lived{listener: &listener{events: cc.Events(eventClasses...)}, setup: func() {
				device.took(h, "setup")
			}}
			a.on = func(*cc.Event, units.Time) cc.Decision {
				device.took(h, "handle")
				window += mtu
				return cc.Decision{Window: window}
			}
			contexts = append(contexts, weak.Make(a))
			return a, nil
		}}, 0)
	if err != nil {
		return err
	}
	for now := range units.Time(3) {
		for f := range flows {
			for _, k := range eventClasses {
				nic.Report(nicoffload.NewHandle(uint32(f), 0), happening(k, 0), now)
			}
		}
		agent.Poll(now)
	}
	alive := func() (n int) {
		runtime.GC()
		for _, c := range contexts {
			if c.Value() != nil {
				n++
			}
		}
		return n
	}
	j.Value("lived", float64(alive()))
	agent.Teardown()
	for f := range flows {
		h := nicoffload.NewHandle(uint32(f), 0)
		device.took(h, "teardown")
		nic.Report(h, happening(cc.ACK, 0), 3)
	}
	agent.Poll(3) // this has no effect any more
	for f := range flows {
		order := slices.Compact(device.of[nicoffload.NewHandle(uint32(f), 0)])
		j.Value("ordered",
			indicator(strings.Join(order,
				" ") == "init setup bind handle update handle update handle update teardown"))
	}
	j.Value("live", float64(alive()))
	runtime.KeepAlive(agent)
	return nil
}

const (
	comparedEvents = 100_000
	comparedFlows  = 3
)

// controls returns every algorithm, and one around another.
func controls() (all []cc.Factory) {
	for _, name := range cc.Names() {
		if name == "d2tcp" {
			name += ":deadline=1s"
		}
		all = append(all, parsed(name))
	}
	return append(all, prioplus.Spec{Inner: parsed("swift"), Priority: 2})
}

// parsed returns an algorithm of cc by a known name.
func parsed(name string) cc.Spec {
	s, err := cc.Parse(name)
	if err != nil {
		panic(err)
	}
	return s
}

// compare returns the number of decisions that differ.
func compare(c cc.Factory, seed uint64) (differ int, err error) {
	path := cc.Path{
		LineRate: 100 * gbps, BaseRTT: 12 * us, Payload: mtu, Hops: 3, Seed: 7,
		Signals: cc.SignalDelay | cc.SignalEndpoint | cc.SignalMarks | cc.SignalINT | cc.SignalSRC |
			cc.SignalOneWay,
	}
	split, err := nicoffload.NewShared(nicoffload.Config{},
		nicoffload.AgentConfig{MinRate: 1, MaxRate: math.MaxInt64}, nil, 0)
	if err != nil {
		return 0, err
	}
	inline := &cc.Inline{}
	both := []cc.Controller{inline, split}
	for range comparedFlows {
		for _, k := range both {
			a, err := c.New(path)
			if err != nil {
				return 0, err
			}
			k.Add(a, 0)
		}
	}
	events, now := eventlog.New(comparedFlows, rand.New(rand.NewPCG(seed, 3))), units.Time(0)
	decisions := map[cc.Decision]bool{}
	for range comparedEvents {
		now = now.Add(units.Duration(events.Int64N(int64(3 * us))))
		ev := events.Next(cc.Flow(events.IntN(comparedFlows)), now)
		for _, k := range both {
			if own := *ev; k.Events(ev.Flow).Has(ev.Kind) {
				k.Report(&own, now)
			}
			k.Poll(now)
		}
		for f := range cc.Flow(comparedFlows) {
			want, _ := inline.Decision(f)
			got, _ := split.Decision(f)
			if want.WakeAt = 0; want != got {
				differ++
			}
			decisions[got] = true
		}
	}
	if len(decisions) < 2 && c.Name() != "fixed" {
		return 0, errors.New("it decided nothing")
	}
	return differ, nil
}
