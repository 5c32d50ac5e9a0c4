package hostsense

import (
	"fmt"
	"math/bits"
	"os"
	"strings"

	"github.com/goroce/goroce/units"
)

// Cache is one cache that the first processor uses.
type Cache struct {
	Level  int
	Type   string // Data, Instruction or Unified
	Size   units.Bytes
	Line   units.Bytes
	Ways   int // 0 unknown
	Sets   int
	Shared string // by which processors, as Linux lists them
}

func (c Cache) String() string {
	return fmt.Sprintf("L%d %s: %v in lines of %v, %d ways, processors %s", c.Level,
		strings.ToLower(c.Type), c.Size, c.Line, c.Ways, c.Shared)
}

// Caches answers the caches of the first processor.
func (h *Host) Caches() ([]Cache, error) {
	const what, dir = "caches", "sys/devices/system/cpu/cpu0/cache"
	var all []Cache
	for i := range 16 {
		index := fmt.Sprintf("%s/index%d/", dir, i)
		if _, err := os.Stat(h.path(index)); err != nil {
			break
		}
		level, err := h.number(what, index+"level")
		if err != nil {
			return nil, err
		}
		size, err := h.number(what, index+"size")
		if err != nil {
			return nil, err
		}
		line, err := h.number(what, index+"coherency_line_size")
		if err != nil {
			return nil, err
		}
		c := Cache{Level: int(level), Size: units.Bytes(size), Line: units.Bytes(line)}
		if c.Type, err = h.text(what, index+"type", "it has no type"); err != nil {
			return nil, err
		}
		// What some hypervisors leave out.
		if ways, err := h.number(what, index+"ways_of_associativity"); err == nil {
			c.Ways = int(ways)
		}
		if sets, err := h.number(what, index+"number_of_sets"); err == nil {
			c.Sets = int(sets)
		}
		c.Shared, _ = h.text(what, index+"shared_cpu_list", "")
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, &Absent{what, "/" + dir + " has none"}
	}
	return all, nil
}

// LLC answers the last-level cache: that of the highest level, for data.
func (h *Host) LLC() (Cache, error) {
	all, err := h.Caches()
	if err != nil {
		return Cache{}, err
	}
	var last Cache
	for _, c := range all {
		if c.Type != "Instruction" && c.Level > last.Level {
			last = c
		}
	}
	if last.Level == 0 {
		return Cache{}, &Absent{"last-level cache", "no cache holds data"}
	}
	return last, nil
}

// msrDDIOWays is IIO_LLC_WAYS of Intel's servers since Skylake: a bit for each way of the
// last-level cache into which devices write.
const msrDDIOWays = 0xc8b

// DDIOWays answers into how many ways of the last-level cache devices may write, and in which bits.
func (h *Host) DDIOWays() (ways int, mask uint64, err error) {
	cpu, err := h.CPU()
	if err != nil {
		return 0, 0, err
	}
	if cpu.Vendor != "GenuineIntel" {
		return 0, 0, &Absent{"DDIO ways", "the processor is by " + cpu.Vendor + ", DDIO is Intel's"}
	}
	if mask, err = h.MSR(0, msrDDIOWays); err != nil {
		return 0, 0, err
	}
	return bits.OnesCount64(mask), mask, nil
}

// DDIO answers how much of the last-level cache devices may write into.
func (h *Host) DDIO() (units.Bytes, error) {
	ways, _, err := h.DDIOWays()
	if err != nil {
		return 0, err
	}
	llc, err := h.LLC()
	if err != nil {
		return 0, err
	}
	if llc.Ways == 0 {
		return 0, &Absent{"DDIO part of the cache",
			"the machine does not tell how many ways its last-level cache has"}
	}
	return llc.Size * units.Bytes(ways) / units.Bytes(llc.Ways), nil
}
