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
	// Layers answers what there is to set.
	Layers() []Layer
	// Apply configures a point. An error may leave it half done: what was there before has to be
	// applied again.
	Apply(ctx context.Context, p Point) error
	// Measure lets the network settle and answers what it does with what was applied last.
	Measure(ctx context.Context) (*Measurement, error)
}

// Fluid is the model of section 4 as a target: one layer, the ToR switch that marks and pauses.
// K_pfc is the XOFF of the watermark in its buffer, of which the headroom is no part. Throughput is
// what S0 sends less what S1 lost, which has to be sent again; the queue is the mean of S0's.
type Fluid struct {
	Config fluid.Config
	Space  Space
	now    Watermark
}

// NewFluid makes a target of N flows that begin at a rate, written 8x40G.
func NewFluid(scene string) (*Fluid, error) {
	count, rate, ok := strings.Cut(scene, "x")
	n, err := strconv.Atoi(count)
	start, rateErr := units.ParseBitRate(rate)
	if !ok || err != nil || rateErr != nil {
		return nil, fmt.Errorf(
			"bytetuning: fluid scene %q: want flows and their first rate, such as 8x40G", scene)
	}
	f := &Fluid{Config: fluid.Default(n, start), Space: FluidSpace()}
	f.now = Watermark{Kmin: f.Config.Kmin, Kmax: f.Config.Kmax, Pmax: 10, Alpha: -1}
	return f, f.Config.Validate()
}

// FluidSpace is where the model is searched: thresholds in packets of 1 KB, of a buffer of 1000.
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

// Apply implements Target. A model has no rules of a switch to keep.
func (f *Fluid) Apply(_ context.Context, p Point) error {
	if len(p) != 1 {
		return p.Check(f.Layers())
	}
	if err := p[0].Validate(); err != nil {
		return err
	}
	f.now = p[0]
	return nil
}

// Measure implements Target.
func (f *Fluid) Measure(context.Context) (*Measurement, error) {
	c := f.Config
	c.Kmin, c.Kmax, c.Pmax = f.now.Kmin, f.now.Kmax, float64(f.now.Pmax)/100
	c.Kpfc = f.Layers()[0].XOFF(f.now)
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
