package tocc

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// split is where it is decided what a NIC does.
type split string

const (
	inLine split = "in line"
	// the NIC sends and uses tokens, an agent says how many may be under way
	offloaded split = "split"
	naive     split = "naive" // an agent decides of every token
)

// offloadRun is eight flows through one link, and beside them messages of 8 KB, one after the
// other.
type offloadRun struct {
	Rate     units.BitRate
	Control  string // of tokens, by package tocc; "dctcp" is of data, without tokens
	Where    split
	Distance units.Duration // from NIC to agent, each way
	Period   units.Duration // of sums; 0 is nicoffload's default, 10 µs
}

const (
	tokensOnly = twoPackets + ",unsch=0B" // nothing leaves without a token
	mouse      = 8192
)

func (p offloadRun) name() string {
	control := map[string]string{twoPackets: "ToCC",
		tokensOnly: "ToCC, nothing unscheduled"}[p.Control]
	if control == "" {
		control = p.Control
	}
	where := string(p.Where)
	if p.Where != inLine {
		where = fmt.Sprintf("%s, %v", p.Where, p.Distance)
	}
	if p.Period > 0 {
		where += fmt.Sprintf(", sums of %v", p.Period)
	}
	return fmt.Sprintf("%s, %v, %s", control, p.Rate, where)
}

// distances are those of the boundary.
var distances = []units.Duration{0, units.Microsecond, 2 * units.Microsecond, 5 * units.Microsecond}

func offloadRates(s experiment.Scale) []units.BitRate {
	return experiment.At(s, []units.BitRate{25 * units.Gbps, 100 * units.Gbps},
		[]units.BitRate{25 * units.Gbps})
}

// longSums is the split whose NIC sums up for ten times as long.
func longSums(rate units.BitRate) offloadRun {
	return offloadRun{rate, twoPackets, offloaded, units.Microsecond, 100 * units.Microsecond}
}

// toccOffload: token CC through the split of TAURUS, which leaves receiver-driven control to
// others.
var toccOffload = &experiment.Experiment{
	ID: "beyond/tocc-offload",
	Cells: func(s experiment.Scale) (out []experiment.Cell) {
		add := func(p offloadRun) { out = append(out, experiment.Cell{Name: p.name(), Params: p}) }
		for _, rate := range offloadRates(s) {
			for _, control := range []string{twoPackets, tokensOnly, "dctcp"} {
				add(offloadRun{rate, control, inLine, 0, 0})
				for _, d := range distances {
					add(offloadRun{rate, control, offloaded, d, 0})
					if control != "dctcp" {
						add(offloadRun{rate, control, naive, d, 0})
					}
				}
			}
			add(longSums(rate))
		}
		return out
	},
	Run: func(j *experiment.Job) error { return j.Params.(offloadRun).simulate(j) },
	Judge: func(r *experiment.Results) {
		// of the two rates the worse
		near, messages, bad, robust := claims.Value{}, 0., math.Inf(1), 0.
		waits, sums, stays := math.Inf(1), 0., math.Inf(1)
		for _, rate := range offloadRates(r.Scale) {
			of := func(control string, where split, d units.Duration) experiment.Pool {
				return r.Cell(offloadRun{rate, control, where, d, 0}.name())
			}
			add := func(what string, v float64) {
				near = near.With(fmt.Sprintf("%s, %v", what, rate), claims.Number(v))
			}
			line, one := of(twoPackets, inLine, 0), of(twoPackets, offloaded, units.Microsecond)
			add("goodput", one.Values("goodput").Mean()/line.Values("goodput").Mean())
			add("queue", (one.Values("p99 queue").Mean()+2*float64(packet))/
				(line.Values("p99 queue").Mean()+2*float64(packet)))
			add("FCT", one.Values("fct").Percentile(99)/line.Values("fct").Percentile(99))
			messages, sums = max(messages, aPacket(one)), max(sums,
				aPacket(r.Cell(longSums(rate).name())))
			slower := func(control string) float64 {
				return median(of(control, naive, 2*units.Microsecond)) / median(of(control,
					offloaded, 2*units.Microsecond))
			}
			bad, waits = min(bad, slower(twoPackets)), min(waits, slower(tokensOnly))
			stale := func(control string) float64 {
				return of(control, offloaded, 5*units.Microsecond).Values("p99 queue").Mean() /
					of(control, offloaded, 0).Values("p99 queue").Mean()
			}
			robust, stays = max(robust, stale(twoPackets)/stale("dctcp")), min(stays,
				stale("dctcp"))
		}
		r.Claim("near-inline", near)
		r.Note("near-inline", "at a round trip of 5.3 µs fewer tokens queue than the 22 KB from "+
			"which switches mark them, so that token CC has nothing to decide")
		r.Claim("messages", sums)
		r.Note("messages", "with sums of 100 µs, at 25 Gb/s, where packets are few: DCQCN counts "+
			"tokens, and each flow's count leaves after each period, whatever its rate is. With "+
			"10 µs, the default for sender-side control, %.3f; with every token decided by the "+
			"agent %.2f", messages, aPacket(r.Cell(offloadRun{25 * units.Gbps, twoPackets, naive,
			units.Microsecond, 0}.name())))
		r.Claim("naive-bad", waits)
		wait := func(where split) float64 {
			return 1e6 * median(r.Cell(offloadRun{25 * units.Gbps, tokensOnly, where,
				2 * units.Microsecond, 0}.name()))
		}
		r.Note("naive-bad", "of flows that wait for tokens (unsch=0): at 25 Gb/s %.1f µs, and "+
			"%.1f in the split. The tokens of the long flows queue, and time in the agent is "+
			"time less in that queue. With ToCC's unscheduled phase, in which 8 KB need no "+
			"token, %.2f",
			wait(naive), wait(offloaded), bad)
		if r.Scale == experiment.Full {
			r.Claim("delay-robust", robust)
			full := func(d units.Duration) float64 {
				return 1e6 * median(r.Cell(offloadRun{100 * units.Gbps, "dctcp", offloaded, d,
					0}.name()))
			}
			r.Note("delay-robust", "ToCC's queue does not change; DCTCP's becomes shorter, %.2f "+
				"of what it is without delay: at 100 Gb/s the median time of 8 KB is %.1f µs "+
				"without delay, %.1f with a microsecond and %.1f with five, at the same "+
				"goodput. The cause was not measured",
				stays, full(0), full(units.Microsecond), full(5*units.Microsecond))
		}
	},
	Figures: offloadFigures,
}

