package taurus

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/nicoffload/ccp"
	"github.com/goroce/goroce/nicoffload/hostcc"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// contest is eight hosts that write messages of one size to another, as fast as a framework lets
// them, and a ninth whose messages are timed: one behind another (sections 2.3, 5.3 and 5.4).
type contest struct {
	Framework framework
	// what something else on the receiver leaves of its memory, of what the link brings; 0: there
	// is nothing else
	Left  float64
	Bytes units.Bytes // of a message
	Timed units.Bytes // of the ninth host's
}

const (
	writers = 8
	timed   = writers // the host whose messages are timed
	target  = writers + 1
)

func (c contest) name() string {
	return fmt.Sprintf("%s, %s, %v, %v timed", c.Framework, congestion(c.Left), c.Bytes, c.Timed)
}

// congestion names where it is.
func congestion(left float64) string {
	if left == 0 {
		return "fabric"
	}
	return fmt.Sprintf("host at %g %%", 100*left)
}

// outcome is what came of it.
type outcome struct {
	Goodput float64           // of all, bit/s of payload
	Latency experiment.Values // s, of timed messages, to the receiver
	Queue   float64           // bytes on average, before the link to the receiver
	Pauses  float64           // frames of the receiver's NIC
	Reports float64           // of CCP's datapaths, and those of them that were dropped
	Dropped float64
}

// contests are those that several experiments look at.
var contests experiment.Memo[*outcome]

// The receiver's memory, for each Gb/s of the link: eight channels of DDR5-4800 beside 400 Gb/s.
const memoryOfLine = 6

// What antagonists leave. The paper's costs DOCA PCC 5.8 to 15.2 % of its throughput, and the
// catalogue's leaves 85 to 95 %. That is more than hostCC has for its target, so that it does not
// throttle: the other is for hostCC.
const (
	mild   = 0.9
	severe = 0.75
)

// The receiver's PCIe, for each Gb/s of the link as much as 16 lanes of the fifth generation have
// for 400, and what its NIC holds: a MiB at 400 Gb/s until it pauses the link.
const pcieOfLine = 1.28

// host is the receiver behind its NIC.
func (c contest) host(line units.BitRate) (*hostmodel.Host, error) {
	xoff := units.Bytes(float64(units.MiB) * float64(line) / float64(400*units.Gbps))
	memory := memoryOfLine * line
	h, err := hostmodel.New(hostmodel.Config{
		PCIe: fabric.PCIe{Rate: units.BitRate(pcieOfLine * float64(line)), Buffer: 2 * xoff,
			XOff: xoff},
		Memory: hostmodel.MemoryConfig{Bandwidth: memory},
	})
	if err == nil && c.Left > 0 {
		h.Memory.Antagonist(memory - units.BitRate(c.Left*float64(line)))
	}
	return h, err
}

// hostCC is hostCC's view of the receiver, its thresholds for 100 Gb/s in proportion to the link.
func hostCC(line units.BitRate) *hostcc.Host {
	times := float64(line) / float64(100*units.Gbps)
	return hostcc.New(hostcc.Config{Occupancy: int(70 * times),
		Bandwidth: units.BitRate(84e9 * times)})
}

// sampling is how often the agent of the receiver looks: to read the registers takes about as long.
const sampling = units.Microsecond

// softRing is how many packets wait for a transport in software: the default of Linux's driver of
// ConnectX NICs.
const softRing = 1024

// spans are how long a contest settles, and is looked at. Flows of DOCA PCC begin at the line's
// rate and fill their windows of 16 BDPs. Then a round trip takes 0.7 ms, and each takes a tenth or
// a fifth of a rate.
func (c contest) spans(s experiment.Scale) (warm, span units.Duration) {
	span = experiment.At(s, 10*units.Millisecond, 5*units.Millisecond)
	if c.Framework == docaPCC || c.Framework == smallSteps {
		return 40 * units.Millisecond, span
	}
	return span, span
}

