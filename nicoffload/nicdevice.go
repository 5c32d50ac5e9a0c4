package nicoffload

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// This file implements Device for the soft NIC.

// Capabilities implements Device.
func (n *NIC) Capabilities() Capabilities {
	return Capabilities{
		Name: "soft", Flows: MaxFlows - 1, Extractions: maxExtractions,
		Events:  cc.EventSet(1)<<len(defaultRoutes) - 1,
		MaxRate: n.config.LineRate, Tick: units.Picosecond,
	}
}

// Configure implements Device.
func (n *NIC) Configure(h Handle, b Binding) error {
	if err := b.Validate(); err != nil {
		return err
	}
	if f := n.find(h); f != nil {
		n.dirty = true
		n.bind(f, b)
		n.bindTimed(h, b)
	}
	return nil
}

// Aggregate implements Device.
func (n *NIC) Aggregate(a Aggregation) error {
	if err := a.Validate(); err != nil {
		return err
	}
	n.agg, n.dirty = a, true
	n.engines[0].configure(a.Accumulable, n.now)
	n.engines[1].configure(a.Coalescent, n.now)
	return nil
}

// Probe implements Device. The request reaches the pipeline as a result.
func (n *NIC) Probe(h Handle) error {
	if f := n.find(h); f != nil {
		if f.probeAt = n.now; f.probeAt == 0 { // 0 means no probe
			f.probeAt = 1
		}
		n.counters.Probes++
		n.markChanged(f)
	}
	return nil
}

// Fetch implements Device.
func (n *NIC) Fetch(b []byte) int {
	n.fetches++
	at := n.fetchFrom(&n.merged, b)
	at += n.fetchFrom(&n.raw, b[at:])
	n.dirty = n.dirty || at > 0 // there is room now
	return at
}

// fetchFrom copies whole messages, except those of flows that have ended since.
func (n *NIC) fetchFrom(q *fifo, b []byte) (at int) {
	for q.head != q.flushed {
		length := q.next(q.head)
		h := q.at(q.head)
		f := Handle(le.Uint32(h))
		if ctx := &n.flows[f.Index()]; h[4] < uint8(Started) && (ctx.handle != f || !ctx.open) {
			n.counters.Stale++
			q.take(length)
			continue
		}
		if length > len(b)-at {
			break
		}
		q.copyHead(b[at:], length)
		q.take(length)
		at += length
	}
	return at
}

// Backlog implements Device. It returns the values of the fuller queue.
func (n *NIC) Backlog() (used, size int) {
	return max(n.merged.used(), n.raw.used()) / Slot, n.config.Queue
}

// Write implements Device.
func (n *NIC) Write(results []Result) int {
	for i := range results {
		n.write(results[i].Flow, &results[i].Decision)
	}
	return len(results)
}

func (n *NIC) write(h Handle, d *cc.Decision) {
	f := n.find(h)
	if f == nil {
		return
	}
	if validResult(d) != nil {
		n.counters.Refused++
		return
	}
	f.result = *d
	f.result.WakeAt = 0
	n.counters.Results++
	n.markChanged(f)
}

func (n *NIC) markChanged(f *flowContext) {
	if !f.changed {
		f.changed = true
		n.changed = append(n.changed, f.handle.Index())
	}
}

// Counters implements Device.
func (n *NIC) Counters() Counters { return n.counters }
