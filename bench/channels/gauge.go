package channels

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Gauge is a cc.Control that measures the delay of its flow's path while nothing else is on it. It
// takes the same samples as PrioPlus, without what passed in the hosts as far as that is known, in
// two ways:
//
// First a ping-pong, as section 4.3.2 has it: a probe, a full packet, a probe, one at a time. Then
// a stream of packets at a tenth of line rate. A host that stalls for a millisecond delays one
// packet of a ping-pong, but all those that were to come meanwhile of a stream: the stream shows
// what the filter of two samples is worth.
//
// The queue pair needs messages to send, for as long as Done is false. All is the polling core's
// while it runs.
type Gauge struct {
	Samples int            // of probes, and of each kind of data
	BaseRTT units.Duration // what to take for the base of a full packet; 0: what is measured

	path                 cc.Path
	base                 cc.BaseRTT
	probe, pings, stream samples
}

// streamShare is the part of line rate that the stream takes: little enough that it meets no queue
// of its own.
const streamShare = 10

// streamWindow is what the stream may have under way. What it sends late after a stall of its own
// is a queue, so it is little.
const streamWindow = 8

// New implements cc.Control: it begins anew.
func (g *Gauge) New(path cc.Path) (cc.Algorithm, error) {
	g.path = path
	g.base = cc.BaseRTT{Path: path, Window: units.Second}
	for _, s := range []*samples{&g.probe, &g.pings, &g.stream} {
		*s = make(samples, 0, g.Samples)
	}
	return &needle{Gauge: g}, nil
}

// Name implements cc.Control, and String.
func (g *Gauge) Name() string   { return "gauge" }
func (g *Gauge) String() string { return "gauge" }

// Done says whether all samples were taken.
func (g *Gauge) Done() bool { return g.Samples > 0 && len(g.stream) == g.Samples }

// needle is the algorithm.
type needle struct {
	*Gauge
	next cc.Decision
}

// Events implements cc.Algorithm.
func (n *needle) Events() cc.EventSet { return cc.Events(cc.RTT, cc.RTO, cc.POST) }

// Start implements cc.Starter: nothing leaves before there is something to send.
func (n *needle) Start(units.Time) cc.Decision { return cc.Decision{} }

// On implements cc.Algorithm.
func (n *needle) On(ev *cc.Event, now units.Time) cc.Decision {
	s, ok := sampleOf(ev)
	switch {
	case ok && ev.Probe:
		n.take(&n.probe, s, 0, now)
		n.next = cc.Decision{Window: n.path.Payload}
	case ok && len(n.pings) < n.Samples:
		n.take(&n.pings, s, ev.Bytes, now)
		n.ask(now)
		if len(n.pings) == n.Samples {
			n.next = cc.Decision{Window: streamWindow * n.path.Payload,
				Rate: max(1, n.path.LineRate/streamShare)}
		}
	case ok:
		n.take(&n.stream, s, n.path.Payload, now)
	case ev.Kind == cc.POST && n.next == cc.Decision{}, ev.Probe: // the first, or one that was lost
		n.ask(now)
	}
	return n.next
}

// ask wants a probe at once, and no data.
func (n *needle) ask(now units.Time) {
	at := now
	for at == 0 || at == n.next.ProbeAt {
		at = at.Add(1)
	}
	n.next = cc.Decision{ProbeAt: at}
}

func (n *needle) take(taken *samples, s sample, payload units.Bytes, now units.Time) {
	if len(*taken) < cap(*taken) {
		*taken = append(*taken, s)
		n.base.SampleBetween(s.least, s.most, payload, now)
	}
}
