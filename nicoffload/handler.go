package nicoffload

import (
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// messageHandler is the message handler (TAURUS section 3.5). It restores the order in which the
// fetched messages' signals arrived, and reduces the load when there are too many.
type messageHandler struct {
	batch       []byte
	order       []entry
	one         Message
	pressure    backpressure
	newest      units.Time // largest time of report seen
	lag         units.Duration
	newestKnown bool // newest is valid
}

// entry is one message of a batch.
type entry struct {
	first units.Time
	at    int32
	class Class
}

func (m *messageHandler) init(batch int) {
	m.batch = make([]byte, batch)
	m.order = make([]entry, 0, batch/Slot)
	m.pressure.stretch = 1
}

// handle processes a batch. If the ring that it comes from was full, the older half of the raw
// messages is evicted.
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
			break // the next message cannot be located
		}
		a.counters.Messages++
		h, first := Handle(le.Uint32(b)), a.firstTime(b, now)
		switch Type(b[4]) {
		case Started:
			a.begin(h, first)
		case Stopped:
			ended = true
		default:
			e := entry{first: first, at: int32(at), class: Class(b[5] & classMask)}
			if e.class == Raw && !isEssential(b) {
				raw++
			}
			m.order = append(m.order, e)
		}
		at += length
	}
	if !slices.IsSortedFunc(m.order, byFirst) {
		slices.SortStableFunc(m.order, byFirst)
	}
	m.updateLag(now)
	evict := 0
	if full {
		evict = raw / 2
	}
	for i := range m.order {
		e := &m.order[i]
		b := batch[e.at:]
		if e.class == Raw && evict > 0 && !isEssential(b) {
			evict--
			k, _ := Type(b[4]).Event()
			a.counters.Evicted[k]++
			continue
		}
		a.message(b, e.first)
	}
	if ended {
		a.removeEnded(batch)
	}
}

// updateLag updates lag, the age of the events that are dispatched: it rises to the maximum at once
// and decays slowly. An algorithm sees an event at the time of its first signal, so timers that it
// sets must be delayed by the age of events that may precede them. Otherwise DCQCN's timers, 55 µs
// after each CNP, would overtake the next CNP, 50 µs later, once CNPs are 5 µs late.
func (m *messageHandler) updateLag(now units.Time) {
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

// maxEventAge and maxClockLead bound the difference between the times of a message and now. The
// NIC's clock is the agent's, read on another core.
const (
	maxEventAge  = units.Second
	maxClockLead = units.Millisecond
)

// firstTime returns when the first signal of a message came. An implausible time is counted, and
// replaced by now.
func (a *Agent) firstTime(b []byte, now units.Time) units.Time {
	first, reported := units.Time(le.Uint64(b[16:])), units.Time(le.Uint64(b[24:]))
	m := &a.msg
	backwards := reported.Before(first) || m.newestKnown && reported.Before(m.newest)
	if (!m.newestKnown || reported.After(m.newest)) && !reported.After(now.Add(maxClockLead)) {
		m.newest, m.newestKnown = reported, true
	}
	if first.After(now.Add(maxClockLead)) || now.Sub(first) > maxEventAge {
		first, backwards = now, true
	}
	if backwards {
		a.counters.Backwards++
	}
	return first
}

// message decodes a message into an event, and dispatches it.
func (a *Agent) message(b []byte, first units.Time) {
	m := &a.msg.one
	f := a.find(Handle(le.Uint32(b)))
	if f == nil {
		a.counters.Unknown++
		return
	}
	if _, err := m.Decode(b); err != nil { // messageLen has checked it before
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
		case ev.Probe: // dispatched although late, since a stopped flow waits for it
			a.counters.Late++
		default: // without its sample: what it acknowledges still counts
			a.counters.Late++
			if ev.Delay = 0; ev.Packets == 0 {
				return
			}
		}
	}
	a.dispatch(f, ev, first)
}

// removeEnded removes the flows that ended within a batch, after the batch's other messages, which
// may precede the end.
func (a *Agent) removeEnded(batch []byte) {
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

// backpressure lengthens the periods of the engines while messages come faster than they are
// handled (TAURUS section 3.5; the thresholds are ours).
type backpressure struct {
	configured Aggregation
	stretch    int
	lowPolls   int  // consecutive polls that found a low backlog
	pending    bool // the device has not accepted the current aggregation yet
}

const (
	maxStretch  = 64
	minLowPolls = 8
	// minStretchedPeriod replaces a configured period of 0 when periods are lengthened.
	minStretchedPeriod = units.Microsecond
)

func (m *messageHandler) applyBackpressure(a *Agent, used, size int) {
	p := &m.pressure
	switch {
	case 4*used >= 3*size:
		p.lowPolls = 0
		if p.stretch < maxStretch {
			p.stretch *= 2
			p.pending = true
			a.counters.Stretched++
		}
	case 4*used > size:
		p.lowPolls = 0
	case p.stretch > 1:
		if p.lowPolls++; p.lowPolls >= minLowPolls {
			p.lowPolls = 0
			p.stretch /= 2
			p.pending = true
		}
	}
	if p.pending {
		p.pending = a.device.Aggregate(p.aggregation()) != nil
	}
}

func (p *backpressure) aggregation() Aggregation {
	g := p.configured
	g.Accumulable, g.Coalescent = p.stretched(g.Accumulable), p.stretched(g.Coalescent)
	return g
}

func (p *backpressure) stretched(period units.Duration) units.Duration {
	if p.stretch > 1 {
		period = max(period, minStretchedPeriod)
	}
	return min(period*units.Duration(p.stretch), maxPeriod)
}
