package scene

import (
	"context"
	"errors"
	"fmt"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// MultiHost is the paper's figure 4 as a target: hosts A and B, and a NIC that hosts C_1 and C_2
// share, each below a ToR switch of its own. A and B write to C_1, whose PCIe bandwidth is too low
// for them, and B to C_2. The NIC is tuned: the thresholds at which it marks (NIC-ECN) and pauses
// the ToR switch (TX-PFC).
type MultiHost struct {
	Rate, Up units.BitRate  // of hosts' links, and of the links from ToR switches to the leaf
	Delay    units.Duration // of each link
	PCIe     units.BitRate  // of C_1 and of C_2
	Buffer   units.Bytes    // of each switch
	NIC      units.Bytes    // buffer of the NIC
	OneQueue bool           // no VoQ

	QPs           int  // of A, and of B, to C_1
	Victim        bool // B writes to C_2, with one queue pair
	Message       units.Bytes
	MTU           units.Bytes
	Control, Many string         // of the victim, and of the queue pairs to C_1
	CNPs          units.Duration // minimum between CNPs of a queue pair (Min_Time_Between_CNPs)

	Space          bytetuning.Space
	Settle, Period units.Duration
	Seed           uint64

	now bytetuning.Watermark
}

// MultiHostLab returns the paper's second cluster with qps queue pairs in place of 500. The paper
// does not give these values, which are ours: links of 1 µs, half the NIC's PCIe bandwidth for
// each host, 512 KiB of buffer, a path MTU of 1024, watermarks in cells of 256 bytes, and DCQCN's
// increases from HPCC's artifact for 100 Gb/s. Queue pairs to C_1 begin at their share of their
// host's link and do not exceed it: slowing many of them down from its full rate takes hundreds of
// milliseconds.
func MultiHostLab(qps int) *MultiHost {
	const rate = 100 * units.Gbps
	m := &MultiHost{
		Rate: rate, Up: 200 * units.Gbps, Delay: units.Microsecond, PCIe: rate / 2,
		Buffer: 32 * units.MiB, NIC: 512 * units.KiB,
		QPs: qps, Victim: true, Message: units.MiB, MTU: 1024, CNPs: 4 * units.Microsecond,
		Settle: 20 * units.Millisecond, Period: 10 * units.Millisecond, Seed: 1,
	}
	m.Cut(4 * units.Microsecond)
	m.Space = nicSpace(m.Default().Headroom)
	return m
}

// Cut sets the minimum time between rate reductions (Rate_Reduce_Monitor_Period).
func (m *MultiHost) Cut(period units.Duration) {
	m.Control = fmt.Sprintf("dcqcn-nic:ai=20Mb/s,hai=200Mb/s,cut_period=%v", period)
	m.Many = m.Control
	if m.QPs > 0 {
		m.Many += fmt.Sprintf(",max_rate=%v", m.Rate/units.BitRate(m.QPs))
	}
}

// nicSpace is the search space of a NIC.
func nicSpace(headroom units.Bytes) bytetuning.Space {
	s := bytetuning.Space{
		Pmax: []bytetuning.Percent{1, 5, 10, 20, 50, 100}, Headroom: []units.Bytes{headroom},
		Alpha: []bytetuning.Alpha{-2, -1, 0, 1, 2, 3},
	}
	for k := 4 * bytetuning.Cell; k <= 1024*bytetuning.Cell; k *= 2 {
		s.Kmin, s.Gap = append(s.Kmin, k), append(s.Gap, k)
	}
	return s
}

// Path returns the parameters of baselines.
func (m *MultiHost) Path() bytetuning.Path {
	return bytetuning.Path{Rate: m.Rate, Link: m.Delay, RTT: 8 * m.Delay, MTU: m.MTU + 86}
}

// Default returns a watermark of the NIC's size, since the manufacturer's is not published: a
// sixteenth and an eighth of its buffer, and otherwise SwitchProfile.
func (m *MultiHost) Default() bytetuning.Watermark {
	w := m.SwitchProfile()
	w.Kmin, w.Kmax = m.NIC/16, m.NIC/8
	return w
}

// SwitchProfile returns NVIDIA's recommendation for its switches. Its thresholds are larger than
// what a NIC holds, so that PFC acts before ECN.
func (m *MultiHost) SwitchProfile() bytetuning.Watermark {
	w, err := bytetuning.Baseline("nvidia", m.Path())
	if err != nil {
		panic(err) // it exists
	}
	return w
}

// Layers implements bytetuning.Target.
func (m *MultiHost) Layers() []bytetuning.Layer {
	return []bytetuning.Layer{{Name: "nic", Space: m.Space, Buffer: m.NIC, Ports: 3}}
}

// Apply implements bytetuning.Target.
func (m *MultiHost) Apply(_ context.Context, p bytetuning.Point) error {
	if len(p) != 1 {
		return p.Check(m.Layers())
	}
	if err := p[0].Validate(); err != nil {
		return err
	}
	m.now = p[0]
	return nil
}

// MultiHostRun holds the results of the measured time.
type MultiHostRun struct {
	A, B, Victim units.BitRate  // payload that C_1 received from A and from B, and C_2
	Pauses       uint64         // pauses that the NIC requested
	Paused       units.Duration // time for which the ToR switch was paused
	Marked       uint64         // packets, by the NIC or a switch
	NICMarked    uint64         // the part of Marked by the NIC
	Lost         uint64         // packets, since the beginning
	// mean queues in bytes: of the NIC to C_1 (or its one queue), of the ToR switch to the NIC
	NIC, ToR float64
}

// Total returns the payload rate of hosts C_1 and C_2 together.
func (r *MultiHostRun) Total() units.BitRate { return r.A + r.B + r.Victim }

// Run simulates the present watermark.
func (m *MultiHost) Run(ctx context.Context) (*MultiHostRun, error) {
	if m.now == (bytetuning.Watermark{}) {
		return nil, errors.New("scene: nothing was applied")
	}
	n, err := m.build()
	if err != nil {
		return nil, err
	}
	if err := n.run(ctx, units.Time(m.Settle)); err != nil {
		return nil, err
	}
	from, before := n.Net.Now(), n.books()
	end := from.Add(m.Period)
	if err := n.run(ctx, end); err != nil {
		return nil, err
	}
	after := n.books()
	rate := func(i int) units.BitRate {
		return units.RateOf(units.Bytes(after.received[i]-before.received[i]), m.Period)
	}
	return &MultiHostRun{
		A: rate(0), B: rate(1), Victim: rate(2), Pauses: after.pauses - before.pauses,
		Paused: after.paused - before.paused,
		Marked: after.marked - before.marked, NICMarked: after.byNIC - before.byNIC,
		Lost: after.lost, NIC: n.waiting.Mean(from, end), ToR: n.behind.Mean(from, end),
	}, nil
}

// Hosts of a MultiHost.
const (
	hostA = iota
	hostB
	hostC1
	hostC2
)

// multiHost is one simulation.
type multiHost struct {
	*sim.Simulation
	flows   [3][]*sim.Conn // of A, of B, the victim
	nic     *fabric.Switch
	last    *fabric.Port   // of C's ToR switch, to the NIC
	waiting *fabric.Series // in the NIC
	behind  *fabric.Series // in last
}

// build makes the network and starts the flows.
func (m *MultiHost) build() (*multiHost, error) {
	n := &multiHost{}
	s, err := m.scenario(n)
	if err != nil {
		return nil, err
	}
	if n.Simulation, err = sim.New(s); err != nil {
		return nil, err
	}
	victims := 0
	if m.Victim {
		victims = 1
	}
	for i, f := range []struct{ from, to, qps int }{{hostA, hostC1, m.QPs}, {hostB, hostC1, m.QPs},
		{hostB, hostC2, victims}} {
		for range f.qps {
			r, err := n.Start(workload.Flow{Src: f.from, Dst: f.to, Bytes: 1 << 50})
			if err != nil {
				return nil, err
			}
			n.flows[i] = append(n.flows[i], r.Conn)
		}
	}
	// The NIC's first port leads to C_1, or holds its one queue.
	n.waiting, n.behind = n.nic.Ports()[0].RecordQueue(0), n.last.RecordQueue(0)
	return n, nil
}

// scenario returns the scene in the form of sim, with switches as Huawei recommends.
func (m *MultiHost) scenario(n *multiHost) (sim.Scenario, error) {
	control, err := cc.Parse(m.Control)
	if err != nil {
		return sim.Scenario{}, err
	}
	many, err := cc.Parse(m.Many)
	if err != nil {
		return sim.Scenario{}, err
	}
	path := m.Path()
	path.Uplink = m.Up
	advice, err := bytetuning.Baseline("manufacturer", path)
	return sim.Scenario{
		Topology: sim.Custom(func(p fabric.Parts) *fabric.Network { return m.network(p, n) }),
		Seed:     m.Seed,
		Hosts:    sim.Hosts{PathMTU: m.MTU, Chunk: m.Message, Timeout: 14},
		Scheme: sim.Scheme{
			Switch:      fabric.SwitchConfig{Buffer: m.Buffer, Queues: Queues(advice, true).At()},
			CNPInterval: m.CNPs, AnswerClass: replies,
			Of: func(p sim.Pair, s *sim.Service) {
				if s.Control = control; p.To == hostC1 {
					s.Control = many
				}
			},
		},
	}, err
}

// network builds the network of the paper's figure 4.
func (m *MultiHost) network(p fabric.Parts, n *multiHost) *fabric.Network {
	net := fabric.New(p.Config)
	leaf := net.AddSwitch("leaf", p.Switch)
	tor := func(name string, below fabric.Node) *fabric.Port {
		s := net.AddSwitch(name, p.Switch)
		net.Connect(s, leaf, fabric.Link{Rate: m.Up, Delay: m.Delay})
		return net.Connect(s, below, fabric.Link{Rate: m.Rate, Delay: m.Delay})
	}
	tor("tor A", p.AddHost(net))
	tor("tor B", p.AddHost(net))
	n.nic = fabric.MultiHost{
		Hosts: 2, PCIe: fabric.Link{Rate: m.PCIe}, Buffer: m.NIC, Data: Queues(m.now, true)[0],
		OneQueue: m.OneQueue,
	}.Build(net, "nic")
	n.last = tor("tor C", n.nic)
	return net
}

// run checks the context each millisecond of the simulation.
func (n *multiHost) run(ctx context.Context, until units.Time) error {
	for n.Net.Now() != until {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := n.Net.Run(units.Earlier(n.Net.Now().Add(units.Millisecond), until)); err != nil {
			return err
		}
		if err := errors.Join(n.Errors...); err != nil {
			return err
		}
	}
	return nil
}

// books are counters.
type books struct {
	received                    [3]uint64
	pauses, marked, byNIC, lost uint64
	paused                      units.Duration
}

func (n *multiHost) books() (b books) {
	for i := range n.flows {
		for _, c := range n.flows[i] {
			b.received[i] += c.Received()
		}
	}
	for _, s := range n.Net.Switches() {
		for _, p := range s.Ports() {
			b.marked += p.QueueStats(0).Marked
			b.lost += p.QueueStats(0).Dropped
		}
	}
	for _, p := range n.nic.Ports() {
		b.byNIC += p.QueueStats(0).Marked
	}
	b.pauses, b.paused = n.last.Peer().QueueStats(0).PausesSent, n.last.QueueStats(0).Paused
	return b
}

// Measure implements bytetuning.Target. Telemetry of the receivers' switch reports its throughput
// and its queue to the NIC (section 5.4). No switch reports the queue in the NIC.
func (m *MultiHost) Measure(ctx context.Context) (*bytetuning.Measurement, error) {
	r, err := m.Run(ctx)
	if err != nil {
		return nil, err
	}
	s, err := bytetuning.SampleOf(0, float64(r.Total()), r.ToR)
	if err != nil {
		return nil, fmt.Errorf("scene: %w", err)
	}
	return &bytetuning.Measurement{Switches: []bytetuning.Sample{s}, Lost: r.Lost}, nil
}
