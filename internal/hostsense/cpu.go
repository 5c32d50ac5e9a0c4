package hostsense

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"github.com/goroce/goroce/units"
)

// CPU describes the first processor.
type CPU struct {
	Vendor, Name            string
	Family, Model, Stepping int
	Processors              int
}

// CPU returns the processor in /proc/cpuinfo.
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
		return c, &Absent{"processor's vendor", "/proc/cpuinfo has no vendor_id"}
	}
	return c, nil
}

// Busy returns a Sampler of the fraction of all processors' time, from 0 to 1, that was not idle
// since the last sample. Time stolen by a hypervisor counts as busy.
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
		if a > all { // the kernel counts in 10 ms; without a new tick keep the last value
			// iowait may decrease (proc(5))
			last = min(1, float64(b-min(b, busy))/float64(a-all))
			busy, all = b, a
		}
		return last, true
	}, nil
}

// ticks returns the busy and the total ticks in the first line of /proc/stat.
func (h *Host) ticks() (busy, all uint64, err error) {
	const what = "processor time"
	text, err := h.text(what, "proc/stat", "/proc/stat does not exist")
	if err != nil {
		return 0, 0, err
	}
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 5 || fields[0] != "cpu" {
		return 0, 0, fmt.Errorf("hostsense: %s: first line of /proc/stat is %q: want cpu and "+
			"its ticks", what, line)
	}
	var idle uint64
	for i, f := range fields[1:min(len(fields), 9)] { // guest time is included in user time
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("hostsense: %s: /proc/stat has %q: want a number", what, f)
		}
		if all += n; i == 3 || i == 4 { // idle and iowait
			idle += n
		}
	}
	return all - idle, all, nil
}