func offloadFigures(r *experiment.Results) (out []figure.Figure) {
	t := &figure.Table{
		Name: "split", Title: "Eight flows and messages of 8 KB, with the boundary of NIC and " +
			"host between",
		Header: []string{"control, rate, where", "goodput (Gb/s)", "p99 queue (KB)",
			"8 KB p50 (µs)", "p99", "messages for 100 packets"},
	}
	for _, c := range r.Cells() {
		v := func(name string) experiment.Values { return c.Values(name) }
		t.Row(c.Name, fmt.Sprintf("%.2f", v("goodput").Mean()/1e9),
			fmt.Sprintf("%.1f", v("p99 queue").Mean()/1e3), fmt.Sprintf("%.1f",
				1e6*v("fct").Percentile(50)),
			fmt.Sprintf("%.1f", 1e6*v("fct").Percentile(99)), fmt.Sprintf("%.2f",
				100*aPacket(r.Cell(c.Name))))
	}
	out = append(out, t)
	for _, rate := range offloadRates(r.Scale) {
		p := figure.Lines(fmt.Sprintf("fct-%d", rate/units.Gbps),
			fmt.Sprintf("Messages of 8 KB at %v", rate), "distance of NIC and agent (µs)",
			"p50 (µs)")
		for _, control := range []string{twoPackets, tokensOnly} {
			for _, where := range []split{offloaded, naive} {
				var x, y experiment.Values
				for _, d := range distances {
					x = append(x, d.Microseconds())
					y = append(y, 1e6*median(r.Cell(offloadRun{rate, control, where, d, 0}.name())))
				}
				p.Add(map[string]string{twoPackets: "ToCC",
					tokensOnly: "nothing unscheduled"}[control]+", "+string(where), x, y)
			}
		}
		out = append(out, p)
	}
	return out
}

// simulate runs it in two switches, whose link all share; what is counted begins half a millisecond
// later.
func (p offloadRun) simulate(j *experiment.Job) error {
	const begin = 500 * units.Microsecond
	n := &agents{run: p}
	s, err := n.scenario(j)
	if err != nil {
		return err
	}
	s.Until = begin + experiment.At(j.Scale, 40*units.Millisecond, 5*units.Millisecond)
	var before counts
	s.Probes.Attach = func(s *sim.Simulation) {
		s.Net.At(s.Zero().Add(begin), func() { before = n.count(s.Result()) })
	}
	r, err := s.Run(j.Context())
	if err != nil {
		return err
	}
	now := n.count(r)
	j.Value("goodput", float64(now.received-before.received)*8/(s.Until-begin).Seconds())
	j.Value("p99 queue",
		r.Queues[0].Length.Percentile(99, units.Time(begin), units.Time(s.Until)))
	j.Value("fct")
	for _, log := range r.Requests {
		for _, m := range log.Done {
			if log.Bytes == mouse && m.Posted >= begin {
				j.Value("fct", m.Took().Seconds())
			}
		}
	}
	j.Value("messages", float64(now.messages-before.messages))
	j.Value("packets", float64(now.packets-before.packets))
	return nil
}

