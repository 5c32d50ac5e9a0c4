package channels

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Gauge is a cc.Factory that measures the delay of its flow's otherwise idle path. It uses the same
// samples as PrioPlus, less the hosts' part as far as it is known, in two phases:
//
// First a ping-pong as in section 4.3.2: a probe and a full packet in turn, one at a time. Then a
// stream of packets at a tenth of line rate. A host that stalls for a millisecond delays one packet
// of a ping-pong, but every packet due in that time of a stream, so the stream shows how well the
// filter of two samples works.
//
// Messages must be available to send until Done returns true. A Gauge belongs to the polling core
// while it runs.
type Gauge struct {
	Samples int            // number of probes, and of data packets of each phase
	BaseRTT units.Duration // base of a full packet; 0: as measured

	path                 cc.Path
	base                 cc.BaseRTT
	probe, pings, stream samples
}

// streamShare divides the line rate for the stream, which is thus too slow to build a queue.
const streamShare = 10

// streamWindow limits the stream's outstanding packets. It is small because what the sender sends
// late after a stall forms a queue.
const streamWindow = 8

// New implements cc.Factory. It starts a new measurement.
func (g *Gauge) New(path cc.Path) (cc.Algorithm, error) {
	g.path = path
	g.base = cc.BaseRTT{Path: path, Window: units.Second}
	for _, s := range []*samples{&g.probe, &g.pings, &g.stream} {
		*s = make(samples, 0, g.Samples)
	}
	return &needle{Gauge: g}, nil
}

// Name implements cc.Factory.
func (g *Gauge) Name() string   { return "gauge" }
func (g *Gauge) String() string { return "gauge" }

// Done reports whether all samples were taken.
func (g *Gauge) Done() bool { return g.Samples > 0 && len(g.stream) == g.Samples }

// needle is the algorithm of a Gauge.
type needle struct {
	*Gauge
	next cc.Decision
}

// Events implements cc.Algorithm.
func (n *needle) Events() cc.EventSet { return cc.Events(cc.RTT, cc.RTO, cc.POST) }

// Start implements cc.Starter. Nothing is sent before a message is posted.
func (n *needle) Start(units.Time) cc.Decision { return cc.Decision{} }

// On implements cc.Algorithm.
func (n *needle) On(ev *cc.Event, now units.Time) cc.Decision {
	s, ok := sampleOf(ev)
	switch {
	case ok && ev.Probe:
		n.record(&n.probe, s, 0, now)
		n.next = cc.Decision{Window: n.path.Payload}
	case ok && len(n.pings) < n.Samples:
		n.record(&n.pings, s, ev.Bytes, now)
		n.requestProbe(now)
		if len(n.pings) == n.Samples {
			n.next = cc.Decision{Window: streamWindow * n.path.Payload,
				Rate: max(1, n.path.LineRate/streamShare)}
		}
	case ok:
		n.record(&n.stream, s, n.path.Payload, now)
	// the first message, or a lost probe
	case ev.Kind == cc.POST && n.next == cc.Decision{}, ev.Probe:
		n.requestProbe(now)
	}
	return n.next
}

// requestProbe requests a probe at once, and no data.
func (n *needle) requestProbe(now units.Time) {
	at := now
	for at == 0 || at == n.next.ProbeAt {
		at = at.Add(1)
	}
	n.next = cc.Decision{ProbeAt: at}
}

func (n *needle) record(taken *samples, s sample, payload units.Bytes, now units.Time) {
	if len(*taken) < cap(*taken) {
		*taken = append(*taken, s)
		n.base.SampleBetween(s.least, s.most, payload, now)
	}
}
