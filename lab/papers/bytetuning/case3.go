package bytetuninglab

import (
	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/scene"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// mixed is how RDMA and TCP share a port.
type mixed struct {
	Name    string
	TCP     bool
	Weights [2]int // of RDMA and TCP
	// RDMA's Kmin, Kmax and α are the experience-based ones so often doubled
	Raise int
	Alpha bytetuning.Alpha // TCP's
}

func (m mixed) String() string { return m.Name }

var mixes = []mixed{
	{"alone", false, [2]int{50, 50}, 0, 0},
	{"50:50", true, [2]int{50, 50}, 0, 0},
	{"99:1", true, [2]int{99, 1}, 0, 0},
	{"50:50, watermarks x4", true, [2]int{50, 50}, 2, 0},
	{"50:50, TCP's α 1/64", true, [2]int{50, 50}, 0, -6},
}

// case3: a ring of servers that add up vectors of 25 MB (the buckets of PyTorch's
// DistributedDataParallel), and bursts of TCP between the same servers, which have a queue of their
// own in the same buffer.
var case3 = &experiment.Experiment{
	ID:    "bytetuning/case3",
	Seeds: func(s experiment.Scale) int { return experiment.At(s, 3, 2) },
	Cells: func(experiment.Scale) []experiment.Cell { return experiment.Sweep("%v", mixes...) },
	Run:   runCase3,
	Judge: func(r *experiment.Results) {
		rdma := func(name string) float64 { return r.Cell(name).Values("rdma").Mean() }
		tcp := func(name string) float64 { return r.Cell(name).Values("tcp").Mean() }
		r.Claim("drop", rdma("50:50")/rdma("alone"))
		r.Claim("more-than-its-share", (rdma("alone")-rdma("50:50"))/tcp("50:50"))
		r.Claim("wrr", tcp("99:1")/(tcp("99:1")+rdma("99:1")))
		r.Claim("cure", rdma("50:50, watermarks x4")/rdma("50:50"))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		f := figure.Lines("rdma", "All-reduce while TCP bursts come", "time (ms)",
			"mean goodput of a server (Gb/s)")
		t := &figure.Table{Name: "case3",
			Title: "A ring all-reduce and TCP on the same ports, for each server",
			Header: []string{"RDMA:TCP", "RDMA (Gb/s)", "TCP (Gb/s)", "marked packets (1000/s)",
				"pauses (1000/s)", "TCP's loss (1000/s)", "mean RDMA queue of one port (KB)",
				"longest (KB)"}}
		for _, c := range r.Cells() {
			c.Series("rdma").Scaled(1e3, 1e-9).Draw(f, c.Name)
			v := func(name string) float64 { return c.Values(name).Mean() }
			t.Row(c.Name, v("rdma")/1e9, v("tcp")/1e9, v("marked")/1e3, v("pauses")/1e3,
				v("lost")/1e3, v("queue")/1e3, v("longest")/1e3)
		}
		return []figure.Figure{f, t}
	},
}

// tcpClass is the DSCP of TCP's data, whose queue is 1.
const tcpClass = 8 << 2

// tcpBurst is what comes to a server at once, from all but itself and the one before it in the
// ring.
const tcpBurst = 1536 * units.KiB

// tcpBursts come to one server after the other, at equal intervals.
type tcpBursts struct {
	servers  int
	interval units.Duration
	n        int
}

// Next implements workload.Source.
func (b *tcpBursts) Next() (workload.Flow, bool) {
	senders := b.servers - 2
	burst, sender := b.n/senders, b.n%senders
	b.n++
	to := burst % b.servers
	return workload.Flow{
		ID: uint64(b.n), At: units.Time(units.Duration(burst) * b.interval),
		Src: (to + 1 + sender) % b.servers, Dst: to,
		Bytes: tcpBurst / units.Bytes(senders), Group: -1,
	}, true
}

func runCase3(j *experiment.Job) error {
	s, err := j.Params.(mixed).scenario(j)
	if err != nil {
		return err
	}
	settle := 2 * ms
	var then case3Counts
	var speed, queue *fabric.Series
	s.Probes.Attach = func(s *sim.Simulation) {
		s.Net.At(s.Zero().Add(settle), func() {
			then = countCase3(s)
			speed = s.Net.SampleRate(ms, func() uint64 {
				return uint64(countCase3(s).rdma) / uint64(len(s.Nodes))
			})
			queue = s.Net.Switches()[0].Ports()[0].RecordQueue(0)
		})
	}
	s.Probes.Progress = func(at units.Duration) { j.Progress(float64(at) / float64(s.Until)) }
	r, err := s.Run(j.Context())
	if err != nil {
		return err
	}
	each := 1 / (float64(len(r.Simulation.Nodes)) * (s.Until - settle).Seconds())
	now := countCase3(r.Simulation)
	j.Value("rdma", 8*(now.rdma-then.rdma)*each)
	j.Value("tcp", 8*(now.tcp-then.tcp)*each)
	j.Value("marked", (now.marked-then.marked)*each)
	j.Value("pauses", (now.pauses-then.pauses)*each)
	j.Value("lost", (now.lost-then.lost)*each)
	j.Value("queue", queue.Mean(units.Time(settle), units.Time(s.Until)))
	j.Value("longest", queue.Max(units.Time(settle), units.Time(s.Until)))
	j.Curve("rdma", speed, 0)
	return nil
}

// scenario has RDMA from each server to the next, and something like TCP between the others:
// DCTCP's window, which without marks halves when it loses, with selective repeat.
func (m mixed) scenario(j *experiment.Job) (sim.Scenario, error) {
	servers, rate := experiment.At(j.Scale, 8, 4), experiment.At(j.Scale, 200*gbps, 25*gbps)
	w := experience()
	w.Kmin, w.Kmax, w.Alpha = w.Kmin<<m.Raise, w.Kmax<<m.Raise, w.Alpha+bytetuning.Alpha(m.Raise)
	qs := scene.Queues(w, true)
	qs[0].Level, qs[0].Weight = 1, m.Weights[0]
	qs[1] = fabric.Queue{Level: 1, Weight: m.Weights[1], Alpha: m.Alpha.Float()}
	s, err := rdma(j, 0)
	if err != nil {
		return s, err
	}
	tcp, err := cc.Parse("dctcp")
	if err != nil {
		return s, err
	}
	s.Topology = sim.Star(servers, fabric.Link{Rate: rate, Delay: us})
	s.Hosts.Cold = true
	s.Until = experiment.At(j.Scale, 52*ms, 32*ms)
	s.Scheme.Switch = fabric.SwitchConfig{Buffer: 32 * units.MiB, Queues: qs.At()}
	s.Scheme.Selective = true
	s.Scheme.Of = func(p sim.Pair, s *sim.Service) {
		if !nextInRing(p.From, p.To, servers) {
			s.Control, s.TrafficClass = tcp, tcpClass
		}
	}
	ring := workload.RingAllReduce{Bytes: experiment.At(j.Scale, units.Bytes(25_000_000),
		3_000_000)}
	for i := range servers {
		ring.Hosts = append(ring.Hosts, i)
	}
	s.Workload.Traffic = func(*sim.Simulation) (workload.Source, error) {
		sums, err := ring.Source()
		if err != nil || !m.TCP {
			return sums, err
		}
		each := (rate / 20).Duration(tcpBurst) // a twentieth of each link
		return workload.Merge(sums,
			&tcpBursts{servers: servers, interval: each / units.Duration(servers)}), nil
	}
	return s, nil
}

func nextInRing(from, to, servers int) bool { return to == (from+1)%servers }

// case3Counts is what there was so far: bytes of the flows of RDMA and TCP that have ended, RDMA's
// marks and pauses, and TCP's losses.
type case3Counts struct{ rdma, tcp, marked, pauses, lost float64 }

func countCase3(s *sim.Simulation) (c case3Counts) {
	for _, f := range s.Result().Flows {
		if nextInRing(f.Src, f.Dst, len(s.Nodes)) {
			c.rdma += float64(f.Bytes)
		} else {
			c.tcp += float64(f.Bytes)
		}
	}
	for _, p := range s.Net.Switches()[0].Ports() {
		rdma, tcp := p.QueueStats(0), p.QueueStats(1)
		c.marked += float64(rdma.Marked)
		c.pauses += float64(rdma.PausesSent)
		c.lost += float64(tcp.Dropped)
	}
	return c
}
