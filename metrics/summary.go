package metrics

import (
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport"
)

// summary is what a walk over the queue pairs of an endpoint finds. Its size does not depend on
// their number.
type summary struct {
	largest    []transport.QPSample // those with the most bytes, in descending order
	counters   transport.QPCounters // of all
	admission  transport.AdmissionTotals
	timers     int
	states     map[transport.State]int
	algorithms map[string]*flows
	channels   map[int]*channel
}

// flows are the queue pairs with one algorithm.
type flows struct {
	number                 int
	cuts                   [cc.Reasons]uint64
	ignored                uint64
	windows, targets, rtts distribution
}

// channel is the flows of a virtual priority.
type channel struct {
	limit  float64 // seconds
	states map[cc.ChannelState]int
	flows  float64 // the largest estimate of #flow
}

func newSummary(largest int) *summary {
	return &summary{largest: make([]transport.QPSample, 0, largest+1),
		states: map[transport.State]int{}, algorithms: map[string]*flows{},
		channels: map[int]*channel{}}
}

func traffic(s *transport.QPSample) uint64 { return s.BytesSent + s.BytesIn }

func (m *summary) add(s *transport.QPSample) {
	m.addLargest(s)
	m.counters.Add(&s.QPCounters)
	m.admission.Gates.Add(&s.Gates)
	m.admission.Granters.Add(&s.Granters)
	m.states[s.State]++
	if s.Timer {
		m.timers++
	}
	f := m.algorithms[s.Algorithm]
	if f == nil {
		f = &flows{windows: newDistribution(windowBounds), targets: newDistribution(delayBounds),
			rtts: newDistribution(delayBounds)}
		m.algorithms[s.Algorithm] = f
	}
	f.add(s)
	if c := &s.Congestion.Channel; c.Limit > 0 {
		m.addChannel(c)
	}
}

func (m *summary) addLargest(s *transport.QPSample) {
	limit := cap(m.largest) - 1
	if limit == 0 || len(m.largest) == limit && traffic(s) <= traffic(&m.largest[limit-1]) {
		return
	}
	at, _ := slices.BinarySearchFunc(m.largest, traffic(s),
		func(one transport.QPSample, n uint64) int {
			if traffic(&one) > n {
				return -1
			}
			return 1
		})
	m.largest = slices.Insert(m.largest, at, *s)
	m.largest = m.largest[:min(len(m.largest), limit)]
}

func (f *flows) add(s *transport.QPSample) {
	c := &s.Congestion
	f.number++
	f.ignored += c.Ignored
	for i, n := range c.Cuts {
		f.cuts[i] += n
	}
	if s.State != transport.ReadyToSend {
		return
	}
	f.windows.observe(float64(c.Window))
	if c.Target > 0 {
		f.targets.observe(seconds(c.Target))
	}
	if c.Delay > 0 {
		f.rtts.observe(seconds(c.Delay))
	}
}

func (m *summary) addChannel(c *cc.Channel) {
	one := m.channels[c.Priority]
	if one == nil {
		one = &channel{states: map[cc.ChannelState]int{}}
		m.channels[c.Priority] = one
	}
	one.limit = seconds(c.Limit)
	one.states[c.State]++
	one.flows = max(one.flows, c.Flows)
}
