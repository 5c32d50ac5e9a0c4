package sim

import (
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// Probes selects what a run records beside its flows. A zero field records nothing.
type Probes struct {
	Queues []QueueProbe
	// Goodput is the interval of the goodput of declared flows; 0 means 20 µs.
	Goodput units.Duration
	// Buffers, unless 0, is the sampling interval of the fullest switch's buffer.
	Buffers units.Duration
	// Attach, unless nil, is called at time zero, before the first flow begins.
	Attach func(s *Simulation)
	// Progress, unless nil, is called in each Step.
	Progress func(at units.Duration)
}

// QueueProbe names a queue of a port of a switch, in the order in which the topology adds switches
// and connects their links.
type QueueProbe struct {
	Switch, Port, Queue int
	// Scale multiplies the length, which is in bytes of the switch's buffer; 0 means 1.
	Scale float64
}

func (p *Probes) interval() units.Duration {
	if p.Goodput == 0 {
		return 20 * units.Microsecond
	}
	return p.Goodput
}

// record starts to record queues.
func (s *Simulation) record() error {
	for _, p := range s.Probes.Queues {
		port, err := s.port(p)
		if err != nil {
			return err
		}
		q := &QueueTrace{Length: port.RecordQueue(p.Queue), port: port, probe: p}
		s.result.Queues = append(s.result.Queues, q)
	}
	return nil
}

func (s *Simulation) port(p QueueProbe) (*fabric.Port, error) {
	switches := s.Net.Switches()
	if p.Switch < 0 || p.Switch >= len(switches) {
		return nil, fmt.Errorf("sim: probe: switch %d out of range [0, %d)", p.Switch,
			len(switches))
	}
	ports := switches[p.Switch].Ports()
	if p.Port < 0 || p.Port >= len(ports) {
		return nil, fmt.Errorf("sim: probe: port %d out of range [0, %d)", p.Port, len(ports))
	}
	if p.Queue < 0 || p.Queue >= fabric.MaxQueues {
		return nil, fmt.Errorf("sim: probe: queue %d out of range [0, %d)", p.Queue,
			fabric.MaxQueues)
	}
	return ports[p.Port], nil
}

// recordBuffers starts to sample buffers.
func (s *Simulation) recordBuffers() {
	if s.Probes.Buffers == 0 {
		return
	}
	s.result.Stored = s.Net.Sample(s.Probes.Buffers, func() float64 {
		most := units.Bytes(0)
		for _, sw := range s.Net.Switches() {
			most = max(most, sw.Stored())
		}
		return float64(most)
	})
}

// since returns the series with times relative to zero and values scaled.
func since(s *fabric.Series, zero units.Time, by float64) *fabric.Series {
	out := &fabric.Series{}
	for i, at := range s.Times {
		out.Add(at.Add(-units.Duration(zero)), s.Values[i]*by)
	}
	return out
}
