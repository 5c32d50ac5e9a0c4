package hostmodel

import "github.com/goroce/goroce/units"

// MemoryConfig says what the memory controller is like.
type MemoryConfig struct {
	Bandwidth units.BitRate  // of all that read and write; 0: as much as anybody wants
	Latency   units.Duration // of a line; 0 means 90 ns
	// LevelDelay is after what time a level of throttling works; 0 means the 22 µs that hostCC took
	// to write it.
	LevelDelay units.Duration
}

// Memory is a memory controller that the NIC and an antagonist share. The antagonist takes what it
// wants, as far as it is not throttled, and the NIC gets what is left: a program on many cores
// against one device.
type Memory struct {
	MemoryConfig
	antagonist units.BitRate
	level      int
	next       int        // the level that was asked for
	due        units.Time // and when it works
}

// left of the antagonist's bandwidth at each level of throttling: hostCC slows a third of its cores
// to a tenth (MBA 90), two thirds, all, and then stops them.
var levels = [...]float64{1, 0.7, 0.4, 0.1, 0}

// least is what part of the bandwidth the NIC always gets.
const least = 1. / 64

// Antagonist has another program use this much of the bandwidth from now on.
func (m *Memory) Antagonist(wants units.BitRate) { m.antagonist = wants }

// Level answers the level of throttling that is in force.
func (m *Memory) Level(now units.Time) int {
	if m.level != m.next && !now.Before(m.due) {
		m.level = m.next
	}
	return m.level
}

// set asks for a level. One that is on its way keeps its time, to whatever level it leads then.
func (m *Memory) set(level int, now units.Time) {
	if m.Level(now) == m.next {
		m.due = now.Add(m.LevelDelay)
	}
	m.next = level
}

// Left answers the bandwidth that the NIC can have.
func (m *Memory) Left(now units.Time) units.BitRate {
	taken := float64(m.antagonist) * levels[m.Level(now)]
	return units.BitRate(max(float64(m.Bandwidth)-taken, least*float64(m.Bandwidth)))
}
