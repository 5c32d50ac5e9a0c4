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
	mouseHome = 8 // hosts that mice come from
	mouseLoad = 0.01
	settled   = units.Millisecond // for elephants alone
)

// run takes down the completion times of the mice, the queue that they met, and what the elephants left of the link.
func (m mice) run(j *experiment.Job) error {
	l := link(j.Scale)
	net := fabric.Star(m.parts(j.Seed, l), elephants+mouseHome+1, l)
	cl, err := m.cluster(net, j.Seed)
	if err != nil {
		return err
	}
	const receiver = elephants + mouseHome
	var large []*sim.Transfer
	for i := range elephants {
		f, err := cl.Start(workload.Flow{Src: i, Dst: receiver, Bytes: 1 << 50})
		if err != nil {
			return err
		}
		large = append(large, f)
	}
	poisson, err := workload.Poisson{
		Hosts: mouseHome, Rate: l.Rate / mouseHome, Load: mouseLoad, Sizes: workload.Uniform(2000, payload+1),
		Start: units.Time(settled), Flows: m.Count, Seed: j.Seed,
	}.Source()
	if err != nil {
		return err
	}
	begin, ended := net.Now(), 0
	cl.Drive(toward{poisson, elephants, receiver}, func(f *sim.Transfer) {
		j.Value("fct", f.Done.Sub(begin.Add(units.Duration(f.At))).Seconds())
		ended++
	})
	bottleneck := net.Switches()[0].Ports()[receiver]
	queue := net.Sample(units.Microsecond, func() float64 { return float64(bottleneck.QueueLen(data)) })
	received := net.SampleRate(10*units.Microsecond, func() (sum uint64) {
		for _, f := range large {
			sum += f.Conn.Received()
		}
		return sum
	})
	err = cl.Finish(j.Context(), 10*units.Second, func(units.Time) bool {
		j.Progress(float64(ended) / float64(m.Count))
		return ended == m.Count
	})
	if err != nil {
		return err
	}
	from, to := begin.Add(settled), net.Now()
	j.Value("goodput", received.Mean(from, to))
	for _, p := range []float64{5, 50, 95, 99} {
		j.Value(fmt.Sprintf("queue p%g", p), queue.Percentile(p, from, to))
	}
	return nil
}

// toward sends all flows to one host, and has those that they come from behind so many others.
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
