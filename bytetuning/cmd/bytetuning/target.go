package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/intent"
	"github.com/goroce/goroce/bytetuning/live"
	"github.com/goroce/goroce/bytetuning/scene"
	"github.com/goroce/goroce/bytetuning/telemetry"
	"github.com/goroce/goroce/units"
)

const targetHelp = `target: fluid:NxRATE (the model, N flows that start at RATE, such as
8x40G), fabric:SCENE (a simulation of our transport; multihost is a NIC
of two hosts), or live:FLEET.yaml (switches)`

// targetSpec is a target with its search space and baselines.
type targetSpec struct {
	bytetuning.Target
	space    *bytetuning.Space // the target's search space
	path     bytetuning.Path   // parameters of baselines
	baseline string            // default start; "" for none
}

// target returns the target that --target names.
func target(t *tuning) (*targetSpec, error) {
	kind, rest, _ := strings.Cut(t.target, ":")
	if t.telemetry != "" && (kind != "fabric" || rest == "multihost") {
		return nil, errors.New("--telemetry: want a fabric target other than fabric:multihost")
	}
	var a *targetSpec
	var err error
	switch kind {
	case "fluid":
		a, err = fluidTarget(rest)
	case "fabric":
		a, err = fabricTarget(t, rest)
	case "live":
		a, err = liveTarget(t, rest)
	default:
		err = fmt.Errorf("unknown target %q: want fluid:8x40G, live:FLEET.yaml, fabric:multihost, "+
			"or fabric: and one of %s", t.target, strings.Join(scene.Names(), ", "))
	}
	if err != nil || t.space == "" {
		return a, err
	}
	text, err := os.ReadFile(t.space)
	if err != nil {
		return nil, err
	}
	if *a.space, err = intent.ParseSpace(text); err != nil {
		return nil, fmt.Errorf("%s: %w", t.space, err)
	}
	return a, nil
}

func fluidTarget(flows string) (*targetSpec, error) {
	f, err := bytetuning.NewFluid(flows)
	if err != nil {
		return nil, err
	}
	return &targetSpec{f, &f.Space, bytetuning.Path{Rate: f.Config.Rate, RTT: f.Config.Delay,
		MTU: f.Config.Packet}, "dcqcn"}, nil
}

func fabricTarget(t *tuning, name string) (*targetSpec, error) {
	if name == "multihost" {
		m := scene.MultiHostLab(50)
		return &targetSpec{m, &m.Space, m.Path(), "nvidia"}, nil
	}
	f, err := scene.New(name)
	if err != nil {
		return nil, err
	}
	if t.telemetry != "" {
		if t.source, err = telemetry.Named(t.telemetry); err != nil {
			return nil, err
		}
		if f.Aggregate, err = telemetry.ParseAggregate(t.aggregate); err != nil {
			return nil, err
		}
		f.Telemetry = t.source.Compressed(second)
		f.Period = max(f.Period, 2*f.Telemetry.Period) // two polls
	}
	return &targetSpec{f, &f.Space, f.Path(), "experience"}, nil
}

func liveTarget(t *tuning, file string) (*targetSpec, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	fleet, err := live.ParseFleet(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	n := live.New(fleet, bytetuning.Traversal(), filepath.Join(t.out, "saved"))
	return &targetSpec{n, &n.Space, bytetuning.Path{}, ""}, nil
}

// overhead describes the bandwidth of a fabric target's telemetry. It returns "" without telemetry.
func overhead(t *tuning, target bytetuning.Target, m *bytetuning.Measurement) string {
	f, ok := target.(*scene.Target)
	if !ok || t.source.Name == "" {
		return ""
	}
	passed := m.Switches[0].Throughput
	return fmt.Sprintf("%s uses %v of the network at a throughput of %v", t.source.Name,
		t.source.Overhead(f.Observed(passed)), passed)
}

// second is the simulated time that stands for a second of telemetry: ours measures 2 ms where the
// paper's experiments measure a second.
const second = 2 * units.Millisecond

// start returns the start watermarks: a baseline in every layer, or those of a file of intents, by
// layer name.
func start(what string, layers []bytetuning.Layer, path bytetuning.Path) (bytetuning.Point,
	[]*intent.Intent, error) {
	if !strings.ContainsAny(what, "./") {
		w, err := bytetuning.Baseline(what, path)
		if err != nil {
			return nil, nil, err
		}
		p := make(bytetuning.Point, len(layers))
		for i := range p {
			p[i] = w
		}
		return p, nil, nil
	}
	intents, err := readIntents(what)
	if err != nil {
		return nil, nil, err
	}
	p := make(bytetuning.Point, len(layers))
	for i, l := range layers {
		found := false
		for _, in := range intents {
			if in.Name != l.Name {
				continue
			}
			if in.XOFF > 0 {
				return nil, nil, fmt.Errorf("%s: %s has a static xoff: want alpha", what,
					l.Name)
			}
			p[i], found = in.Watermark, true
		}
		if !found {
			return nil, nil, fmt.Errorf("%s: missing layer %q of the target", what, l.Name)
		}
	}
	return p, intents, nil
}

func readIntents(file string) ([]*intent.Intent, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	intents, err := intent.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return intents, nil
}

// intents returns a point as intents: those of the start file with new watermarks, or new ones.
func intents(p bytetuning.Point, layers []bytetuning.Layer,
	from []*intent.Intent) []*intent.Intent {
	var all []*intent.Intent
	for i, l := range layers {
		in := intent.Intent{Name: l.Name, Chip: intent.Chip{Cell: bytetuning.Cell, Buffer: l.Buffer,
			Ports: l.Ports}, Priority: 3, Queue: 3}
		for _, f := range from {
			if f.Name == l.Name {
				in = *f
			}
		}
		in.Watermark = p[i]
		all = append(all, &in)
	}
	return all
}

// performance formats throughput and queue of a measurement, with the same precision everywhere.
func performance(m *bytetuning.Measurement) string {
	return fmt.Sprintf("%s, queue %s cells", throughput(m), cells(m))
}

func throughput(m *bytetuning.Measurement) string {
	return format("%.2f Gb/s", float64(m.Throughput())/1e9)
}

// cells returns the total queue in the paper's cells.
func cells(m *bytetuning.Measurement) string {
	return format("%.0f", float64(m.Queue())/float64(bytetuning.Cell))
}
