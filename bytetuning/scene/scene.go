package scene

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/telemetry"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// Scene configures senders, receiver and switches. The network is the paper's (section 2.3): leaves
// with links to all ToR switches, and hosts below those; the last host receives.
type Scene struct {
	Leaves, ToRs, Hosts int // hosts below each ToR switch
	Rate, Up            units.BitRate
	Delay               units.Duration // of each link
	Buffer              units.Bytes    // of each switch

	Senders int // number of sending hosts, one below each ToR switch in turn
	QPs     int // of each sender
	Message units.Bytes
	MTU     units.Bytes // path MTU
	Control string      // of every queue pair
	CNPs    units.Duration

	// Requests makes each queue pair send one message at a time, instead of continuously. The next
	// begins when the last is acknowledged, at least Interval after the start of the last one. The
	// first ones all begin together.
	Requests bool
	Interval units.Duration
	// Lossy turns PFC off, and turns selective repeat on: for the network it is like TCP.
	Lossy bool
	Host  fabric.HostConfig

	// Probe, unless 0, is a host whose connections have no congestion control.
	Probe int

	// Group selects the switches to tune, and which of them share a watermark.
	Group Group
	Space bytetuning.Space

	Settle, Period units.Duration // time before the measurement, and of the measurement
	// Telemetry, unless its name is empty, is the source of measurements, in place of the fabric's
	// counters. Its periods are in simulated time.
	Telemetry telemetry.Source
	Aggregate telemetry.Aggregate // of the queue; "" means the mean
	Seed      uint64
}

// Lab returns the paper's small cluster: four ToR switches, two leaves, 24 hosts with 25 Gb/s, and
// switches like Trident 3 with 32 MB. The paper does not give these values, which are ours: links
// of 1 µs, NVIDIA's DCQCN with a CNP each 4 µs, a path MTU of 1024.
func Lab() Scene {
	return Scene{
		Leaves: 2, ToRs: 4, Hosts: 6, Rate: 25 * units.Gbps, Up: 100 * units.Gbps,
		Delay:  units.Microsecond,
		Buffer: 32 * units.MiB, Message: units.MiB, MTU: 1024, Control: "dcqcn-nic",
		CNPs:  4 * units.Microsecond,
		Space: bytetuning.Traversal(), Settle: 5 * units.Millisecond,
		Period: 20 * units.Millisecond, Seed: 1,
	}
}

// scenes are the named scenes.
var scenes = map[string]func() Scene{
	"2to1": func() Scene { s := Lab(); s.Senders, s.QPs = 2, 10; return s },
	"23to1": func() Scene { // the paper's 24 to 1; the lab has 24 hosts
		s := Lab()
		s.Senders, s.QPs, s.Message = 23, 5, 64*units.KiB
		return s
	},
}

// Names returns the names of the scenes.
func Names() []string { return slices.Sorted(maps.Keys(scenes)) }

// New returns the target of a named scene; a slash and a group may follow the name.
func New(name string) (*Target, error) {
	base, group, has := strings.Cut(name, "/")
	make, ok := scenes[base]
	if !ok || has && !slices.Contains(groupings, Group(group)) {
		return nil, fmt.Errorf("scene: no %q; there are %s, each also with /layers, /switches, "+
			"/path or /receiver", name, strings.Join(Names(), ", "))
	}
	s := make()
	s.Group = Group(group)
	return &Target{Scene: s}, nil
}

// Target is a scene whose switches are tuned.
type Target struct {
	Scene
	// Watch, unless nil, is called with each network before it runs, and with the port to the
	// receiver.
	Watch func(*Run)
	now   bytetuning.Point
}

// Run is one simulation.
type Run struct {
	Net     *fabric.Network
	Cluster *sim.Simulation
	ToR     *fabric.Switch // the receiver's
	Egress  *fabric.Port   // its port to the receiver
	Queue   *fabric.Series // of Egress
	Down    []*fabric.Port // of the leaves, to ToR
	Queues  []*fabric.Series
	Conns   []*sim.Conn
	// Requests are the completed requests, in the order of their ends.
	Requests []Request
}

// Layers implements bytetuning.Target.
func (t *Target) Layers() []bytetuning.Layer {
	var layers []bytetuning.Layer
	for _, g := range t.groups() {
		l := bytetuning.Layer{Name: g.name, Space: t.Space, Buffer: t.Buffer}
		for _, i := range g.switches {
			l.Ports = max(l.Ports, t.ports(i))
		}
		layers = append(layers, l)
	}
	return layers
}

