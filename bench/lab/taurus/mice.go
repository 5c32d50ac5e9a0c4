package taurus

import (
	"github.com/goroce/goroce/bench/cluster"
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
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

// run answers the completion times of the mice, in seconds.
func (m mice) run(j *experiment.Job) (fct experiment.Values, err error) {
	l := link(j.Scale)
	net := fabric.Star(m.parts(j.Seed, l, 1), elephants+mouseHome+1, l)
	cl, err := m.cluster(net, j.Seed)
	if err != nil {
		return nil, err
	}
	const receiver = elephants + mouseHome
	for i := range elephants {
		if _, err := cl.Start(workload.Flow{Src: i, Dst: receiver, Bytes: 1 << 50}); err != nil {
			return nil, err
		}
	}
	poisson, err := workload.Poisson{
		Hosts: mouseHome, Rate: l.Rate / mouseHome, Load: mouseLoad, Sizes: workload.Uniform(2000, payload+1),
		Start: units.Time(settled), Flows: m.Count, Seed: j.Seed,
	}.Source()
	if err != nil {
		return nil, err
	}
	begin := net.Now()
	cl.Drive(toward{poisson, elephants, receiver}, func(f *cluster.Running) {
		fct = append(fct, f.Done.Sub(begin.Add(units.Duration(f.At))).Seconds())
		j.Progress(float64(len(fct)) / float64(m.Count))
		if len(fct) == m.Count {
			net.Stop()
		}
	})
	return fct, finish(j.Context(), cl, 10*units.Second)
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
