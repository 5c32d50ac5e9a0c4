package metrics

import (
	"github.com/goroce/goroce"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// batch is how many queue pairs are copied between two rounds: 20 KiB, in some microseconds.
const batch = 32

// endpoint is what a Collector keeps of an endpoint from scrape to scrape.
type endpoint struct {
	index      int
	largest    int // how many queue pairs have series of their own
	samples    [batch]transport.QPSample
	scraped    bool
	named      map[wire.QPN]transport.QPCounters // as of the newest scrape
	total      transport.QPCounters              // of all queue pairs, destroyed ones included
	rest       transport.QPCounters              // of those without series of their own
	algorithms map[string]*algorithm
	admission  transport.AdmissionTotals
}

func newEndpoint(index, largest int) *endpoint {
	return &endpoint{index: index, largest: largest,
		named: map[wire.QPN]transport.QPCounters{}, algorithms: map[string]*algorithm{}}
}

// endpointSample is the state of an endpoint at one time.
type endpointSample struct {
	index int
	transport.EndpointSample
	queuePairs *summary
	rest       transport.QPCounters
	algorithms []algorithm
	admission  transport.AdmissionTotals
	offload    *offload // nil if congestion control runs inline
}

// sample copies the state of the endpoint, a few queue pairs at a time.
func (e *endpoint) sample(h *goroce.Host) (*endpointSample, error) {
	s := &endpointSample{index: e.index, queuePairs: newSummary(e.largest)}
	// First: what retires during the walk is then missing for once, and not counted twice.
	if err := h.Do(e.index, func(ep *transport.Endpoint) {
		ep.Sample(&s.EndpointSample)
		s.offload = sampleOffload(h, e.index)
	}); err != nil {
		return nil, err
	}
	if s.offload != nil {
		_ = h.DoAgent(e.index, func(a *nicoffload.Agent, _ units.Time) {
			s.offload.agent, s.offload.stretch = a.Counters(), a.Stretch()
			s.offload.device = a.DeviceCounters()
		}) // fails when the host is closed: the next Do fails, too
	}
	for slot := transport.FirstSlot; slot > 0; {
		n := 0
		if err := h.Do(e.index, func(ep *transport.Endpoint) {
			n, slot = ep.Samples(e.samples[:], slot)
		}); err != nil {
			return nil, err
		}
		for i := range n {
			s.queuePairs.add(&e.samples[i])
		}
	}
	e.account(s)
	return s, nil
}

// account brings the sums up to date. They do not decrease.
func (e *endpoint) account(s *endpointSample) {
	total := s.queuePairs.counters
	for i := range s.Retired {
		total.Add(&s.Retired[i].QPCounters)
	}
	grown := raise(&e.total, &total)
	named := map[wire.QPN]transport.QPCounters{}
	for i := range s.queuePairs.largest {
		qp := &s.queuePairs.largest[i]
		named[qp.Num] = qp.QPCounters
		// What a queue pair counted before it got series of its own belongs to the rest: the rate
		// of its series does not include it.
		if before, ok := e.named[qp.Num]; ok || !e.scraped {
			grown = subtract(grown, subtract(qp.QPCounters, before))
		}
	}
	e.named, e.scraped = named, true
	e.rest.Add(&grown)
	s.rest = e.rest
	s.algorithms = e.accountAlgorithms(s)
	admission := s.queuePairs.admission
	admission.Gates.Add(&s.Ended.Gates)
	admission.Granters.Add(&s.Ended.Granters)
	raise(&e.admission.Gates, &admission.Gates)
	raise(&e.admission.Granters, &admission.Granters)
	s.admission = e.admission
}
