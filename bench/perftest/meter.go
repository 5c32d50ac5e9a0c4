package perftest

import "github.com/goroce/goroce/units"

// meter converts a running count of messages to rates: the average between start and stop, and the
// peak over windows of messages. A call of tick per round costs one comparison.
type meter struct {
	from, to   units.Time
	base, last uint64 // counts at from and to
	running    bool

	window   uint64 // messages
	windowAt units.Time
	windowed uint64  // count at windowAt
	peak     float64 // messages/s
}

// windows is the length of a window in units of the messages that may be outstanding: completions
// come in bursts of up to that many after a pause, which a smaller window would mistake for
// bandwidth.
const windows = 4

func newMeter(outstanding int) meter { return meter{window: uint64(max(windows*outstanding, 256))} }

// start begins the average at a count.
func (m *meter) start(now units.Time, count uint64) {
	m.from, m.to, m.base, m.last, m.running = now, now, count, count, true
	m.windowAt, m.windowed, m.peak = now, count, 0
}

// tick records the current count.
func (m *meter) tick(now units.Time, count uint64) {
	if count-m.windowed < m.window || !m.running {
		return
	}
	if d := now.Sub(m.windowAt); d > 0 {
		m.peak = max(m.peak, float64(count-m.windowed)/d.Seconds())
	}
	m.windowAt, m.windowed = now, count
}

// stop ends the average at a count.
func (m *meter) stop(now units.Time, count uint64) {
	m.to, m.last, m.running = now, count, false
}

func (m *meter) count() uint64 { return m.last - m.base }

// rate returns the average in messages/s.
func (m *meter) rate() float64 {
	d := m.to.Sub(m.from)
	if d <= 0 {
		return 0
	}
	return float64(m.count()) / d.Seconds()
}
