package hostmodel

import "github.com/goroce/goroce/units"

// load measures the share of the memory bandwidth that is in use.
type load struct {
	at    units.Time // of the last measurement
	lines uint64     // of the cache's memory traffic until then
	share float64    // smoothed
}

const (
	loadWindow = 2 * units.Microsecond
	// loadWeight is the weight of a new measurement. The load follows a change within 10 µs.
	loadWeight = 1. / 4
	// maxLoad limits the latency to twenty times that of idle memory. Measured latencies of loaded
	// memory grow less.
	maxLoad = 0.95
)

// LineLatency returns the time that memory takes for a line that the processor reads or the NIC
// writes. With Queueing it grows with the load.
func (h *Host) LineLatency(now units.Time) units.Duration {
	m := &h.Memory
	if !m.Queueing || h.Cache == nil || m.Bandwidth == 0 {
		return m.Latency
	}
	l := &h.load
	if passed := now.Sub(l.at); passed >= loadWindow {
		lines := h.Cache.Stats.Traffic()
		bits := float64((units.Bytes(lines-l.lines) * h.Cache.Line).Bits())
		share := bits / passed.Seconds() / float64(m.Left(now))
		l.share += (share - l.share) * loadWeight
		l.at, l.lines = now, lines
	}
	return units.Duration(float64(m.Latency) / (1 - min(l.share, maxLoad)))
}
