package hostsense

import (
	"fmt"
	"io"
)

// Describe writes what the machine has, and of what it has not, why.
func (h *Host) Describe(w io.Writer) {
	say := func(what string, value any, err error) {
		if err != nil {
			value = err
		}
		fmt.Fprintf(w, "%-18s %v\n", what, value)
	}
	cpu, err := h.CPU()
	say("processor", fmt.Sprintf("%s %s, family %d model %d, %d of them", cpu.Vendor, cpu.Name,
		cpu.Family, cpu.Model, cpu.Processors), err)
	caches, err := h.Caches()
	if err != nil {
		say("caches", nil, err)
	}
	for _, c := range caches {
		say("cache", c, nil)
	}
	ways, mask, err := h.DDIOWays()
	say("DDIO", fmt.Sprintf("%d ways, mask %#x", ways, mask), err)
	for _, r := range []Resource{PressureCPU, PressureMemory, PressureIO} {
		p, err := h.Pressure(r)
		say("pressure, "+string(r), fmt.Sprintf("%.1f %% of the last 10 s", 100*p.SomeOf10s), err)
	}
	_, err = h.IIOOccupancy(0, 0)
	say("IIO occupancy", "counted", err)
	_, err = h.MBA("", nil)
	say("memory bandwidth", "can be allocated", err)
	occupancy, _, err := h.LLCMonitor("")
	say("LLC occupancy", occupancy, err)
	for _, e := range []Event{Cycles, CacheMisses, LLCLoadMisses} {
		c, err := h.Count(e, 0)
		if err == nil {
			c.Close()
		}
		say("perf_event", e.String()+" can be counted", err)
	}
}
