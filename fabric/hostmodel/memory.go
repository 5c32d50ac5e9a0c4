package hostmodel

import "github.com/goroce/goroce/units"

// MemoryConfig configures the memory controller.
type MemoryConfig struct {
	Bandwidth units.BitRate  // of all reads and writes; 0 means unlimited
	Latency   units.Duration // of a line, when memory is idle; 0 means 90 ns
	// Queueing makes the latency of a line grow with the load: Latency/(1-u), where u is the share
	// of Bandwidth that is in use. It needs a cache, whose traffic is the load.
	Queueing bool
	// LevelDelay is the time until a throttling level takes effect; 0 means 22 µs, the time of the
	// register write in hostCC.
	LevelDelay units.Duration
}

// Memory is a memory controller shared by the NIC and an antagonist. The antagonist gets its
// demand, reduced by throttling, and the NIC gets the rest, as with a program on many cores against
// one device.
type Memory struct {
	MemoryConfig
	antagonist units.BitRate
	level      int
	next       int        // the level last set
	due        units.Time // when next takes effect
}

// levels is the antagonist's share of its bandwidth at each throttling level. hostCC slows a third
// of its cores to a tenth (MBA 90), then two thirds, then all, and then stops them.
var levels = [...]float64{1, 0.7, 0.4, 0.1, 0}

// minShare is the share of the bandwidth that the NIC always gets.
const minShare = 1. / 64

// Antagonist sets the antagonist's demand for bandwidth.
func (m *Memory) Antagonist(wants units.BitRate) { m.antagonist = wants }

// Level returns the throttling level in effect.
func (m *Memory) Level(now units.Time) int {
	if m.level != m.next && !now.Before(m.due) {
		m.level = m.next
	}
	return m.level
}

// set sets a level. If a change is already pending, it only changes the pending level, not its
// time.
func (m *Memory) set(level int, now units.Time) {
	if m.Level(now) == m.next {
		m.due = now.Add(m.LevelDelay)
	}
	m.next = level
}

// Left returns the bandwidth available to the NIC.
func (m *Memory) Left(now units.Time) units.BitRate {
	taken := float64(m.antagonist) * levels[m.Level(now)]
	return units.BitRate(max(float64(m.Bandwidth)-taken, minShare*float64(m.Bandwidth)))
}
