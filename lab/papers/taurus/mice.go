package taurus

import (
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// mice are flows of one packet that cross a link which two large flows, the elephants, have filled.
type mice struct {
	cell
	Count int
}

const (
	elephants = 2
	mouseHome = 8 // source hosts of mice
	mouseLoad = 0.01
	settled   = units.Millisecond // for elephants alone
)

// run records the completion times of the mice, the queue that they met, and how much of the link
// the elephants used.
func (m mice) run(j *experiment.Job) error {
	l := link(j.Scale)
	const receiver = elephants + mouseHome
	s, err := m.scenario(j.Seed, l)
	if err != nil {
		return err
	}
	poisson, err := workload.Poisson{
		Hosts: mouseHome, Rate: l.Rate / mouseHome, Load: mouseLoad, Sizes: workload.Uniform(2000,
			payload+1),
		Start: units.Time(settled), Flows: m.Count, Seed: j.Seed,
	}.Source()
	if err != nil {
		return err
	}
	s.Topology, s.Until = sim.Star(elephants+mouseHome+1, l), 10*units.Second
	s.Workload.Traffic = func(*sim.Simulation) (workload.Source, error) {
		return toward{poisson, elephants, receiver}, nil
	}
	var queue, received *fabric.Series
	s.Probes.Attach = func(s *sim.Simulation) {
		var large []*sim.Transfer
		for i := range elephants {
			f, err := s.Start(workload.Flow{Src: i, Dst: receiver, Bytes: 1 << 50})
			if err != nil {
				s.Errors = append(s.Errors, err)
				return
			}
			large = append(large, f)
		}
		queue, received = observe(s, receiver, func() (sum uint64) {
			for _, f := range large {
				sum += f.Conn.Received()
			}
			return sum
		})
	}
	s.Over = func(s *sim.Simulation, _ units.Duration) bool {
		j.Progress(float64(len(s.Result().Flows)) / float64(m.Count))
		return len(s.Result().Flows) == m.Count
	}
	r, err := s.Run(j.Context())
	if err != nil {
		return err
	}
	for _, f := range r.Flows {
		j.Value("fct", f.FCT().Seconds())
	}
	zero := r.Simulation.Zero()
	from, to := zero.Add(settled), zero.Add(r.End)
	j.Value("goodput", received.Mean(from, to))
	for _, p := range []float64{5, 50, 95, 99} {
		j.Value(fmt.Sprintf("queue p%g", p), queue.Percentile(p, from, to))
	}
	return r.Complete()
}

// toward sends all flows to one host, and shifts their sources by a number of hosts.
type toward struct {
	workload.Source
	behind, receiver int
}

// Next implements workload.Source.
func (t toward) Next() (workload.Flow, bool) {
	f, some := t.Source.Next()
	f.Src, f.Dst = f.Src+t.behind, t.receiver
	return f, some
}
