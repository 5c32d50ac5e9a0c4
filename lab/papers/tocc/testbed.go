package tocc

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// testbedExperiments are the experiments of section VI-D, in the fabric.
var testbedExperiments = []*experiment.Experiment{fig10a, fig10b, fig10cd, fig10e, fig10f}

// A pattern is which hosts write to which.
type pattern string

const (
	allToAll  pattern = "all-to-all"
	intraRack pattern = "intra-rack" // to some hosts of the sender's rack, drawn at random
	interRack pattern = "inter-rack" // of the other one
	incast    pattern = "incast"     // all to the last host
)

// testbed is a run of perftest's programs on the paper's testbed: two racks, hosts at 25 Gb/s,
// uplinks of 200 Gb/s. A pair of hosts has queue pairs that write for bandwidth, and one for
// latency.
type testbed struct {
	Scheme  testbedScheme
	Pattern pattern
	Bytes   units.Bytes // of a message
	Load    float64     // of a host's link, of messages for bandwidth; 0 means unlimited
	QPs     int         // for bandwidth, of a pair
	Targets int         // of a host, where not all are
	Rack    int         // hosts of one
	Warm    units.Duration
	Span    units.Duration // measured time, after Warm
}

const (
	testbedRate    = 25 * units.Gbps
	testbedPayload = units.KiB
	testbedFrame   = testbedPayload + wire.EthernetLen + wire.IPv4Len + wire.UDPLen + wire.BTHLen +
		wire.ICRCLen
	// check sequence, preamble, gap
	testbedCap = float64(testbedRate) * float64(testbedPayload) / float64(testbedFrame+24)

	// Messages for latency, and the part of a host's link that those of all its queue pairs need.
	// The paper does not give it; back to back on 31 queue pairs they would fill what the others
	// leave, and measure themselves.
	latencyBytes = 8 * units.KiB
	latencyLoad  = 0.02
)

func (t testbed) hosts() int { return 2 * t.Rack }

// depth returns the number of outstanding messages of a queue pair: perftest's 128, but at most 128
// KiB.
func (t testbed) depth() int { return max(2, int(128*units.KiB/t.Bytes)) }

// pairs returns which hosts write to which.
func (t testbed) pairs(random *rand.Rand) (pairs [][2]int) {
	for from := range t.hosts() {
		switch t.Pattern {
		case allToAll:
			for to := range t.hosts() {
				if to != from {
					pairs = append(pairs, [2]int{from, to})
				}
			}
		case incast:
			if to := t.hosts() - 1; from != to {
				pairs = append(pairs, [2]int{from, to})
			}
		default:
			rack := from / t.Rack
			if t.Pattern == interRack {
				rack = 1 - rack
			}
			left := t.Targets
			for _, i := range random.Perm(t.Rack) {
				if to := rack*t.Rack + i; to != from && left > 0 {
					pairs = append(pairs, [2]int{from, to})
					left--
				}
			}
		}
	}
	return pairs
}

// testbedRuns are shared by several experiments.
var testbedRuns experiment.Memo[*testbedOutcome]

// testbedOutcome is the result of a run.
type testbedOutcome struct {
	// of messages for bandwidth, bit/s of payload: of the receiver of an incast, else of a host
	Goodput    float64
	Background experiment.Values  // s, of messages for bandwidth, from post to completion
	Latency    experiment.Values  // s, of those for latency
	Pauses     float64            // PAUSE frames
	Drops      float64            // frames
	Again      float64            // packets sent again
	Tokens     float64            // TOKENs that arrived, for each that the data which arrived needs
	Links      linkUse            // fractions of the links to hosts
	Buffer     float64            // bytes, most that a switch held
	Rate       *experiment.Series // s, bit/s: Goodput over time, from the start
}

