package taurus

import (
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// cell is a simulation that figures compare: an algorithm, in line or behind the split.
type cell struct {
	Algorithm algorithm
	Place     place
}

func (c cell) name() string { return fmt.Sprintf("%s %v", c.Algorithm, c.Place) }

// compared returns algorithms, each in both places.
func compared(of ...algorithm) (cells []experiment.Cell) {
	for _, a := range of {
		for _, p := range places {
			c := cell{a, p}
			cells = append(cells, experiment.Cell{Name: c.name(), Params: c})
		}
	}
	return cells
}

// of returns the results of an algorithm in a place.
func of(r *experiment.Results, a algorithm, p place) experiment.Pool {
	return r.Cell(cell{a, p}.name())
}

// ratio returns the mean of a value behind the split relative to that in line.
func ratio(r *experiment.Results, a algorithm, value string) float64 {
	return of(r, a, split).Values(value).Mean() / of(r, a, native).Values(value).Mean()
}

// scenario returns a run of this cell through links like l: each flow has a connection of its own.
func (c cell) scenario(seed uint64, l fabric.Link) (sim.Scenario, error) {
	control, err := c.Algorithm.control()
	return sim.Scenario{
		// A nanosecond into a host, so that there is an endpoint delay to report. The timeout is
		// 16.8 ms, longer than a switch's buffer takes to drain.
		Hosts: sim.Hosts{Machine: fabric.HostConfig{RxDelay: units.Nanosecond}, PathMTU: payload,
			Timeout: 12},
		Scheme: sim.Scheme{
			Controller: c.Place.controller, Switch: c.Algorithm.switches(l),
			PerFlow: func(*sim.Simulation, workload.Flow) (sim.Service, error) {
				return sim.Service{Control: control, AnswerClass: answerClass}, nil
			},
		},
		Seed: seed,
	}, err
}
