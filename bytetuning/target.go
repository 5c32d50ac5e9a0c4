package bytetuning

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/goroce/goroce/bytetuning/fluid"
	"github.com/goroce/goroce/units"
)

// Target is a network that can be tuned: a model, a simulation, or the real one.
type Target interface {
	// Layers returns the layers that a Point configures.
	Layers() []Layer
	// Apply configures a point. After an error the target may be partly configured, and the caller
	// has to apply a known point again.
	Apply(ctx context.Context, p Point) error
	// Measure lets the network settle and measures it under the point applied last.
	Measure(ctx context.Context) (*Measurement, error)
}

// Fluid is the model of section 4 as a target. It has one layer: the ToR switch, which marks and
// pauses. K_pfc is the watermark's XOFF in the buffer less the headroom. Throughput is the traffic
// that S0 sends, less the loss at S1, which has to be retransmitted. The queue is the mean queue of
// S0.
type Fluid struct {
	Config  fluid.Config
	Space   Space
	current Watermark
}

// NewFluid returns a target with N flows that start at a rate, written as 8x40G.
func NewFluid(scene string) (*Fluid, error) {
	count, rate, ok := strings.Cut(scene, "x")
	n, err := strconv.Atoi(count)
	start, rateErr := units.ParseBitRate(rate)
	if !ok || err != nil || rateErr != nil {
		return nil, fmt.Errorf(
			"bytetuning: fluid scene %q: want flows and their start rate, such as 8x40G", scene)
	}
	f := &Fluid{Config: fluid.Default(n, start), Space: FluidSpace()}
	f.current = Watermark{Kmin: f.Config.Kmin, Kmax: f.Config.Kmax, Pmax: 10, Alpha: -1}
	return f, f.Config.Validate()
}

// FluidSpace returns the search space of the model: thresholds in packets of 1 KB, for a buffer of
// 1000 packets.
func FluidSpace() Space {
	const kb = 1000
	return Space{
		Kmin: []units.Bytes{1 * kb, 2 * kb, 5 * kb, 10 * kb, 20 * kb, 50 * kb, 100 * kb, 200 * kb},
		Gap:  []units.Bytes{10 * kb, 20 * kb, 50 * kb, 100 * kb, 200 * kb, 400 * kb},
		Pmax: []Percent{1, 2, 5, 10, 20, 50}, Headroom: []units.Bytes{20 * kb, 50 * kb, 100 * kb},
		Alpha: []Alpha{-2, -1, 0, 1, 2, 3},
	}
}

// Layers implements Target.
func (f *Fluid) Layers() []Layer {
	return []Layer{{Name: "tor", Space: f.Space, Buffer: f.Config.Buffer, Ports: 1}}
}

// Apply implements Target. The model has no switch constraints, so it accepts every valid
// watermark.
func (f *Fluid) Apply(_ context.Context, p Point) error {
	if len(p) != 1 {
		return p.Check(f.Layers())
	}
	if err := p[0].Validate(); err != nil {
		return err
	}
	f.current = p[0]
	return nil
}

// Measure implements Target.
func (f *Fluid) Measure(context.Context) (*Measurement, error) {
	c := f.Config
	c.Kmin, c.Kmax, c.Pmax = f.current.Kmin, f.current.Kmax, float64(f.current.Pmax)/100
	c.Kpfc = f.Layers()[0].XOFF(f.current)
	r, err := fluid.Run(c)
	if err != nil {
		return nil, err
	}
	bits := func(packets float64) float64 {
		return packets * float64(c.Packet.Bits()) / c.Horizon.Seconds()
	}
	s, err := SampleOf(0, max(0, bits(r.Sent-r.Lost)), r.QueueMean*float64(c.Packet))
	if err != nil {
		return nil, err
	}
	m := &Measurement{Switches: []Sample{s}, Lost: uint64(r.Lost)}
	for i, f := range c.Flows {
		for range f.N {
			m.Flows = append(m.Flows, Sample{Throughput: r.Rates[i], Queue: s.Queue})
		}
	}
	return m, nil
}
