package cc

import "github.com/goroce/goroce/units"

// BaseRTT measures the base round trip of one path, which Path.BaseRTT passes to algorithms: that
// of a full packet and its acknowledgement through empty queues. Noise and queues only add to a
// delay, so the base is the least of the samples. For a packet that is not full, its shorter
// serialisation on each link is added.
//
// A lower sample counts at once. A base that rose, as on a longer route, looks like a queue that
// does not drain, and flows that steer to a delay keep such a queue for as long as they send: the
// latecomer's problem of RFC 6817. So no duration is proof. A higher base is accepted when no queue
// explains it: when for a Window all samples were more than Queue beyond the base, without long
// gaps between them. With PrioPlus, Queue is the limit of the highest channel less the base: all
// flows stop beyond it, so the queue of the table's own flows never raises the base, however long
// it stands. A smaller rise is not detected; flows then overestimate the load of the path, which
// costs bandwidth to them alone. On a path that is known to be idle Queue is 0. The rule is OURS;
// PrioPlus assumes a known base.
//
// The first four fields are settings; they do not change once samples come.
type BaseRTT struct {
	Path   Path           // LineRate, Payload and Hops count
	Window units.Duration // how long a rise must last; 0: a higher base is never accepted
	Queue  units.Duration // the longest standing queue, as delay

	base        units.Duration // 0: no sample yet
	floor       units.Duration // least sample since all are beyond Queue
	since, last units.Time     // the first and the last of these; since 0: there are none
	rises       uint64
}

// Set sets the base: that of an earlier measurement, or a configured one. A lower sample still
// counts.
func (b *BaseRTT) Set(base units.Duration) { b.base, b.since = base, 0 }

// Base returns the base round trip of a full packet; 0 when there was no sample.
func (b *BaseRTT) Base() units.Duration { return b.base }

// Of returns the base round trip of a packet with so much payload; a probe has none.
func (b *BaseRTT) Of(payload units.Bytes) units.Duration { return b.base - b.shorter(payload) }

// Rises returns how often a higher base was accepted.
func (b *BaseRTT) Rises() uint64 { return b.rises }

// shorter returns the time that a packet saves against a full one by its serialisation on all
// links.
func (b *BaseRTT) shorter(payload units.Bytes) units.Duration {
	return b.Path.LineRate.Duration(max(0, b.Path.Payload-payload)) * units.Duration(b.Path.Hops+1)
}

// minSamplesPerWindow sets the longest gap between samples, as a fraction of Window. After a longer
// gap the Window restarts: nothing is known of the time between.
const minSamplesPerWindow = 4

// Sample adds the round trip of one packet with so much payload. An impossible one is ignored.
func (b *BaseRTT) Sample(delay units.Duration, payload units.Bytes, now units.Time) {
	b.SampleBetween(delay, delay, payload, now)
}

// SampleBetween adds the round trip of one packet that is known within bounds: the base is at most
// the upper one, and only a lower bound beyond Queue may indicate a longer path.
func (b *BaseRTT) SampleBetween(delay, most units.Duration, payload units.Bytes, now units.Time) {
	if delay <= 0 || most < delay || most > maxDelay {
		return
	}
	delay, most = delay+b.shorter(payload), most+b.shorter(payload)
	switch {
	case b.base == 0 || most <= b.base:
		b.base, b.since = most, 0
	case delay <= b.base+b.Queue:
		b.since = 0 // a queue, or noise
	case b.Window == 0:
	case b.since == 0 || now.Sub(b.last) > b.Window/minSamplesPerWindow:
		b.floor, b.since, b.last = delay, now, now
	default:
		b.floor, b.last = min(b.floor, delay), now
		if now.Sub(b.since) >= b.Window {
			b.base, b.since = b.floor, 0
			b.rises++
		}
	}
}
