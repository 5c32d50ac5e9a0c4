package tocc

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/cluster"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// testbedExperiments are those of section VI-D, in the fabric.
var testbedExperiments = []*experiment.Experiment{fig10a, fig10b, fig10cd, fig10e, fig10f}

// A pattern is who writes to whom.
type pattern string

const (
	allToAll  pattern = "all-to-all"
	intraRack pattern = "intra-rack" // to some hosts of one's own rack, drawn by lot
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
	Load    float64     // of a host's link, of messages for bandwidth; 0 is as much as it takes
	QPs     int         // for bandwidth, of a pair
	Targets int         // of a host, where not all are
	Rack    int         // hosts of one
	Warm    units.Duration
	Span    units.Duration // that is measured, after Warm
}

const (
	testbedRate    = 25 * units.Gbps
	testbedPayload = transport.MTU1024
	testbedFrame   = testbedPayload + wire.EthernetLen + wire.IPv4Len + wire.UDPLen + wire.BTHLen +
		wire.ICRCLen
	// check sequence, preamble, gap
	testbedCap = float64(testbedRate) * float64(testbedPayload) / float64(testbedFrame+24)

	// Messages for latency, and how much of a host's link those of all its queue pairs ask for. The
	// paper does not say; one behind another on 31 queue pairs they would fill what the others
	// leave, and measure themselves.
	latencyBytes = 8 * units.KiB
	latencyLoad  = 0.02
)

func (t testbed) hosts() int { return 2 * t.Rack }

// depth is how many messages of a queue pair are outstanding: perftest's 128, as long as that is at
// most 128 KiB.
func (t testbed) depth() int { return max(2, int(128*units.KiB/t.Bytes)) }

// pairs answers who writes to whom.
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

// testbedRuns are those that several experiments look at.
var testbedRuns experiment.Once[*testbedOutcome]

// testbedOutcome is what came of it.
type testbedOutcome struct {
	// of messages for bandwidth, bit/s of payload: of the receiver of an incast, else of a host
	Goodput    float64
	Background experiment.Values  // s, of messages for bandwidth, from post to completion
	Latency    experiment.Values  // s, of those for latency
	Pauses     float64            // PAUSE frames
	Drops      float64            // frames
	Again      float64            // packets sent again
	Tokens     float64            // TOKENs that came, for each that the data which came needs
	Buffer     float64            // bytes, most that a switch held
	Rate       *experiment.Series // s, bit/s: Goodput over time, from the start
}

// run simulates.
func (t testbed) run(j *experiment.Job) (*testbedOutcome, error) {
	clos := fabric.ToCCTestbed()
	clos.HostsPerLeaf = t.Rack
	config, err := t.Scheme.config()
	if err != nil {
		return nil, err
	}
	net := clos.Build(fabric.Parts{Config: fabric.Config{Seed: j.Seed},
		Host: fabric.HostConfig{RxDelay: units.Nanosecond}, Switch: testbedSwitches()})
	config.Seed, config.PathMTU, config.Timeout = j.Seed, testbedPayload, 14
	config.SendDepth, config.Chunk = t.depth(), max(t.Bytes, latencyBytes)
	cl, err := cluster.New(net, config)
	if err != nil {
		return nil, err
	}
	if err := cl.Introduce(); err != nil {
		return nil, err
	}
	r := &testbedOutcome{Rate: &experiment.Series{}}
	begin := net.Now()
	from := begin.Add(t.Warm)
	random := rand.New(rand.NewPCG(j.Seed, 0))
	pairs := t.pairs(random)
	// What queue pairs of one host, so many a pair, take between messages, to load the link.
	interval := func(bytes units.Bytes, qps int, load float64) units.Duration {
		if load == 0 {
			return 0
		}
		each := load * testbedCap * float64(t.hosts()) / float64(len(pairs)*qps)
		return units.Duration(float64(8*bytes) / each * float64(units.Second))
	}
	start := func(pair [2]int, w cluster.Writer, into *experiment.Values) (*cluster.Conn, error) {
		conn, err := cl.Connect(pair[0], pair[1])
		if err != nil {
			return nil, err
		}
		w.Conn = conn
		w.Ended = func(posted, ended units.Time) {
			if !posted.Before(from) {
				*into = append(*into, ended.Sub(posted).Seconds())
			}
		}
		w.Begin(begin.Add(
			units.Duration(random.Int64N(int64(max(w.Every, w.Think, 10*units.Microsecond))))))
		return conn, nil
	}
	var conns []*cluster.Conn
	for _, pair := range pairs {
		for range t.QPs {
			conn, err := start(pair, cluster.Writer{Bytes: t.Bytes, Depth: t.depth(),
				Every: interval(t.Bytes, t.QPs, t.Load)}, &r.Background)
			if err != nil {
				return nil, err
			}
			conns = append(conns, conn)
		}
		if t.Pattern == incast {
			continue
		}
		if _, err := start(pair, cluster.Writer{Bytes: latencyBytes, Depth: 1,
			Think: interval(latencyBytes, 1, latencyLoad)}, &r.Latency); err != nil {
			return nil, err
		}
	}
	received := func() (sum uint64) {
		for _, c := range conns {
			sum += c.Received()
		}
		return sum
	}
	shared := float64(t.hosts())
	if t.Pattern == incast {
		shared = 1
	}
	last, before := uint64(0), uint64(0)
	const step = 200 * units.Microsecond
	net.Every(step, func(now units.Time) bool {
		j.Progress(now.Sub(begin).Seconds() / (t.Warm + t.Span).Seconds())
		if j.Context().Err() != nil || len(cl.Errors) > 0 {
			net.Stop()
		}
		got := received()
		r.Rate.Add((now.Sub(begin) - step).Seconds(), float64(got-last)*8/step.Seconds()/shared)
		if last = got; now == from {
			before = got
		}
		return true
	})
	if err := net.Run(from.Add(t.Span)); err != nil && !errors.Is(err, fabric.ErrStopped) {
		return nil, err
	}
	if err := errors.Join(append(cl.Errors, j.Context().Err())...); err != nil {
		return nil, err
	}
	r.Goodput = float64(received()-before) * 8 / t.Span.Seconds() / shared
	for _, s := range net.Switches() {
		r.Buffer = max(r.Buffer, float64(s.Stats().Fullest))
		for _, p := range s.Ports() {
			for i := range fabric.MaxQueues {
				s := p.QueueStats(i)
				r.Pauses += float64(s.PausesSent)
				r.Drops += float64(s.Dropped)
			}
		}
	}
	for _, n := range cl.Nodes {
		r.Again += float64(n.Endpoint.Counters().Retransmitted)
		r.Tokens += float64(n.Endpoint.Counters().TokensHeard)
	}
	r.Tokens *= float64(testbedK) / float64(received())
	return r, nil
}

// name is that of the cell.
func (t testbed) name() string {
	name := fmt.Sprintf("%s %s %v", t.Scheme, t.Pattern, t.Bytes)
	if t.Load > 0 {
		name += fmt.Sprintf(" %.0f%%", 100*t.Load)
	}
	return name
}
