package metrics

import (
	"maps"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goroce/goroce/cc"
)

// distribution is a histogram.
type distribution struct {
	bounds []float64
	counts []uint64 // of values up to each bound, and above the one before
	number uint64
	sum    float64
}

var (
	windowBounds = []float64{1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22,
		1 << 24}
	delayBounds = []float64{1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 1e-2, 1e-1}
)

func newDistribution(bounds []float64) distribution {
	return distribution{bounds: bounds, counts: make([]uint64, len(bounds))}
}

func (d *distribution) observe(v float64) {
	d.number++
	d.sum += v
	if i, _ := slices.BinarySearch(d.bounds, v); i < len(d.counts) {
		d.counts[i]++
	}
}

func (d *distribution) add(o *distribution) {
	d.number += o.number
	d.sum += o.sum
	for i, n := range o.counts {
		d.counts[i] += n
	}
}

// clone returns a copy that does not change with d.
func (d *distribution) clone() distribution {
	c := *d
	c.counts = slices.Clone(d.counts)
	return c
}

func (w writer) distribution(f *family, d *distribution, labels ...string) {
	below, buckets := uint64(0), map[float64]uint64{}
	for i, bound := range d.bounds {
		below += d.counts[i]
		buckets[bound] = below
	}
	w.to <- prometheus.MustNewConstHistogram(f.desc, d.number, d.sum, buckets,
		with(w.labels, labels...)...)
}

// algorithm is what the queue pairs with one algorithm did, destroyed ones included.
type algorithm struct {
	name    string
	number  int // of queue pairs now
	cuts    [cc.Reasons]uint64
	ignored uint64

	// One observation of each queue pair a scrape.
	windows, targets, rtts distribution
}

// accountAlgorithms brings the sums by algorithm up to date, and returns a copy.
func (e *endpoint) accountAlgorithms(s *endpointSample) (all []algorithm) {
	sums := map[string]*algorithm{}
	for _, r := range s.Retired {
		sums[r.Algorithm] = &algorithm{cuts: r.Cuts, ignored: r.Ignored}
	}
	for name, f := range s.queuePairs.algorithms {
		sum := sums[name]
		if sum == nil { // its first queue pair is newer than s.Retired
			sum = &algorithm{}
			sums[name] = sum
		}
		sum.number = f.number
		sum.ignored += f.ignored
		for i, n := range f.cuts {
			sum.cuts[i] += n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		a := e.algorithms[name]
		if a == nil {
			a = &algorithm{name: name, windows: newDistribution(windowBounds),
				targets: newDistribution(delayBounds), rtts: newDistribution(delayBounds)}
			e.algorithms[name] = a
		}
		a.number, a.ignored = sums[name].number, max(a.ignored, sums[name].ignored)
		for i, n := range sums[name].cuts {
			a.cuts[i] = max(a.cuts[i], n)
		}
		if f := s.queuePairs.algorithms[name]; f != nil {
			a.windows.add(&f.windows)
			a.targets.add(&f.targets)
			a.rtts.add(&f.rtts)
		}
		one := *a
		one.windows, one.targets, one.rtts = a.windows.clone(), a.targets.clone(), a.rtts.clone()
		all = append(all, one)
	}
	return all
}

// The metrics of congestion control.
var (
	congestionQueuePairs = gauge("goroce_congestion_queue_pairs", "Queue pairs with the algorithm.",
		with(ofEndpoint, "algorithm")...)
	congestionCuts = counter("goroce_congestion_cuts_total",
		"Cuts of windows or rates by their reason (yielded: PrioPlus stopped the flow).",
		with(ofEndpoint, "algorithm", "reason")...)
	congestionIgnored = counter("goroce_congestion_ignored_values_total",
		"Impossible values in events, which the algorithm ignored.",
		with(ofEndpoint, "algorithm")...)
	congestionWindows = histogram("goroce_congestion_window_bytes",
		"Windows: one observation of each queue pair in RTS a scrape.",
		with(ofEndpoint, "algorithm")...)
	congestionTargets = histogram("goroce_congestion_target_seconds",
		"Delay targets: one observation of each queue pair in RTS a scrape.",
		with(ofEndpoint, "algorithm")...)
	congestionDelays = histogram("goroce_congestion_delay_seconds",
		"Newest delay samples: one observation of each queue pair in RTS a scrape.",
		with(ofEndpoint, "algorithm")...)
	channelFlows = gauge("goroce_prioplus_flows",
		"Flows of a virtual priority, by their state.", with(ofEndpoint, "priority", "state")...)
	channelLimit = gauge("goroce_prioplus_limit_seconds",
		"Delay at which flows of a virtual priority yield.", with(ofEndpoint, "priority")...)
	channelEstimate = gauge("goroce_prioplus_estimated_flows",
		"Largest estimate of how many flows share a virtual priority.",
		with(ofEndpoint, "priority")...)
)

func (s *endpointSample) writeCongestion(w writer) {
	for i := range s.algorithms {
		a := &s.algorithms[i]
		w.value(congestionQueuePairs, float64(a.number), a.name)
		for r := cc.NoCut + 1; int(r) < cc.Reasons; r++ {
			w.count(congestionCuts, a.cuts[r], a.name, r.String())
		}
		w.count(congestionIgnored, a.ignored, a.name)
		w.distribution(congestionWindows, &a.windows, a.name)
		w.distribution(congestionTargets, &a.targets, a.name)
		w.distribution(congestionDelays, &a.rtts, a.name)
	}
	for priority, c := range s.queuePairs.channels {
		label := strconv.Itoa(priority)
		for state := cc.Resting; state <= cc.Sending; state++ {
			w.value(channelFlows, float64(c.states[state]), label, state.String())
		}
		w.value(channelLimit, c.limit, label)
		w.value(channelEstimate, c.flows, label)
	}
}
