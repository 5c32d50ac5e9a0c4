package nicoffload

import (
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// messages is the message handler (TAURUS section 3.5): it brings what was fetched into the order
// in which it happened, and deals with there being too much of it.
type messages struct {
	batch    []byte
	order    []entry
	one      Message
	pressure pressure
	newest   units.Time // report heard
	lag      units.Duration
	began    bool
}

// entry is one message of a batch.
type entry struct {
	first units.Time
	at    int32
	class Class
}

func (m *messages) init(batch int) {
	m.batch = make([]byte, batch)
	m.order = make([]entry, 0, batch/Slot)
	m.pressure.stretch = 1
}

// handle takes in a batch. Of one that comes from a ring that is full the oldest raw messages give
// way.
func (a *Agent) handle(batch []byte, now units.Time, full bool) {
	m := &a.msg
	m.order = m.order[:0]
	ended := false
	raw := 0
	for at := 0; at < len(batch); {
		b := batch[at:]
		length, err := messageLen(b)
		if err != nil {
			a.counters.Malformed++
			break // where the next one begins nobody knows
		}
		a.counters.Messages++
		h, first := Handle(le.Uint32(b)), a.plausible(b, now)
		switch Type(b[4]) {
		case Started:
			a.begin(h, first)
		case Stopped:
			ended = true
		default:
			e := entry{first: first, at: int32(at), class: Class(b[5] & classMask)}
			if e.class == Raw && !single(b) {
				raw++
			}
			m.order = append(m.order, e)
		}
		at += length
	}
	if !slices.IsSortedFunc(m.order, byFirst) {
		slices.SortStableFunc(m.order, byFirst)
	}
	m.late(now)
	evict := 0
	if full {
		evict = raw / 2
	}
	for i := range m.order {
		e := &m.order[i]
		b := batch[e.at:]
		if e.class == Raw && evict > 0 && !single(b) {
			evict--
			k, _ := Type(b[4]).Event()
			a.counters.Evicted[k]++
			continue
		}
		a.message(b, e.first)
	}
	if ended {
		a.endings(batch)
	}
}

// late notes how long ago happened what is heard now: the most that it was, and of late. An
// algorithm hears an event at the time of its first signal, so timers that it sets then must wait
// as long for what may come before them: else those of DCQCN, 55 µs behind each CNP, overtake the
// next one, 50 µs behind it, once that takes 5 µs.
func (m *messages) late(now units.Time) {
	if len(m.order) == 0 {
		return
	}
	lag := max(0, now.Sub(m.order[0].first))
	m.lag = max(lag, m.lag-(m.lag-lag)/8)
}

func byFirst(a, b entry) int {
	switch {
	case a.first.Before(b.first):
		return -1
	case a.first.After(b.first):
		return 1
	}
	return 0
}

// oldest and ahead are how far from now the times of a message may be: a NIC's clock is the
// agent's, read on another core.
const (
	oldest = units.Second
	ahead  = units.Millisecond
)

// plausible answers when the first signal of a message came. Times that cannot be are counted, and
// taken for now.
func (a *Agent) plausible(b []byte, now units.Time) units.Time {
	first, reported := units.Time(le.Uint64(b[16:])), units.Time(le.Uint64(b[24:]))
	m := &a.msg
	backwards := reported.Before(first) || m.began && reported.Before(m.newest)
	if (!m.began || reported.After(m.newest)) && !reported.After(now.Add(ahead)) {
		m.newest, m.began = reported, true
	}
	if first.After(now.Add(ahead)) || now.Sub(first) > oldest {
		first, backwards = now, true
	}
	if backwards {
		a.counters.Backwards++
	}
	return first
}

// message makes an event of a message, and dispatches it.
func (a *Agent) message(b []byte, first units.Time) {
	m := &a.msg.one
	f := a.find(Handle(le.Uint32(b)))
	if f == nil {
		a.counters.Unknown++
		return
	}
	if _, err := m.Decode(b); err != nil { // it was looked at before
		a.counters.Malformed++
		return
	}
	ev := &m.Event
	if m.SegmentID != 0 {
		if !a.parse(m) {
			a.counters.Unparsed++
			return
		}
	}
	if ev.Kind == cc.RTT {
		switch late := first.Before(f.rtt); {
		case !late:
			f.rtt = first
		case ev.Probe: // late as it is, a flow that was stopped waits for it
			a.counters.Late++
		default: // what it acknowledges still counts
			a.counters.Late++
			if ev.Delay = 0; ev.Packets == 0 {
				return
			}
		}
	}
	a.dispatch(f, ev, first)
}

// endings forgets the flows of a batch that ended: last, for what happened to them before counts.
func (a *Agent) endings(batch []byte) {
	for at := 0; at < len(batch); {
		b := batch[at:]
		length, err := messageLen(b)
		if err != nil {
			return
		}
		if Type(b[4]) == Stopped {
			if f := a.find(Handle(le.Uint32(b))); f != nil {
				a.end(f)
			}
		}
		at += length
	}
}

// pressure stretches the periods of the engines while messages come faster than they are handled
// (TAURUS section 3.5; the thresholds are ours).
type pressure struct {
	configured Aggregation
	stretch    int
	calm       int  // polls in a row that found little
	owed       bool // the device has not been told
}

const (
	mostStretch = 64
	calmPolls   = 8
	// leastPeriod is what is stretched where the period is 0.
	leastPeriod = units.Microsecond
)

func (m *messages) backpressure(a *Agent, used, size int) {
	p := &m.pressure
	switch {
	case 4*used >= 3*size:
		p.calm = 0
		if p.stretch < mostStretch {
			p.stretch *= 2
			p.owed = true
			a.counters.Stretched++
		}
	case 4*used > size:
		p.calm = 0
	case p.stretch > 1:
		if p.calm++; p.calm >= calmPolls {
			p.calm = 0
			p.stretch /= 2
			p.owed = true
		}
	}
	if p.owed {
		p.owed = a.device.Aggregate(p.aggregation()) != nil
	}
}

func (p *pressure) aggregation() Aggregation {
	g := p.configured
	g.Accumulable, g.Coalescent = p.stretched(g.Accumulable), p.stretched(g.Coalescent)
	return g
}

func (p *pressure) stretched(period units.Duration) units.Duration {
	if p.stretch > 1 {
		period = max(period, leastPeriod)
	}
	return min(period*units.Duration(p.stretch), longestPeriod)
}
