package hostcc

import "github.com/goroce/goroce/units"

// Host is hostCC's view of one host: it smooths the occupancy of the I/O controller and the
// bandwidth of PCIe, says whether the host is congested, and how far to throttle its own traffic to
// memory.
type Host struct {
	Config
	occupancy uint64 // s_I, 1024ths of cache lines
	bandwidth uint64 // s_B, 1024ths of Gb/s
	level     int
	lowered   units.Time
	once      bool // lowered is set
	failures  uint64
}

// Config is its parameters; the zero value of each is the module's.
type Config struct {
	Occupancy int           // I_T, cache lines: above, the host is congested; 70
	Bandwidth units.BitRate // B_T: below, the network gets less than it should; 84 Gb/s
	Levels    int           // of throttling, none included; 5
	Lower     units.Duration
}

// The module's parameters, for 100 Gb/s.
const (
	defaultOccupancy = 70
	defaultBandwidth = 84 * units.Gbps
	defaultLower     = 150 * units.Microsecond // a level down at most once in that
	defaultLevels    = 5

	leastOccupancy = 10 // samples of at most that many lines say nothing
	// Samples of at least 150 Gb/s cannot be at the default target, and accordingly at others.
	mostBandwidth = 150
	fixedPoint    = 1024
)

// New makes one.
func New(c Config) *Host {
	if c.Occupancy <= 0 {
		c.Occupancy = defaultOccupancy
	}
	if c.Bandwidth <= 0 {
		c.Bandwidth = defaultBandwidth
	}
	if c.Levels <= 1 {
		c.Levels = defaultLevels
	}
	if c.Lower <= 0 {
		c.Lower = defaultLower
	}
	return &Host{Config: c}
}

// SampleOccupancy takes in a sample in whole cache lines: s = (7 s + 1024 I) / 8.
func (h *Host) SampleOccupancy(lines uint32) {
	if lines > leastOccupancy {
		h.occupancy = (7*h.occupancy + fixedPoint*uint64(lines)) / 8
	}
}

// SampleBandwidth takes in a sample in whole Gb/s: s = (255 s + 1024 B) / 256.
func (h *Host) SampleBandwidth(gbps uint32) {
	if units.BitRate(gbps) < h.Bandwidth/(defaultBandwidth/mostBandwidth) {
		h.bandwidth = (255*h.bandwidth + fixedPoint*uint64(gbps)) / 256
	}
}

// Congested says whether packets that arrive are to be marked: I > I_T.
func (h *Host) Congested() bool { return h.occupancy/fixedPoint > uint64(h.Occupancy) }

// Level answers how far to throttle now: up at once while the host is congested and the network
// below its target, down one step at a time when both are well.
func (h *Host) Level(now units.Time) int {
	bandwidth, target := h.bandwidth/fixedPoint, uint64(h.Bandwidth/units.Gbps)
	lines, limit := h.occupancy/fixedPoint, uint64(h.Occupancy)
	switch {
	case bandwidth < target && lines > limit:
		h.level = min(h.level+1, h.Levels-1)
	case bandwidth > target && lines < limit && h.level > 0:
		if !h.once || now.Sub(h.lowered) >= h.Lower {
			h.level--
			h.lowered, h.once = now, true
		}
	}
	return h.level
}
