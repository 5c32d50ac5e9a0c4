package hostcc

import "github.com/goroce/goroce/units"

// Host is the state of hostCC for one host. It smooths the occupancy of the I/O controller and the
// bandwidth of PCIe, and determines whether the host is congested and how far to throttle its own
// memory traffic.
type Host struct {
	Config
	occupancy  uint64 // s_I, 1024ths of cache lines
	bandwidth  uint64 // s_B, 1024ths of Gb/s
	level      int
	lowered    units.Time
	hasLowered bool // lowered is valid
	failures   uint64
}

// Config holds the parameters; a zero value means the module's default.
type Config struct {
	Occupancy int           // I_T, cache lines: above it the host is congested; 70
	Bandwidth units.BitRate // B_T: below it the network gets less than its target; 84 Gb/s
	Levels    int           // of throttling, including none; 5
	Lower     units.Duration
}

// The module's parameters, for 100 Gb/s.
const (
	defaultOccupancy = 70
	defaultBandwidth = 84 * units.Gbps
	defaultLower     = 150 * units.Microsecond // minimum time between decreases of the level
	defaultLevels    = 5

	minOccupancy = 10 // samples up to this number of lines are ignored
	// Samples from 150 Gb/s on are implausible at the default target; the bound scales with the
	// target.
	maxBandwidth = 150
	fixedPoint   = 1024
)

// New returns a Host that is not congested.
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

// SampleOccupancy adds a sample in whole cache lines: s = (7 s + 1024 I) / 8.
func (h *Host) SampleOccupancy(lines uint32) {
	if lines > minOccupancy {
		h.occupancy = (7*h.occupancy + fixedPoint*uint64(lines)) / 8
	}
}

// SampleBandwidth adds a sample in whole Gb/s: s = (255 s + 1024 B) / 256.
func (h *Host) SampleBandwidth(gbps uint32) {
	if units.BitRate(gbps) < h.Bandwidth/(defaultBandwidth/maxBandwidth) {
		h.bandwidth = (255*h.bandwidth + fixedPoint*uint64(gbps)) / 256
	}
}

// Congested reports whether arriving packets are to be marked: I > I_T.
func (h *Host) Congested() bool { return h.occupancy/fixedPoint > uint64(h.Occupancy) }

// Level returns the throttling level: it increases with each call while the host is congested and
// the network is below its target, and decreases one step at a time when neither is the case.
func (h *Host) Level(now units.Time) int {
	bandwidth, target := h.bandwidth/fixedPoint, uint64(h.Bandwidth/units.Gbps)
	lines, limit := h.occupancy/fixedPoint, uint64(h.Occupancy)
	switch {
	case bandwidth < target && lines > limit:
		h.level = min(h.level+1, h.Levels-1)
	case bandwidth > target && lines < limit && h.level > 0:
		if !h.hasLowered || now.Sub(h.lowered) >= h.Lower {
			h.level--
			h.lowered, h.hasLowered = now, true
		}
	}
	return h.level
}
