package hostsense

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goroce/goroce/units"
)

// Resource is a resource that programs can wait for.
type Resource string

// The resources in /proc/pressure.
const (
	PressureCPU    Resource = "cpu"
	PressureMemory Resource = "memory"
	PressureIO     Resource = "io"
)

// Pressure is the time that programs waited for a resource.
type Pressure struct {
	Some units.Duration // at least one waited
	Full units.Duration // all non-idle ones waited
	// SomeOf10s and FullOf10s are the fractions of the last ten seconds, 0 to 1.
	SomeOf10s, FullOf10s float64
}

// Pressure returns the pressure of a resource in /proc/pressure.
func (h *Host) Pressure(r Resource) (p Pressure, err error) {
	what := "pressure of " + string(r)
	text, err := h.text(what, "proc/pressure/"+string(r),
		"the kernel has no /proc/pressure (CONFIG_PSI)")
	if err != nil {
		return p, err
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		var total units.Duration
		var part float64
		for _, f := range fields[1:] {
			key, value, _ := strings.Cut(f, "=")
			v, err := strconv.ParseFloat(value, 64)
			if err != nil || v < 0 || v > 1e15 {
				return Pressure{}, fmt.Errorf("hostsense: %s: %q: want a number", what, f)
			}
			switch key {
			case "avg10":
				part = v / 100
			case "total":
				total = units.Duration(v) * units.Microsecond
			}
		}
		switch fields[0] {
		case "some":
			p.Some, p.SomeOf10s = total, part
		case "full":
			p.Full, p.FullOf10s = total, part
		}
	}
	return p, nil
}

// Waiting returns a Sampler of the fraction of time since the last sample in which some program
// waited for a resource.
func (h *Host) Waiting(r Resource) (Sampler, error) {
	last, err := h.Pressure(r)
	if err != nil {
		return nil, err
	}
	var at units.Time
	started := false
	return func(now units.Time) (float64, bool) {
		p, err := h.Pressure(r)
		if err != nil {
			return 0, false
		}
		waited, elapsed := p.Some-last.Some, now.Sub(at)
		first := !started
		last, at, started = p, now, true
		if first || elapsed <= 0 {
			return 0, false
		}
		return min(1, float64(waited)/float64(elapsed)), true
	}, nil
}
