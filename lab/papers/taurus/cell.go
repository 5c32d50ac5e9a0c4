package taurus

import (
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// cell is a simulation of what figures compare: an algorithm, in line or behind the split.
type cell struct {
	Algorithm algorithm
	Place     place
}

func (c cell) name() string { return fmt.Sprintf("%s %v", c.Algorithm, c.Place) }

// compared are algorithms, each in both places.
func compared(of ...algorithm) (cells []experiment.Cell) {
	for _, a := range of {
		for _, p := range places {
			c := cell{a, p}
			cells = append(cells, experiment.Cell{Name: c.name(), Params: c})
		}
	}
	return cells
}

// of is what was found of an algorithm in a place.
func of(r *experiment.Results, a algorithm, p place) experiment.Pool {
	return r.Cell(cell{a, p}.name())
}

// ratio is the mean of a value behind the split to that in line.
func ratio(r *experiment.Results, a algorithm, value string) float64 {
	return of(r, a, split).Values(value).Mean() / of(r, a, native).Values(value).Mean()
}

// parts are those of a network of such links.
func (c cell) parts(seed uint64, l fabric.Link) fabric.Parts {
	// A nanosecond into a host, so that there is an endpoint delay to be told.
	return fabric.Parts{
		Config: fabric.Config{Seed: seed, MTU: sim.LinkMTU}, Host: fabric.HostConfig{RxDelay: units.Nanosecond}, Switch: c.Algorithm.switches(l),
	}
}

// cluster puts endpoints on a network, each flow with a connection of its own, and lets them get to know each other.
func (c cell) cluster(net *fabric.Network, seed uint64) (*sim.Simulation, error) {
	control, err := c.Algorithm.control()
	if err != nil {
		return nil, err
	}
	cl, err := sim.New(sim.Scenario{
		Topology: sim.On(net),
		Seed:     seed,
		Hosts:    sim.Hosts{PathMTU: payload, Timeout: 12},
		Scheme: sim.Scheme{ // 16.8 ms, longer than a switch's buffer takes to drain
			Controller: c.Place.controller,
			PerFlow: func(*sim.Simulation, workload.Flow) (sim.Service, error) {
				return sim.Service{Control: control, AnswerClass: answerClass}, nil
			},
		},
	})
	if err != nil {
		return nil, err
	}
	return cl, cl.Introduce()
}
