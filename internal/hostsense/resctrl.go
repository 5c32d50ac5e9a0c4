package hostsense

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// MBA throttles the memory bandwidth of a group of programs by resctrl's memory-bandwidth
// allocation. It implements hostCC's five levels: levels 1 to 3 throttle one, two or three of the
// machine's memory domains to the minimum, and the last level also stops the programs.
type MBA struct {
	host       *Host
	group      string // a directory of resctrl
	domains    []string
	minPercent int
	level      int
	stop       func(stopped bool) error
}

// mbaLevels is the number of levels, including level 0 without throttling.
const mbaLevels = 5

// MBA returns the throttle of a resctrl group; "" is the root group. stop, unless nil, is called
// when the last level is entered and when it is left.
func (h *Host) MBA(group string, stop func(stopped bool) error) (*MBA, error) {
	const what = "memory-bandwidth allocation"
	if strings.Contains(group, "..") {
		return nil, fmt.Errorf("hostsense: %s: group %q: want a name without \"..\"", what, group)
	}
	kernel, err := h.text(what, "proc/filesystems", "/proc/filesystems does not exist")
	if err != nil {
		return nil, err
	}
	if !strings.Contains(kernel, "resctrl") {
		return nil, &Absent{what,
			"the kernel has no resctrl (CONFIG_X86_CPU_RESCTRL, or no processor support)"}
	}
	if _, err := os.Stat(h.path("sys/fs/resctrl/info")); err != nil {
		return nil, &Absent{what,
			"resctrl is not mounted: mount -t resctrl resctrl /sys/fs/resctrl"}
	}
	minPercent, err := h.text(what, "sys/fs/resctrl/info/MB/min_bandwidth",
		"no processor support: resctrl has no MB")
	if err != nil {
		return nil, err
	}
	m := &MBA{host: h, group: "sys/fs/resctrl/" + group, stop: stop}
	m.minPercent, err = strconv.Atoi(minPercent)
	if err != nil || m.minPercent <= 0 || m.minPercent > 100 {
		return nil, fmt.Errorf("hostsense: %s: min_bandwidth %q: want 1 to 100", what, minPercent)
	}
	schemata, err := h.text(what, m.group+"/schemata", "resctrl has no group "+strconv.Quote(group))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(schemata) {
		if list, ok := strings.CutPrefix(strings.TrimSpace(line), "MB:"); ok {
			for _, d := range strings.Split(list, ";") {
				name, _, _ := strings.Cut(strings.TrimSpace(d), "=")
				m.domains = append(m.domains, name)
			}
		}
	}
	if len(m.domains) == 0 {
		return nil, &Absent{what, "the group's schemata has no MB line"}
	}
	return m, nil
}

// Levels implements nicoffload.HostActuator.
func (m *MBA) Levels() int { return mbaLevels }

// SetLevel implements nicoffload.HostActuator.
func (m *MBA) SetLevel(level int) error {
	if level < 0 || level >= mbaLevels {
		return fmt.Errorf("hostsense: level %d of memory-bandwidth allocation: want 0 to %d",
			level, mbaLevels-1)
	}
	var list []string
	for i, d := range m.domains {
		percent := 100
		if i < level {
			percent = m.minPercent
		}
		list = append(list, fmt.Sprintf("%s=%d", d, percent))
	}
	text := "MB:" + strings.Join(list, ";") + "\n"
	err := os.WriteFile(m.host.path(m.group+"/schemata"), []byte(text), 0o644)
	if last := mbaLevels - 1; m.stop != nil && (level == last) != (m.level == last) {
		err = errors.Join(err, m.stop(level == last))
	}
	if err != nil {
		return fmt.Errorf("hostsense: memory-bandwidth allocation: %w", err)
	}
	m.level = level
	return nil
}