// aPacket returns the number of messages between NIC and host per data packet.
func aPacket(p experiment.Pool) float64 {
	return p.Values("messages").Sum() / p.Values("packets").Sum()
}

// median returns the median completion time of the messages of 8 KB.
func median(p experiment.Pool) float64 { return p.Values("fct").Percentile(50) }

// agents is what decides in a run.
type agents struct {
	run         offloadRun
	net         *fabric.Network
	controllers []*nicoffload.Controller
	granters    []*remoteGranter
}

// scenario returns what the run depends on.
func (n *agents) scenario(j *experiment.Job) (sim.Scenario, error) {
	config := eightToOne(j, 0)
	config.Rate = n.run.Rate
	config.Delay = linkDelay(config.Rate, baseRTT)
	scheme, err := n.scheme(config)
	link := fabric.Link{Rate: config.Rate, Delay: config.Delay}
	s := sim.Scenario{
		Topology: sim.Custom(func(p fabric.Parts) *fabric.Network {
			n.net = fabric.Dumbbell(p, pairs, pairs, link, link)
			return n.net
		}),
		Hosts:    sim.Hosts{PathMTU: payload, Chunk: units.MiB, SendDepth: 8, Timeout: 12},
		Scheme:   scheme,
		Workload: sim.Workload{Jitter: units.Microsecond},
		Probes:   sim.Probes{Queues: []sim.QueueProbe{{Port: pairs}}},
		Seed:     j.Seed,
	}
	// The short messages are a fiftieth of the link's packets, so that what needs no token finds
	// the part of it that tokens leave.
	every := pairs * config.Rate.Duration(400*packet)
	for i := range pairs {
		s.Workload.Requests = append(s.Workload.Requests,
			sim.Requests{From: i, To: pairs + i, Bytes: units.MiB, Depth: 2},
			sim.Requests{From: i, To: pairs + (i+3)%pairs, Bytes: mouse, Depth: 4, Every: every,
				Start: units.Duration(i) * every / pairs})
	}
	return s, err
}

// scheme returns the congestion control of a run, with its switches.
func (n *agents) scheme(config sim.Bottleneck) (s sim.Scheme, err error) {
	s.AnswerClass = answerClass
	if n.run.Where == offloaded {
		s.Controller = n.controller
	}
	if n.run.Control == "dctcp" {
		s.Switch = *losslessSwitch(config, dataMarks)
		s.Control, err = cc.Parse(n.run.Control)
		return s, err
	}
	spec, err := tocc.Parse(n.run.Control + "," + dcqcnSet(1).onTokens())
	if err != nil {
		return s, err
	}
	sw, err := tokenSwitch(spec, pathOf(config), tokenMarking{}, 0)
	if err != nil {
		return s, err
	}
	s.Switch, s.Selective, s.Admit = *sw, true, n.admit(spec)
	s.Control, err = cc.Parse("fixed:window=1GB")
	return s, err
}

// controller is a soft NIC with its agent some way off.
func (n *agents) controller(_ int, now units.Time) (cc.Controller, error) {
	sums := nicoffload.DefaultAggregation
	if n.run.Period > 0 {
		sums.Accumulable = n.run.Period
	}
	distance := nicoffload.PCIe{Up: n.run.Distance, Down: n.run.Distance,
		Rate: nicoffload.TypicalPCIe.Rate}
	c, err := nicoffload.NewShared(nicoffload.Config{Aggregation: sums}, nicoffload.AgentConfig{},
		&distance, now)
	if err == nil {
		n.controllers = append(n.controllers, c)
	}
	return c, err
}

func (n *agents) admit(spec tocc.Spec) sim.Admission {
	return func(p sim.Pair, path cc.Path) (cc.Gate, cc.Granter, error) {
		gate, granter, err := spec.New(path)
		if err != nil || n.run.Where != naive {
			return gate, granter, err
		}
		r := &remoteGranter{Granter: granter, net: n.net, host: n.net.Host(p.To),
			distance: n.run.Distance}
		n.granters = append(n.granters, r)
		return gate, r, nil
	}
}

// counts are those of a run so far.
type counts struct {
	received uint64 // bytes of the long flows
	messages uint64 // between NICs and agents: up and, of tokens, down
	packets  uint64 // of data
}

func (n *agents) count(r *sim.Result) (c counts) {
	for _, log := range r.Requests {
		c.packets += log.Conn.Remote.Stats().PacketsReceived
		if log.Bytes != mouse {
			c.received += log.Conn.Received()
		}
	}
	for _, controller := range n.controllers {
		c.messages += controller.Agent().Counters().Messages
	}
	for _, g := range n.granters {
		c.messages += g.messages
	}
	return c
}
