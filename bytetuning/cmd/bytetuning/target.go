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

const targetHelp = `what to tune: fluid:NxRATE (the model, N flows that begin at RATE, as 8x40G), fabric:SCENE (a simulation
with our own transport; multihost is a NIC of two hosts), or live:FLEET.yaml (switches)`

// aim is a target and what goes with it.
type aim struct {
	bytetuning.Target
	space *bytetuning.Space // of the target
	path  bytetuning.Path   // what baselines are computed from there
	first string            // the baseline to begin with; "" is none
}

// target returns the target that --target names.
func target(t *tuning) (*aim, error) {
	kind, rest, _ := strings.Cut(t.target, ":")
	if t.telemetry != "" && (kind != "fabric" || rest == "multihost") {
		return nil, errors.New("--telemetry is for fabric targets, and not for fabric:multihost")
	}
	var a *aim
	var err error
	switch kind {
	case "fluid":
		a, err = fluidTarget(rest)
	case "fabric":
		a, err = fabricTarget(t, rest)
	case "live":
		a, err = liveTarget(t, rest)
	default:
		err = fmt.Errorf("no target %q: want fluid:8x40G, live:FLEET.yaml, fabric:multihost, or "+
			"fabric: and one of %s", t.target, strings.Join(scene.Names(), ", "))
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

func fluidTarget(flows string) (*aim, error) {
	f, err := bytetuning.NewFluid(flows)
	if err != nil {
		return nil, err
	}
	return &aim{f, &f.Space, bytetuning.Path{Rate: f.Config.Rate, RTT: f.Config.Delay,
		MTU: f.Config.Packet}, "dcqcn"}, nil
}

func fabricTarget(t *tuning, name string) (*aim, error) {
	if name == "multihost" {
		m := scene.MultiHostLab(50)
		return &aim{m, &m.Space, m.Path(), "nvidia"}, nil
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
	return &aim{f, &f.Space, f.Path(), "experience"}, nil
}

func liveTarget(t *tuning, file string) (*aim, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	fleet, err := live.ParseFleet(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	n := live.New(fleet, bytetuning.Traversal(), filepath.Join(t.out, "saved"))
	return &aim{n, &n.Space, bytetuning.Path{}, ""}, nil
}

// overhead says what the telemetry of a fabric target takes of its network; "" is the target's own
// books.
func overhead(t *tuning, target bytetuning.Target, m *bytetuning.Measurement) string {
	f, ok := target.(*scene.Target)
	if !ok || t.source.Name == "" {
		return ""
	}
	passed := m.Switches[0].Throughput
	return fmt.Sprintf("%s takes %v of the network when %v pass", t.source.Name,
		t.source.Overhead(f.Observed(passed)), passed)
}

// second is how long the telemetry's second is in a simulation: experiments of the paper measure
// for a second what ours do in 2 ms.
const second = 2 * units.Millisecond

// start returns the watermarks to begin with: those of a baseline in every layer, or those of a
// file of intents, by the layers' names.
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
				return nil, nil, fmt.Errorf("%s: %s has a fixed xoff; tuning needs alpha", what,
					l.Name)
			}
			p[i], found = in.Watermark, true
		}
		if !found {
			return nil, nil, fmt.Errorf("%s: no layer %q, which the target has", what, l.Name)
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

// intents returns a point as a file of intents: those it began with, with other watermarks, or new
// ones.
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

// cells returns a queue as the paper counts it.
func cells(m *bytetuning.Measurement) string {
	return format("%.0f", float64(m.Queue())/float64(bytetuning.Cell))
}
