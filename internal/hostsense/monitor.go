package hostsense

import (
	"os"
	"strconv"
	"strings"

	"github.com/goroce/goroce/units"
)

// LLCMonitor answers how much of the last-level cache a group of programs has, and how many bytes
// it has moved to and from memory since it began, as resctrl counts them; "" is the root group.
func (h *Host) LLCMonitor(group string) (occupancy, moved units.Bytes, err error) {
	const what = "cache monitoring"
	if strings.Contains(group, "..") {
		return 0, 0, &Absent{what, "group " + strconv.Quote(group)}
	}
	dir := "sys/fs/resctrl/" + group
	if group != "" {
		dir += "/"
	}
	domains, err := os.ReadDir(h.path(dir + "mon_data"))
	if err != nil {
		return 0, 0, &Absent{what,
			"resctrl is not mounted, or the processor cannot: " + err.Error()}
	}
	found := false
	for _, d := range domains {
		if !strings.HasPrefix(d.Name(), "mon_L3") {
			continue
		}
		in := dir + "mon_data/" + d.Name() + "/"
		lines, err := h.number(what, in+"llc_occupancy")
		if err != nil {
			return 0, 0, err
		}
		occupancy += units.Bytes(lines)
		// not every processor has it
		if bytes, err := h.number(what, in+"mbm_total_bytes"); err == nil {
			moved += units.Bytes(bytes)
		}
		found = true
	}
	if !found {
		return 0, 0, &Absent{what, "resctrl monitors no L3"}
	}
	return occupancy, moved, nil
}
