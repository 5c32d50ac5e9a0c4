package tocc

import (
	"errors"
	"fmt"
	"math"

	"github.com/goroce/goroce/bench/cluster"
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// run is a scheme that serves traffic in a network.
type run struct {
	Scheme  scheme
	Network network
	Traffic traffic
}

// name is the cell's: what differs between the runs of one experiment.
func (r run) name() string {
	return fmt.Sprintf("%s, %s at %v, %v", r.Scheme, r.Network.Name, r.Network.Host.Rate, r.Traffic)
}

// cells are those of schemes that serve the same traffic in the same network.
func cells(n network, t traffic, of ...scheme) []experiment.Cell {
	out := make([]experiment.Cell, len(of))
	for i, s := range of {
		r := run{s, n, t}
		out[i] = experiment.Cell{Name: r.name(), Params: r}
	}
	return out
}

// outcome is what came of a run.
type outcome struct {
	Flows []finished

	Buffer              units.Bytes // most that one switch ever held
	Sent, Lost, Trimmed float64     // packets of the data's queues
	Pauses              float64     // PAUSE frames of switches
	PausedShare         float64     // of the time of all ports, on average
}

// finished is a flow that ended.
type finished struct {
	workload.Flow
	FCT      units.Duration
	Slowdown float64
}

// class is the flow's name in figures: its incast's, or that of its size.
func (f finished) class() string {
	if f.Class == incastClass {
		return "incast"
	}
	classes := workload.ToCCClasses()
	return classes[workload.ClassOf(f.Bytes, classes)].Name
}

// bySize are the classes of flows that belong to no incast.
var bySize = []string{"tiny", "small", "medium", "large"}

// serve runs a cell, and takes down completion times in seconds and slowdowns by class, and what the
// switches have counted.
func serve(j *experiment.Job) error {
	r := j.Params.(run)
	out, err := once(j, r, func() (*outcome, error) { return r.simulate(j) })
	if err != nil {
		return err
	}
	j.Value("victims")
	for _, class := range append([]string{"incast"}, bySize...) {
		j.Value(class)
		j.Value(class + " slowdown")
	}
	for _, f := range out.Flows {
		j.Value(f.class(), f.FCT.Seconds())
		j.Value(f.class()+" slowdown", math.Round(1e4*f.Slowdown)/1e4)
		if r.Traffic.IncastHigh > 0 && f.Dst == incastReceiver && f.Class != incastClass {
			j.Value("victims", f.FCT.Seconds()) // what else goes to the host of the incasts
		}
	}
	j.Value("bufmax", float64(out.Buffer))
	j.Value("sent", out.Sent)
	j.Value("lost", out.Lost)
	j.Value("trimmed", out.Trimmed)
	j.Value("pauses", out.Pauses)
	j.Value("paused", out.PausedShare)
	return nil
}

// simulate runs until all flows have ended.
func (r run) simulate(j *experiment.Job) (*outcome, error) {
	m, control, err := r.Scheme.method()
	if err != nil {
		return nil, err
	}
	admit, err := m.admit()
	if err != nil {
		return nil, err
	}
	source, span, err := r.Traffic.source(r.Network, j.Seed)
	if err != nil {
		return nil, err
	}
	// A nanosecond into a host, so that there is an endpoint delay to be told.
	net := r.Network.Build(fabric.Parts{
		Config: fabric.Config{Seed: j.Seed}, Host: fabric.HostConfig{RxDelay: units.Nanosecond}, Switch: m.Switches(r.Network),
	})
	cl, err := cluster.New(net, cluster.Config{
		Seed: j.Seed, PathMTU: payload, CNPInterval: m.CNPs, Selective: m.Selective,
		Timeout: 12, // 16.8 ms, longer than a switch's buffer takes to drain
		Serve: func(workload.Flow) cluster.Service {
			return cluster.Service{Control: control, AnswerClass: answerClass, Admit: admit}
		},
	})
	if err != nil {
		return nil, err
	}
	if err := cl.Introduce(); err != nil {
		return nil, err
	}
	begin, out := net.Now(), &outcome{}
	cl.Drive(source, func(f *cluster.Running) {
		took := f.Done.Sub(begin.Add(units.Duration(f.At)))
		out.Flows = append(out.Flows, finished{f.Flow, took, float64(took) / float64(cl.Ideal(f.Flow))})
	})
	net.Every(20*units.Microsecond, func(now units.Time) bool {
		j.Progress(math.Min(0.9, 0.5*float64(now.Sub(begin))/float64(span)))
		if j.Context().Err() != nil || len(cl.Errors) > 0 || now.Sub(begin) > span && cl.Running() == 0 {
			net.Stop()
		}
		return true
	})
	if err := net.Run(begin.Add(100*span + units.Second)); err != nil && !errors.Is(err, fabric.ErrStopped) {
		return nil, err
	}
	switch {
	case j.Context().Err() != nil:
		return nil, j.Context().Err()
	case len(cl.Errors) > 0:
		return nil, fmt.Errorf("%d flows failed, the first: %w", len(cl.Errors), cl.Errors[0])
	case cl.Running() > 0:
		return nil, fmt.Errorf("%d flows have not ended after %v", cl.Running(), net.Now().Sub(begin))
	}
	out.count(net, net.Now().Sub(begin))
	return out, nil
}

// count adds up what switches have counted.
func (o *outcome) count(net *fabric.Network, took units.Duration) {
	ports := 0.0
	for _, s := range net.Switches() {
		o.Buffer = max(o.Buffer, s.Stats().Fullest)
		for _, p := range s.Ports() {
			ports++
			for i := range fabric.MaxQueues {
				q := p.QueueStats(i)
				o.Pauses += float64(q.PausesSent)
				o.PausedShare += float64(q.Paused) / float64(took)
				o.Trimmed += float64(q.Trimmed)
				if i < tokens {
					o.Sent += float64(q.Frames)
					o.Lost += float64(q.Dropped + q.Selected)
				}
			}
		}
	}
	o.PausedShare /= ports
}