// run simulates.
func (t testbed) run(j *experiment.Job) (*testbedOutcome, error) {
	scheme, err := t.Scheme.scheme()
	if err != nil {
		return nil, err
	}
	clos := fabric.ToCCTestbed()
	clos.HostsPerLeaf = t.Rack
	s := sim.Scenario{
		Topology: clos,
		Hosts: sim.Hosts{
			Machine: fabric.HostConfig{RxDelay: units.Nanosecond}, PathMTU: testbedPayload,
			Timeout:   14,
			SendDepth: t.depth(), Chunk: max(t.Bytes, latencyBytes),
		},
		Scheme: scheme, Workload: sim.Workload{Requests: t.programs(j.Seed)}, Seed: j.Seed,
		Until: t.Warm + t.Span, Step: rateStep,
	}
	var zero *sim.Simulation
	s.Probes.Attach = func(s *sim.Simulation) { zero = s }
	r := &testbedOutcome{Rate: &experiment.Series{}}
	shared := float64(t.hosts())
	if t.Pattern == incast {
		shared = 1
	}
	last, before, use := uint64(0), uint64(0), linkUse{}
	s.Probes.Progress = func(at units.Duration) {
		j.Progress(at.Seconds() / (t.Warm + t.Span).Seconds())
		got := t.received(zero.Result())
		r.Rate.Add((at - rateStep).Seconds(), float64(got-last)*8/rateStep.Seconds()/shared)
		if last = got; at == t.Warm {
			before, use = got, useOf(zero, t.hosts())
		}
	}
	out, err := s.Run(j.Context())
	if err != nil {
		return nil, err
	}
	r.Goodput = float64(t.received(out)-before) * 8 / t.Span.Seconds() / shared
	r.Links = useOf(zero, t.hosts()).since(use,
		float64(testbedRate.Bytes(t.Span))*float64(t.hosts()))
	t.count(r, out)
	return r, nil
}

// rateStep is the interval of the goodput over time.
const rateStep = 200 * units.Microsecond

// programs returns the programs of all hosts: for bandwidth and, except in an incast, one for
// latency of each pair.
func (t testbed) programs(seed uint64) (all []sim.Requests) {
	random := rand.New(rand.NewPCG(seed, 0))
	pairs := t.pairs(random)
	// The time between messages on the queue pairs of one host, for the load of the link.
	interval := func(bytes units.Bytes, qps int, load float64) units.Duration {
		if load == 0 {
			return 0
		}
		each := load * testbedCap * float64(t.hosts()) / float64(len(pairs)*qps)
		return units.Duration(float64(8*bytes) / each * float64(units.Second))
	}
	add := func(pair [2]int, p sim.Requests) {
		p.From, p.To = pair[0], pair[1]
		p.Start = units.Duration(random.Int64N(int64(max(p.Every, p.Think, 10*units.Microsecond))))
		all = append(all, p)
	}
	for _, pair := range pairs {
		for range t.QPs {
			add(pair, sim.Requests{Bytes: t.Bytes, Depth: t.depth(),
				Every: interval(t.Bytes, t.QPs, t.Load)})
		}
		if t.Pattern != incast {
			add(pair, sim.Requests{Bytes: latencyBytes,
				Think: interval(latencyBytes, 1, latencyLoad)})
		}
	}
	return all
}

// background reports whether the i-th program is one for bandwidth.
func (t testbed) background(i int) bool { return t.Pattern == incast || i%(t.QPs+1) < t.QPs }

// received returns the payload of messages for bandwidth so far.
func (t testbed) received(r *sim.Result) (sum uint64) {
	for i, log := range r.Requests {
		if t.background(i) {
			sum += log.Conn.Received()
		}
	}
	return sum
}

// took returns the times of messages, in the order of their ends.
func (t testbed) took(all []sim.Request) (v experiment.Values) {
	slices.SortStableFunc(all, func(a, b sim.Request) int { return cmp.Compare(a.Ended, b.Ended) })
	for _, m := range all {
		if m.Posted >= t.Warm {
			v = append(v, m.Took().Seconds())
		}
	}
	return v
}

// count records the programs' and the switches' counters at the end.
func (t testbed) count(r *testbedOutcome, out *sim.Result) {
	var bandwidth, latency []sim.Request
	for i, log := range out.Requests {
		if t.background(i) {
			bandwidth = append(bandwidth, log.Done...)
		} else {
			latency = append(latency, log.Done...)
		}
	}
	r.Background, r.Latency = t.took(bandwidth), t.took(latency)
	r.Buffer, r.Again = float64(out.Totals.Fullest), float64(out.Totals.Retransmitted)
	r.Pauses, r.Drops = float64(out.Totals.PausesSent), float64(out.Totals.Dropped)
	for _, n := range out.Simulation.Nodes {
		r.Tokens += float64(n.Endpoint.Stats().TokensHeard)
	}
	payload := uint64(0)
	for _, log := range out.Requests {
		payload += log.Conn.Received()
	}
	r.Tokens *= float64(testbedK) / float64(payload)
}

// name returns the name of the cell.
func (t testbed) name() string {
	name := fmt.Sprintf("%s %s %v", t.Scheme, t.Pattern, t.Bytes)
	if t.Load > 0 {
		name += fmt.Sprintf(" %.0f%%", 100*t.Load)
	}
	return name
}
