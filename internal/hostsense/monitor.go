package hostsense

import (
	"os"
	"strconv"
	"strings"

	"github.com/goroce/goroce/units"
)

// LLCMonitor returns the last-level cache occupancy of a resctrl group and the bytes that it has
// moved to and from memory since its creation. "" is the root group.
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
			"resctrl is not mounted, or the processor does not support it: " + err.Error()}
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
		// not supported by every processor
		if bytes, err := h.number(what, in+"mbm_total_bytes"); err == nil {
			moved += units.Bytes(bytes)
		}
		found = true
	}
	if !found {
		return 0, 0, &Absent{what, "resctrl has no L3 monitoring"}
	}
	return occupancy, moved, nil
}
