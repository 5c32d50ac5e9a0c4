package bytetuninglab

import (
	"fmt"
	"strings"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/dialect"
	"github.com/goroce/goroce/bytetuning/intent"
	"github.com/goroce/goroce/bytetuning/scene"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// case1: parameter servers in one rack and the workers that they serve in four, below leaves with
// PFC and a spine without. A worker pushes 4 MB to one server after the other, and pulls as much,
// as BytePS does with its partitions of 4 MB. The leaf is the one above the servers: their rack has
// 100 Gb/s for eight of them, which workers behind the spine could fill twice.
var case1 = &experiment.Experiment{
	ID:    "bytetuning/case1",
	Seeds: oneSeed,
	Cells: func(experiment.Scale) []experiment.Cell {
		return experiment.Sweep("Kmax %v XOFF", 2., 0.5)
	},
	Run: runCase1,
	Judge: func(r *experiment.Results) {
		high, low := r.Cell("Kmax 2 XOFF"), r.Cell("Kmax 0.5 XOFF")
		r.Claim("loss", high.Values("loss")[0])
		r.Claim("pfc-before-ecn", high.Values("below")[0]/high.Values("pauses")[0])
		later := func(c experiment.Pool) float64 {
			return c.Series("lost").Y.Max() - c.Values("start")[0]
		}
		r.Claim("cure", later(low)/later(high))
		r.Note("cure", "after the first 2 ms, in which workers send their first messages at line "+
			"rate and have not received a mark: %.0f packets with the low Kmax and %.0f with the "+
			"high one, after %.0f and %.0f in those 2 ms", later(low), later(high),
			low.Values("start")[0], high.Values("start")[0])
		r.Claim("guard", high.Values("refused")[0] == 1 && low.Values("refused")[0] == 0)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		lost := figure.Lines("lost", "Packets from the spine that the leaf lost so far",
			"time (ms)", "1000 packets")
		queue := figure.Lines("queue", "Queue of the leaf to the servers' rack", "time (ms)", "MB")
		t := &figure.Table{Name: "case1", Title: "A leaf below a spine without PFC",
			Header: []string{"leaf", "Kmax (MB)", "lost (1000/s)", "pauses", "below Kmax",
				"pauses of the servers' ToR switch", "pushed (Gb/s)", "pulled (Gb/s)"}}
		for _, c := range r.Cells() {
			s, q := c.Series("lost").Scaled(1e3, 1e-3), c.Series("queue").Scaled(1e3, 1e-6)
			lost.Add(c.Name, s.X, s.Y)
			queue.Add(c.Name, q.X, q.Y)
			v := func(name string) float64 { return c.Values(name)[0] }
			t.Row(c.Name, v("kmax")/1e6, v("loss")/1e3, v("pauses"), v("below"), v("tor pauses"),
				v("pushed")/1e9, v("pulled")/1e9)
		}
		return []figure.Figure{lost, queue, t}
	},
}

// psNetwork is the network of figure 2: hosts at 25 Gb/s below four ToR switches, these at 100 Gb/s
// below two leaves, and those at 200 Gb/s below a spine. The servers and the remaining workers are
// in the first rack.
type psNetwork struct {
	scale            experiment.Scale
	config           fabric.SwitchConfig // of leaves
	servers, workers []int
	leaf, tor        *fabric.Switch // above the servers
	down, up         *fabric.Port   // of that leaf, to that ToR switch and to the spine
}

// Build implements sim.Topology. The Scheme's switches are the ToR switches.
func (p *psNetwork) Build(parts fabric.Parts) *fabric.Network {
	net := fabric.New(parts.Config)
	servers, workers := experiment.At(p.scale, 8, 4), experiment.At(p.scale, []int{2, 10, 10, 10},
		[]int{0, 4, 4, 4})
	spine := net.AddSwitch("spine", fabric.SwitchConfig{IgnorePauses: true})
	host := func(below *fabric.Switch) int {
		h := parts.AddHost(net)
		net.Connect(h, below, fabric.Link{Rate: 25 * gbps, Delay: us})
		return h.Index()
	}
	var above *fabric.Switch
	for i, n := range workers {
		if i%2 == 0 {
			above = net.AddSwitch(fmt.Sprintf("leaf %d", i/2), p.config)
			up := net.Connect(above, spine, fabric.Link{Rate: 200 * gbps, Delay: us})
			if i == 0 {
				p.leaf, p.up = above, up
			}
		}
		t := net.AddSwitch(fmt.Sprintf("tor %d", i), parts.Switch)
		down := net.Connect(above, t, fabric.Link{Rate: 100 * gbps, Delay: us})
		if i == 0 {
			p.tor, p.down = t, down
			for range servers {
				p.servers = append(p.servers, host(t))
			}
		}
		for range n {
			p.workers = append(p.workers, host(t))
		}
	}
	return net
}

func runCase1(j *experiment.Job) error {
	const buffer, ports = 32 * units.MiB, 3 // of the leaf
	w := experience()
	layer := bytetuning.Layer{Name: "leaf", Buffer: buffer, Ports: ports}
	w.Kmax = units.Bytes(j.Params.(float64) * float64(layer.XOFF(w)))
	w.Kmin = w.Kmax - 500*bytetuning.Cell // as in the traversal
	j.Value("kmax", float64(w.Kmax))
	refused, err := refusedAsCase1(w, intent.Chip{Cell: bytetuning.Cell, Buffer: buffer,
		Ports: ports})
	if err != nil {
		return err
	}
	j.Value("refused", number(refused))

	config := func(w bytetuning.Watermark) fabric.SwitchConfig {
		return fabric.SwitchConfig{Buffer: buffer, Queues: scene.Queues(w, true).At()}
	}
	const message = 4 * units.MiB
	s, err := rdma(j, message)
	if err != nil {
		return err
	}
	p := &psNetwork{scale: j.Scale, config: config(w)}
	s.Topology, s.Hosts.Cold, s.Scheme.Switch = p, true, config(experience())
	s.Until = experiment.At(j.Scale, 50*ms, 5*ms)
	s.Over = func(*sim.Simulation, units.Duration) bool { return false }
	pauses, below := uint64(0), uint64(0)
	var pushes, pulls []*sim.Conn
	var lost, queue *fabric.Series
	refusedHere := func() float64 { return float64(p.up.QueueStats(0).Refused) }
	s.Probes.Attach = func(s *sim.Simulation) {
		var err error
		if pushes, pulls, err = p.train(s, message); err != nil {
			s.Errors = append(s.Errors, err)
		}
		// the only standing queue: a frame that makes the leaf pause is queued here
		p.down.Watch(0, func(_ units.Time, length units.Bytes) {
			if now := pausesOf(p.leaf); now > pauses {
				if length < w.Kmax {
					below += now - pauses
				}
				pauses = now
			}
		})
		lost = s.Net.Sample(50*us, refusedHere)
		queue = s.Net.Sample(50*us, func() float64 { return float64(p.down.QueueLen(0)) })
	}
	s.Probes.Progress = func(at units.Duration) { j.Progress(float64(at) / float64(s.Until)) }
	if _, err := s.Run(j.Context()); err != nil {
		return err
	}
	span := s.Until.Seconds()
	j.Curve("lost", lost, 0)
	j.Curve("queue", queue, 0)
	j.Value("loss", refusedHere()/span)
	j.Value("start", lost.Max(0, units.Time(2*ms)))
	j.Value("pauses", float64(pauses))
	j.Value("below", float64(below))
	j.Value("tor pauses", float64(pausesOf(p.tor)))
	j.Value("pushed", 8*received(pushes)/span)
	j.Value("pulled", 8*received(pulls)/span)
	return nil
}

// pausesOf is how many PAUSE frames a switch has sent.
func pausesOf(s *fabric.Switch) (n uint64) {
	for _, port := range s.Ports() {
		n += port.QueueStats(0).PausesSent
	}
	return n
}

// train lets every worker push a message to one server after the other, and pull one from each.
func (p *psNetwork) train(cl *sim.Simulation, message units.Bytes) (pushes, pulls []*sim.Conn,
	err error) {
	for n, worker := range p.workers {
		var push, pull []*sim.Conn
		for i := range p.servers {
			server := p.servers[(n+i)%len(p.servers)]
			there, err := cl.Connect(worker, server)
			if err != nil {
				return nil, nil, err
			}
			back, err := cl.Connect(server, worker)
			if err != nil {
				return nil, nil, err
			}
			push, pull = append(push, there), append(pull, back)
		}
		inTurn(cl, message, push)
		inTurn(cl, message, pull)
		pushes, pulls = append(pushes, push...), append(pulls, pull...)
	}
	return pushes, pulls, nil
}

// inTurn sends a message on one connection after the other for ever, each when the one before is
// acknowledged.
func inTurn(cl *sim.Simulation, message units.Bytes, conns []*sim.Conn) {
	send := func(n int) {
		if err := conns[n%len(conns)].Write(message); err != nil {
			cl.Errors = append(cl.Errors, err)
		}
	}
	for n, c := range conns {
		c.Written = func(status transport.Status, _ units.Time) {
			if status != transport.StatusSuccess {
				cl.Errors = append(cl.Errors, fmt.Errorf("a message of %v: %v", message, status))
				return
			}
			send(n + 1)
		}
	}
	send(0)
}

func received(conns []*sim.Conn) (sum float64) {
	for _, c := range conns {
		sum += float64(c.Received())
	}
	return sum
}

// refusedAsCase1 reports whether the translator refuses a watermark for Kmax and XOFF. Another
// refusal is an error.
func refusedAsCase1(w bytetuning.Watermark, chip intent.Chip) (bool, error) {
	d, err := dialect.Lookup("sonic")
	if err != nil {
		return false, err
	}
	i := &intent.Intent{Name: "leaf", Chip: chip, Watermark: w, Priority: 3, Queue: 3,
		Interfaces: []string{"Ethernet0"}}
	if _, err = d.Render(i, dialect.Options{}); err != nil && strings.Contains(err.Error(),
		"case I") {
		return true, nil
	}
	return false, err
}
