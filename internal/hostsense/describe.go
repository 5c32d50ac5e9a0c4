package hostsense

import (
	"fmt"
	"io"
)

// Describe writes what the machine provides, with a reason for everything that is absent.
func (h *Host) Describe(w io.Writer) {
	print := func(what string, value any, err error) {
		if err != nil {
			value = err
		}
		fmt.Fprintf(w, "%-18s %v\n", what, value)
	}
	cpu, err := h.CPU()
	print("processor", fmt.Sprintf("%s %s, family %d model %d, %d of them", cpu.Vendor, cpu.Name,
		cpu.Family, cpu.Model, cpu.Processors), err)
	caches, err := h.Caches()
	if err != nil {
		print("caches", nil, err)
	}
	for _, c := range caches {
		print("cache", c, nil)
	}
	ways, mask, err := h.DDIOWays()
	print("DDIO", fmt.Sprintf("%d ways, mask %#x", ways, mask), err)
	for _, r := range []Resource{PressureCPU, PressureMemory, PressureIO} {
		p, err := h.Pressure(r)
		print("pressure, "+string(r), fmt.Sprintf("%.1f %% of the last 10 s", 100*p.SomeOf10s), err)
	}
	_, err = h.IIOOccupancy(0, 0)
	print("IIO occupancy", "counted", err)
	_, err = h.MBA("", nil)
	print("memory bandwidth", "can be allocated", err)
	occupancy, _, err := h.LLCMonitor("")
	print("LLC occupancy", occupancy, err)
	for _, e := range []Event{Cycles, CacheMisses, LLCLoadMisses} {
		c, err := h.Count(e, 0)
		if err == nil {
			c.Close()
		}
		print("perf_event", e.String()+" can be counted", err)
	}
}
