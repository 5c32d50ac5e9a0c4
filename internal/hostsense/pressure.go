package hostsense

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goroce/goroce/units"
)

// Resource is what programs can wait for.
type Resource string

// The resources that Linux tells of in /proc/pressure.
const (
	PressureCPU    Resource = "cpu"
	PressureMemory Resource = "memory"
	PressureIO     Resource = "io"
)

// Pressure is how long programs waited for a resource.
type Pressure struct {
	Some units.Duration // at least one did
	Full units.Duration // all that were not idle did
	// SomeOf10s and FullOf10s are the parts of the last ten seconds, 0 to 1.
	SomeOf10s, FullOf10s float64
}

// Pressure answers what /proc/pressure says of a resource.
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
				return Pressure{}, fmt.Errorf("hostsense: %s: %q is no number", what, f)
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

// Waiting samples for which part of the time since the sample before some program waited for a
// resource.
func (h *Host) Waiting(r Resource) (Sampler, error) {
	last, err := h.Pressure(r)
	if err != nil {
		return nil, err
	}
	var at units.Time
	began := false
	return func(now units.Time) (float64, bool) {
		p, err := h.Pressure(r)
		if err != nil {
			return 0, false
		}
		waited, passed := p.Some-last.Some, now.Sub(at)
		first := !began
		last, at, began = p, now, true
		if first || passed <= 0 {
			return 0, false
		}
		return min(1, float64(waited)/float64(passed)), true
	}, nil
}