// Apply implements bytetuning.Target. It accepts points that violate a constraint of a switch, such
// as case I, which a Search may try without checks, but not invalid ones.
func (t *Target) Apply(_ context.Context, p bytetuning.Point) error {
	if len(p) != len(t.Layers()) {
		return p.Check(t.Layers())
	}
	for _, w := range p {
		if err := w.Validate(); err != nil {
			return err
		}
	}
	t.now = p
	return nil
}

// Observed returns the network that telemetry observes, for its overhead, at a throughput of the
// receiver's switch.
func (s *Scene) Observed(throughput units.BitRate) telemetry.Network {
	return telemetry.Network{
		Hosts: s.ToRs * s.Hosts, Switches: s.ToRs + s.Leaves, Ports: s.Hosts + s.Leaves,
		Queues: fabric.Priorities, Hops: 3,
		Packets: float64(throughput) / float64((s.MTU + 66).Bits()),
	}
}

// Path returns the parameters of baselines.
func (s *Scene) Path() bytetuning.Path {
	const hops = 4
	return bytetuning.Path{Rate: s.Rate, Uplink: s.Up, Link: s.Delay, RTT: 2 * hops * s.Delay,
		MTU: s.MTU + 86}
}

// Queues returns the queues of a switch with a watermark.
func Queues(w bytetuning.Watermark, lossless bool) fabric.Queues {
	return fabric.Queues{{
		Lossless: lossless, Alpha: w.Alpha.Float(), Headroom: w.Headroom, Resume: 2 * 1100,
		ECN: fabric.ECN{Kmin: w.Kmin, Kmax: w.Kmax, Pmax: float64(w.Pmax) / 100},
	}}
}

// replies is the traffic class of ACKs and CNPs: the highest, which has a queue of its own.
const replies = 56 << 2

// scenario returns the scene in the form of sim.
func (t *Target) scenario() (sim.Scenario, error) {
	control, err := cc.Parse(t.Control)
	if err != nil {
		return sim.Scenario{}, err
	}
	probe, err := cc.Parse("fixed")
	return sim.Scenario{
		Topology: sim.Custom(t.network),
		Seed:     t.Seed,
		Hosts:    sim.Hosts{Machine: t.Host, PathMTU: t.MTU, Chunk: t.Message, Timeout: 14},
		Scheme: sim.Scheme{
			CNPInterval: t.CNPs, AnswerClass: replies, Selective: t.Lossy,
			Of: func(p sim.Pair, s *sim.Service) {
				if s.Control = control; t.Probe > 0 && p.From == t.Probe {
					s.Control = probe
				}
			},
		},
	}, err
}

// network builds the network with the watermark of each switch: first the leaves, then the ToR
// switches.
func (t *Target) network(p fabric.Parts) *fabric.Network {
	net := fabric.New(p.Config)
	watermarks := t.watermarks()
	add := func(i int, name string) *fabric.Switch {
		return net.AddSwitch(name,
			fabric.SwitchConfig{Buffer: t.Buffer, Queues: Queues(watermarks[i], !t.Lossy).At()})
	}
	for i := range t.Leaves {
		add(t.ToRs+i, fmt.Sprintf("leaf %d", i))
	}
	for i := range t.ToRs {
		tor := add(i, fmt.Sprintf("tor %d", i))
		for range t.Hosts {
			net.Connect(p.AddHost(net), tor, fabric.Link{Rate: t.Rate, Delay: t.Delay})
		}
		for _, l := range net.Switches()[:t.Leaves] {
			net.Connect(tor, l, fabric.Link{Rate: t.Up, Delay: t.Delay})
		}
	}
	return net
}

// Start builds the network with the present watermark and its flows, and lets it settle.
func (t *Target) Start() (*Run, error) {
	if t.now == nil {
		return nil, errors.New("scene: nothing was applied")
	}
	s, err := t.scenario()
	if err != nil {
		return nil, err
	}
	r := &Run{}
	if r.Cluster, err = sim.New(s); err != nil {
		return nil, err
	}
	r.Net = r.Cluster.Net
	switches := r.Net.Switches()
	r.ToR = switches[len(switches)-1]
	r.Egress = r.ToR.Ports()[t.Hosts-1]
	if err := t.begin(r); err != nil {
		return nil, err
	}
	r.Queue = r.Egress.RecordQueue(0)
	for _, l := range switches[:t.Leaves] {
		down := l.Ports()[t.ToRs-1]
		r.Down, r.Queues = append(r.Down, down), append(r.Queues, down.RecordQueue(0))
	}
	if t.Watch != nil {
		t.Watch(r)
	}
	return r, r.run(units.Time(t.Settle))
}

