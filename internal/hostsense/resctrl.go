package hostsense

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// MBA is memory-bandwidth allocation of resctrl: it throttles what a group of programs may take
// from memory. It does hostCC's five levels, by throttling one, two or three of the machine's
// memory domains to a tenth, and at the last level by stopping the programs.
type MBA struct {
	host    *Host
	group   string // a directory of resctrl
	domains []string
	least   int
	level   int
	stop    func(stopped bool) error
}

// mbaLevels is how many levels there are, none included.
const mbaLevels = 5

// MBA answers the throttle of a group of resctrl, "" for the root group. stop is called at the last
// level and when it is left; nil leaves that out.
func (h *Host) MBA(group string, stop func(stopped bool) error) (*MBA, error) {
	const what = "memory-bandwidth allocation"
	if strings.Contains(group, "..") {
		return nil, fmt.Errorf("hostsense: %s: group %q", what, group)
	}
	kernel, err := h.text(what, "proc/filesystems", "/proc/filesystems does not exist")
	if err != nil {
		return nil, err
	}
	if !strings.Contains(kernel, "resctrl") {
		return nil, &Absent{what,
			"the kernel has no resctrl (CONFIG_X86_CPU_RESCTRL, or the processor cannot)"}
	}
	if _, err := os.Stat(h.path("sys/fs/resctrl/info")); err != nil {
		return nil, &Absent{what,
			"resctrl is not mounted: mount -t resctrl resctrl /sys/fs/resctrl"}
	}
	least, err := h.text(what, "sys/fs/resctrl/info/MB/min_bandwidth",
		"the processor cannot: resctrl has no MB")
	if err != nil {
		return nil, err
	}
	m := &MBA{host: h, group: "sys/fs/resctrl/" + group, stop: stop}
	if m.least, err = strconv.Atoi(least); err != nil || m.least <= 0 || m.least > 100 {
		return nil, fmt.Errorf("hostsense: %s: min_bandwidth is %q", what, least)
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
		return fmt.Errorf("hostsense: level %d of memory-bandwidth allocation, there are 0 to %d",
			level, mbaLevels-1)
	}
	var list []string
	for i, d := range m.domains {
		percent := 100
		if i < level {
			percent = m.least
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
