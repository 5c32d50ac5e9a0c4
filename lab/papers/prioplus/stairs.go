package prioplus

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// stairs is classes of flows that begin one after the other, from the lowest priority to the
// highest, and then stop one after the other, from the highest down. The lowest runs to the end.
type stairs struct {
	priorities []int // the lowest first
	flows      int   // of each
	step       units.Duration
	settled    units.Duration // the end of each step, where classes are judged
	control    func(priority int) (cc.Factory, error)
}

// run records the goodput of classes in each step. config.Until is the end.
func (s *stairs) run(j *experiment.Job, config sim.Bottleneck) error {
	_, err := s.play(j, config)
	return err
}

// play runs the steps and returns their record.
func (s *stairs) play(j *experiment.Job, config sim.Bottleneck) (*sim.Result, error) {
	var flows []sim.Flow
	for i, p := range s.priorities {
		control, err := s.control(p)
		if err != nil {
			return nil, err
		}
		f := sim.Flow{Start: units.Duration(i) * s.step, Control: control}
		if i > 0 {
			f.Stop = s.stop(i)
		}
		flows = append(flows, sim.Many(s.flows, f)...)
	}
	r, err := config.Run(j.Context(), flows)
	if err != nil {
		return nil, err
	}
	all := binsOf(config.Interval, r.Traces)
	classes := make([]bins, len(s.priorities))
	for i, p := range s.priorities {
		classes[i] = binsOf(config.Interval, r.Traces[i*s.flows:(i+1)*s.flows])
		classes[i].keep(j, class(p))
	}
	below := func(top int) bins { return binsOf(config.Interval, r.Traces[:top*s.flows]) }
	for i := 1; i < len(classes); i++ {
		// It begins above the others.
		p, start := s.priorities[i], units.Duration(i)*s.step
		end := start + s.step
		j.Value(class(p)+" settled", classes[i].share(all, end-s.settled, end))
		j.Value(class(p)+" takeover", seconds(classes[i].takeover(all, start, end)))
		j.Value(class(p)+" yield", seconds(below(i).yield(all, start, end)))
		j.Value("below", below(i).share(all, end-s.settled, end))
		// It stops, and the next one has the link.
		stop := s.stop(i)
		j.Value(class(p)+" refill", seconds(all.refill(stop, config.Capacity())))
		j.Value(class(p)+" next", classes[i-1].share(all, stop+s.step-s.settled, stop+s.step))
		if i > 1 {
			j.Value("below", below(i-1).share(all, stop+s.step-s.settled, stop+s.step))
		}
	}
	j.Value("util", all.mean(units.Millisecond, r.End)/config.Capacity())
	keepQueue(j, "queue", r, config.Interval)
	return r, nil
}

// seconds returns infinity for events that never happened.
func seconds(d units.Duration) float64 {
	if d == units.Forever {
		return math.Inf(1)
	}
	return d.Seconds()
}

func class(priority int) string { return fmt.Sprintf("priority %d", priority) }

func (s *stairs) stop(i int) units.Duration {
	return units.Duration(2*len(s.priorities)-1-i) * s.step
}

// of returns the value of each class but the lowest under a name, as a map from its priority.
func (s *stairs) of(r experiment.Pool, name string, value func(float64) claims.Value) claims.Value {
	v := claims.Value{}
	for _, p := range s.priorities[1:] {
		v = v.With(fmt.Sprint(p), value(r.Values(class(p)+" "+name).Mean()))
	}
	return v
}

// mean returns the mean over the classes but the lowest.
func (s *stairs) mean(r experiment.Pool, name string) float64 {
	var all experiment.Values
	for _, p := range s.priorities[1:] {
		all = append(all, r.Values(class(p)+" "+name)...)
	}
	return all.Mean()
}

// figure draws the goodput of the classes, of the first seed.
func (s *stairs) figure(r experiment.Pool, name, title string) figure.Figure {
	p := figure.Lines(name, title, "time (ms)", "goodput (Gb/s)")
	for _, priority := range s.priorities {
		r.Seeds()[0].Series(class(priority)).Scaled(1e3, 1e-9).Draw(p, class(priority))
	}
	return p
}