// scenario returns what a run depends on, and adds the controllers of its hosts to a list.
func (c contest) scenario(l fabric.Link, seed uint64, made *[]cc.Controller) (sim.Scenario, error) {
	control, err := c.Framework.control()
	if err != nil {
		return sim.Scenario{}, err
	}
	receiver, err := c.host(l.Rate)
	if err != nil {
		return sim.Scenario{}, err
	}
	watch, of := hostCC(l.Rate), c.Framework.controller(l.Rate)
	s := sim.Scenario{
		Topology: sim.Star(target+1, l),
		Hosts: sim.Hosts{
			Machine: fabric.HostConfig{RxDelay: units.Nanosecond},
			MachineOf: func(i int, host *fabric.HostConfig) {
				if c.Framework == ccpPerACK {
					host.CPU.PerPacket, host.RxDepth = perFrame, softRing
				}
				if i == target {
					receiver.Configure(host)
					if c.Framework.seesHost() {
						host.Congested = watch.Congested
					}
				}
			},
			PathMTU: payload, Timeout: 12, Chunk: max(c.Bytes, c.Timed), SendDepth: c.depth(),
		},
		Scheme: sim.Scheme{
			Control: control, AnswerClass: answerClass, Switch: c.Framework.switches(l),
			Controller: func(host int, now units.Time) (cc.Controller, error) {
				controller, err := of(host, now)
				if err == nil && host == target && c.Framework.seesHost() {
					_, err = controller.(*nicoffload.Controller).Agent().Sample(hostcc.SamplerName,
						sampling, watch.Sampler(receiver.Occupancy, receiver.Bandwidth, receiver),
						now)
				}
				*made = append(*made, controller)
				return controller, err
			},
		},
		Workload: sim.Workload{Jitter: 10 * units.Microsecond},
		Seed:     seed,
	}
	for i := range writers {
		s.Workload.Requests = append(s.Workload.Requests,
			sim.Requests{From: i, To: target, Bytes: c.Bytes, Depth: c.depth()})
	}
	s.Workload.Requests = append(s.Workload.Requests,
		sim.Requests{From: timed, To: target, Bytes: c.Timed})
	return s, nil
}

// run simulates.
func (c contest) run(j *experiment.Job) (*outcome, error) {
	l := link(j.Scale)
	var controllers []cc.Controller
	s, err := c.scenario(l, j.Seed, &controllers)
	if err != nil {
		return nil, err
	}
	warm, span := c.spans(j.Scale)
	s.Until = warm + span
	var queue, received *fabric.Series
	s.Probes.Attach = func(s *sim.Simulation) {
		queue, received = observe(s, target, func() (bytes uint64) {
			for _, r := range s.Result().Requests {
				bytes += r.Conn.Received()
			}
			return bytes
		})
	}
	r, err := s.Run(j.Context())
	if err != nil {
		return nil, err
	}
	from, to := r.Simulation.Zero().Add(warm), r.Simulation.Zero().Add(warm+span)
	out := &outcome{Goodput: received.Mean(from, to), Queue: queue.Mean(from, to)}
	for _, m := range r.Requests[timed].Done {
		if m.Posted >= warm {
			out.Latency = append(out.Latency, (m.Took() - ackTime(l)).Seconds())
		}
	}
	out.Pauses = float64(r.Simulation.Net.Host(target).NIC().Stats().Pauses)
	for _, controller := range controllers {
		if x, ok := controller.(*ccp.Controller); ok {
			n := x.Counters()
			out.Reports, out.Dropped = out.Reports+float64(n.Reports+n.Dropped),
				out.Dropped+float64(n.Dropped)
		}
	}
	return out, nil
}

// observe samples the queue before the link to a host of a star, and the rate of bytes received.
func observe(s *sim.Simulation, host int, received func() uint64) (queue, rate *fabric.Series) {
	port := s.Net.Switches()[0].Ports()[host]
	queue = s.Net.Sample(units.Microsecond, func() float64 { return float64(port.QueueLen(data)) })
	return queue, s.Net.SampleRate(10*units.Microsecond, received)
}

// depth is how many messages of a writer are outstanding: a MiB, and two at least.
func (c contest) depth() int { return max(2, int(units.MiB/c.Bytes)) }

// ackTime is the time that an ACK takes to return over empty links.
func ackTime(l fabric.Link) units.Duration {
	return 2 * (l.Delay + l.Rate.Duration(sim.Overhead+wire.AETHLen))
}

// runContest records the result of a contest.
func runContest(j *experiment.Job) error {
	c := j.Params.(contest)
	out, err := contests.Of(j, c, func() (*outcome, error) { return c.run(j) })
	if err != nil {
		return err
	}
	j.Value("goodput", out.Goodput)
	j.Value("util", out.Goodput/capacity(link(j.Scale)))
	j.Value("latency", out.Latency...)
	j.Value("queue", out.Queue)
	j.Value("pauses", out.Pauses)
	j.Value("reports", out.Reports)
	j.Value("dropped", out.Dropped)
	return nil
}
