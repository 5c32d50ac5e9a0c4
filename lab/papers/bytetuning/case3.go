package bytetuninglab

import (
	"errors"

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
	Seeds: oneSeed,
	Cells: func(experiment.Scale) []experiment.Cell { return experiment.Sweep("%v", mixes...) },
	Run:   runCase3,
	Judge: func(r *experiment.Results) {
		rdma := func(name string) float64 { return r.Cell(name).Values("rdma")[0] }
		tcp := func(name string) float64 { return r.Cell(name).Values("tcp")[0] }
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
			s := c.Series("rdma").Scaled(1e3, 1e-9)
			f.Add(c.Name, s.X, s.Y)
			v := func(name string) float64 { return c.Values(name)[0] }
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
	m := j.Params.(mixed)
	servers, rate := experiment.At(j.Scale, 8, 4), experiment.At(j.Scale, 200*gbps, 25*gbps)
	w := experience()
	w.Kmin, w.Kmax, w.Alpha = w.Kmin<<m.Raise, w.Kmax<<m.Raise, w.Alpha+bytetuning.Alpha(m.Raise)
	qs := scene.Queues(w, true)
	qs[0].Level, qs[0].Weight = 1, m.Weights[0]
	qs[1] = fabric.Queue{Level: 1, Weight: m.Weights[1], Alpha: m.Alpha.Float()}
	net := fabric.Star(fabric.Parts{Config: fabric.Config{Seed: j.Seed},
		Switch: fabric.SwitchConfig{Buffer: 32 * units.MiB, Queues: qs.At()}},
		servers, fabric.Link{Rate: rate, Delay: us})
	nextInRing := func(from, to int) bool { return to == (from+1)%servers }
	cl, err := mixedCluster(net, j.Seed, nextInRing)
	if err != nil {
		return err
	}
	ring := workload.RingAllReduce{Bytes: experiment.At(j.Scale, units.Bytes(25_000_000),
		3_000_000)}
	for i := range servers {
		ring.Hosts = append(ring.Hosts, i)
	}
	sums, err := ring.Source()
	if err != nil {
		return err
	}
	sources := []workload.Source{sums}
	if m.TCP { // a twentieth of each link
		each := (rate / 20).Duration(tcpBurst)
		sources = append(sources,
			&tcpBursts{servers: servers, interval: each / units.Duration(servers)})
	}
	var done [2]float64 // bytes of RDMA and TCP
	cl.Drive(workload.Merge(sources...), func(f *sim.Transfer) {
		if nextInRing(f.Src, f.Dst) {
			done[0] += float64(f.Bytes)
		} else {
			done[1] += float64(f.Bytes)
		}
	})
	settle, end := units.Time(2*ms), units.Time(experiment.At(j.Scale, 52*ms, 32*ms))
	if err := net.Run(settle); err != nil {
		return err
	}
	before := done
	then := countCase3(net.Switches()[0])
	speed := net.SampleRate(ms, func() uint64 { return uint64(done[0]) / uint64(servers) })
	queue := net.Switches()[0].Ports()[0].RecordQueue(0)
	for net.Now() != end {
		if err := errors.Join(j.Context().Err(), net.Run(net.Now().Add(ms))); err != nil {
			return err
		}
		j.Progress(float64(net.Now()) / float64(end))
	}
	each := 1 / (float64(servers) * end.Sub(settle).Seconds())
	now := countCase3(net.Switches()[0])
	j.Value("rdma", 8*(done[0]-before[0])*each)
	j.Value("tcp", 8*(done[1]-before[1])*each)
	j.Value("marked", (now.marked-then.marked)*each)
	j.Value("pauses", (now.pauses-then.pauses)*each)
	j.Value("lost", (now.lost-then.lost)*each)
	j.Value("queue", queue.Mean(settle, end))
	j.Value("longest", queue.Max(settle, end))
	for i, v := range speed.Values {
		j.Series("rdma").Add(speed.Times[i].Sub(0).Seconds(), v)
	}
	return errors.Join(cl.Errors...)
}

// case3Counts is what a switch counted: RDMA's marks and pauses, and TCP's losses.
type case3Counts struct{ marked, pauses, lost float64 }

func countCase3(s *fabric.Switch) (c case3Counts) {
	for _, p := range s.Ports() {
		rdma, tcp := p.QueueStats(0), p.QueueStats(1)
		c.marked += float64(rdma.Marked)
		c.pauses += float64(rdma.PausesSent)
		c.lost += float64(tcp.Dropped)
	}
	return c
}

// mixedCluster has RDMA between some hosts, and something like TCP between the others: DCTCP's
// window, which without marks halves when it loses, with selective repeat.
func mixedCluster(net *fabric.Network, seed uint64, rdma func(from, to int) bool) (*sim.Simulation,
	error) {
	dcqcn, err := cc.Parse("dcqcn-nic")
	if err != nil {
		return nil, err
	}
	tcp, err := cc.Parse("dctcp")
	if err != nil {
		return nil, err
	}
	return sim.New(sim.Scenario{
		Topology: sim.On(net),
		Seed:     seed,
		Hosts:    sim.Hosts{Timeout: 14},
		Scheme: sim.Scheme{CNPInterval: 4 * us,
			AnswerClass: answers,
			Selective:   true,
			Of: func(p sim.Pair, s *sim.Service) {
				if s.Control, s.TrafficClass = tcp, tcpClass; rdma(p.From, p.To) {
					s.Control, s.TrafficClass = dcqcn, 0
				}
			},
		},
	})
}
