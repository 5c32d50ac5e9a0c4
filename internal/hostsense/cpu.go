package hostsense

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"github.com/goroce/goroce/units"
)

// CPU is what the first processor says of itself.
type CPU struct {
	Vendor, Name            string
	Family, Model, Stepping int
	Processors              int
}

// CPU answers what /proc/cpuinfo says.
func (h *Host) CPU() (CPU, error) {
	text, err := h.text("processor", "proc/cpuinfo", "/proc/cpuinfo does not exist")
	if err != nil {
		return CPU{}, err
	}
	var c CPU
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if !ok {
			continue
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if key == "processor" {
			c.Processors++
		}
		if c.Processors > 1 {
			continue
		}
		n, _ := strconv.Atoi(value)
		switch key {
		case "vendor_id":
			c.Vendor = value
		case "model name":
			c.Name = value
		case "cpu family":
			c.Family = n
		case "model":
			c.Model = n
		case "stepping":
			c.Stepping = n
		}
	}
	if c.Vendor == "" {
		return c, &Absent{"processor's vendor", "/proc/cpuinfo does not say"}
	}
	return c, nil
}

// Busy samples which part of all processors' time was not idle since the sample before: 0 to 1.
// What a hypervisor took away counts as busy.
func (h *Host) Busy() (Sampler, error) {
	busy, all, err := h.ticks()
	if err != nil {
		return nil, err
	}
	last := 0.0
	return func(units.Time) (float64, bool) {
		b, a, err := h.ticks()
		if err != nil {
			return 0, false
		}
		if a > all { // the kernel counts in 10 ms: without a new tick the old value holds
			// some of what it counts may go back
			last = min(1, float64(b-min(b, busy))/float64(a-all))
			busy, all = b, a
		}
		return last, true
	}, nil
}

// ticks answers the busy ones and all of /proc/stat's first line.
func (h *Host) ticks() (busy, all uint64, err error) {
	const what = "processor time"
	text, err := h.text(what, "proc/stat", "/proc/stat does not exist")
	if err != nil {
		return 0, 0, err
	}
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 5 || fields[0] != "cpu" {
		return 0, 0, fmt.Errorf("hostsense: %s: /proc/stat begins with %q", what, line)
	}
	var idle uint64
	for i, f := range fields[1:min(len(fields), 9)] { // guests are in user already
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("hostsense: %s: /proc/stat says %q", what, f)
		}
		if all += n; i == 3 || i == 4 { // idle, and waiting for disks
			idle += n
		}
	}
	return all - idle, all, nil
}
