package nicoffload

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Parser reads a custom segment into an event. The event's Kind is CST, and the Parser may change
// it.
type Parser func(segment []byte, ev *cc.Event) error

// Sampler reads a value of the host's state, and reports whether it succeeded.
type Sampler func(now units.Time) (value float64, ok bool)

// HostActuator is how an algorithm acts on congestion within the host, in addition to its decisions
// for flows: levels of throttling the memory bandwidth of other programs, where 0 does not
// throttle.
type HostActuator interface {
	Levels() int
	SetLevel(level int) error
}

// sampling is the state of TAURUS's signal collection in software (section 3.3).
type sampling struct {
	parsers  map[uint16]Parser
	samplers []sampler
	next     units.Time
	event    cc.Event
}

type sampler struct {
	name   string
	period units.Duration
	read   Sampler // nil: removed
	at     units.Time
}

// Parse sets the parser for segments with an ID (see Extraction); nil removes it.
func (a *Agent) Parse(id uint16, p Parser) error {
	if id < FirstCustom {
		return fmt.Errorf("nicoffload: parser of segment %d, want at least %d", id, FirstCustom)
	}
	if a.host.parsers == nil {
		a.host.parsers = make(map[uint16]Parser)
	}
	if a.host.parsers[id] = p; p == nil {
		delete(a.host.parsers, id)
	}
	return nil
}

// parse makes an event of a segment that an Extraction cut, and reports whether it succeeded.
func (a *Agent) parse(m *Message) bool {
	p := a.host.parsers[m.SegmentID]
	return p != nil && p(m.Segment, &m.Event) == nil
}

// ErrShort is returned by a Parser whose segment is too short.
var ErrShort = errors.New("the segment is too short")

// Sample adds a sampler of the host, which is called once per period. Its values are dispatched
// with the returned number to every flow that binds HOST. A sampler with an existing name replaces
// the old one and keeps its number.
func (a *Agent) Sample(name string, period units.Duration, s Sampler,
	now units.Time) (number uint16, err error) {
	if period <= 0 || s == nil {
		return 0, fmt.Errorf("nicoffload: sampler %q with period %v: want a positive period and "+
			"a function", name, period)
	}
	entry := sampler{name, period, s, now}
	a.host.next = now
	for i := range a.host.samplers {
		if a.host.samplers[i].name == name {
			a.host.samplers[i] = entry
			return uint16(i), nil
		}
	}
	a.host.samplers = append(a.host.samplers, entry)
	return uint16(len(a.host.samplers) - 1), nil
}

// Unsample removes a sampler; the numbers of the others do not change.
func (a *Agent) Unsample(name string) {
	for i := range a.host.samplers {
		if a.host.samplers[i].name == name {
			a.host.samplers[i].read = nil
		}
	}
}

// sample calls the samplers that are due, and returns when the next one is.
func (a *Agent) sample(now units.Time) units.Time {
	h := &a.host
	never := now.Add(units.Forever)
	if len(h.samplers) == 0 {
		return never
	}
	if h.next.After(now) {
		return h.next
	}
	h.next = never
	for i := range h.samplers {
		s := &h.samplers[i]
		if s.read == nil {
			continue
		}
		if !s.at.After(now) {
			s.at = now.Add(s.period)
			if v, ok := s.read(now); ok {
				a.counters.Samples++
				a.dispatchSample(cc.HostSample{Sampler: uint16(i), Value: v}, a.eventTime)
			}
		}
		h.next = units.Earlier(h.next, s.at)
	}
	return h.next
}

// dispatchSample dispatches a sample to every flow that binds HOST.
func (a *Agent) dispatchSample(s cc.HostSample, now units.Time) {
	for i := range a.flows {
		if f := &a.flows[i]; f.live && f.bindsHost {
			a.host.event = cc.Event{Kind: cc.HOST, Host: s}
			a.dispatch(f, &a.host.event, now)
		}
	}
}