// begin starts the queue pairs of all senders.
func (t *Target) begin(r *Run) error {
	receiver := t.ToRs*t.Hosts - 1
	for n := range t.Senders {
		from := (n%t.ToRs)*t.Hosts + n/t.ToRs // one below each ToR switch in turn
		if from == receiver {
			return fmt.Errorf("scene: %d senders are more than there are hosts", t.Senders)
		}
		for range t.QPs {
			c, err := t.send(r, from, receiver)
			if err != nil {
				return err
			}
			r.Conns = append(r.Conns, c)
		}
	}
	return nil
}

// send starts a queue pair with the traffic of the scene.
func (t *Target) send(r *Run, from, to int) (*sim.Conn, error) {
	if t.Requests {
		return t.request(r, from, to)
	}
	f, err := r.Cluster.Start(workload.Flow{Src: from, Dst: to, Bytes: 1 << 50})
	if err != nil {
		return nil, err
	}
	return f.Conn, nil
}

func (r *Run) run(until units.Time) error {
	if err := r.Net.Run(until); err != nil {
		return err
	}
	return errors.Join(r.Cluster.Errors...)
}

// Measure implements bytetuning.Target. It measures throughput and queue of the receiver's switch
// (section 5.4) and, with Layers, of the leaves' ports to it, by the fabric's counters. It checks
// the context each millisecond of the simulation.
func (t *Target) Measure(ctx context.Context) (*bytetuning.Measurement, error) {
	r, err := t.Start()
	if err != nil {
		return nil, err
	}
	before := r.Egress.QueueStats(0)
	var down uint64
	for _, p := range r.Down {
		down += p.QueueStats(0).Bytes
	}
	received := make([]uint64, len(r.Conns))
	for i, c := range r.Conns {
		received[i] = c.Received()
	}
	from := r.Net.Now()
	end := from.Add(t.Period)
	collector := t.collect(r, end)
	for at := from; at != end; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at = units.Earlier(at.Add(units.Millisecond), end)
		if err := r.run(at); err != nil {
			return nil, err
		}
	}
	sent := units.Bytes(r.Egress.QueueStats(0).Bytes - before.Bytes)
	s, err := bytetuning.SampleOf(0, float64(units.RateOf(sent, t.Period)), r.Queue.Mean(from, end))
	if collector != nil {
		s, err = collector.Sample(0, end, t.Period)
	}
	if err != nil {
		return nil, err
	}
	m := &bytetuning.Measurement{Switches: []bytetuning.Sample{s}, Lost: r.Lost()}
	if t.Group == Layers { // whose agents observe their own switch
		var queue float64
		var now uint64
		for i, p := range r.Down {
			now += p.QueueStats(0).Bytes
			queue += r.Queues[i].Mean(from, end)
		}
		leaves, err := bytetuning.SampleOf(1,
			float64(units.RateOf(units.Bytes(now-down), t.Period)), queue)
		if err != nil {
			return nil, err
		}
		m.Switches = append(m.Switches, leaves)
	}
	for i, c := range r.Conns {
		rate := units.RateOf(units.Bytes(c.Received()-received[i]), t.Period)
		m.Flows = append(m.Flows, bytetuning.Sample{Throughput: rate, Queue: s.Queue})
	}
	return m, nil
}

// collect returns a collector at the egress port that observes it until end, or nil.
func (t *Target) collect(r *Run, end units.Time) *telemetry.Collector {
	if t.Telemetry.Name == "" {
		return nil
	}
	c := &telemetry.Collector{Source: t.Telemetry, Queue: t.Aggregate}
	if c.InBand() {
		length := r.Egress.QueueLen(0)
		r.Egress.Watch(0, func(at units.Time, now units.Bytes) {
			// a packet leaves; the queue that it found is itself and the packets behind it
			if left := length - now; left > 0 && !at.After(end) {
				c.Packet(at, left, length)
			}
			length = now
		})
		return c
	}
	r.Net.Every(t.Telemetry.Period, func(now units.Time) bool {
		c.Poll(now, r.Egress.QueueStats(0).Bytes, r.Egress.QueueLen(0))
		return !now.After(end)
	})
	return c
}

// Lost returns the number of packets that switches dropped.
func (r *Run) Lost() (lost uint64) {
	for _, s := range r.Net.Switches() {
		for _, p := range s.Ports() {
			lost += p.QueueStats(0).Dropped
		}
	}
	return lost
}

// Pauses returns the number of pause frames that switches sent.
func (r *Run) Pauses() (sent uint64) {
	for _, s := range r.Net.Switches() {
		for _, p := range s.Ports() {
			sent += p.QueueStats(0).PausesSent
		}
	}
	return sent
}
