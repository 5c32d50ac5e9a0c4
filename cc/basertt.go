package cc

import "github.com/goroce/goroce/units"

// BaseRTT measures the base round trip of one path, which Path.BaseRTT tells algorithms: that of a
// full packet and its acknowledgement through empty queues. Noise and queues only add to a delay,
// so it is the least of the samples. What a packet that is not full takes less on the links that it
// crosses is added.
//
// A lower sample counts at once. A base that rose, as a longer route makes it, looks like a queue
// that does not drain, and flows that steer to a delay keep such a queue for as long as they send:
// the latecomer's problem of RFC 6817. So no length of time is proof. A higher base is believed
// when no queue explains it: when for a Window all samples were more than Queue beyond the base,
// none of them long after the one before. With PrioPlus Queue is the limit of the highest channel
// less the base: beyond it all stop, so the queue of the table's own flows never raises the base,
// however long it stands. A rise by less is not seen; flows then take the path for busier than it
// is, which costs them bandwidth and nobody else. On a path that is known to be idle Queue is 0.
// The rule is OURS; PrioPlus takes the base for known.
//
// The first four fields are settings; they do not change once samples come.
type BaseRTT struct {
	Path   Path           // LineRate, Payload and Hops count
	Window units.Duration // how long a rise must last; 0: it is never believed
	Queue  units.Duration // how much of a delay may be queue for long

	base        units.Duration // 0: no sample yet
	floor       units.Duration // least sample since all are beyond Queue
	since, last units.Time     // the first and the last of these; since 0: there is none
	rises       uint64
}

// Set says what the base is: that of an earlier measurement, or what an operator knows. A lower
// sample counts all the same.
func (b *BaseRTT) Set(base units.Duration) { b.base, b.since = base, 0 }

// Base answers the base round trip of a full packet; 0 when there was no sample.
func (b *BaseRTT) Base() units.Duration { return b.base }

// Of answers that of a packet with so much payload; a probe has none.
func (b *BaseRTT) Of(payload units.Bytes) units.Duration { return b.base - b.shorter(payload) }

// Rises answers how often a higher base was believed.
func (b *BaseRTT) Rises() uint64 { return b.rises }

// shorter is what a packet takes less than a full one: it is serialised on every link.
func (b *BaseRTT) shorter(payload units.Bytes) units.Duration {
	return b.Path.LineRate.Duration(max(0, b.Path.Payload-payload)) * units.Duration(b.Path.Hops+1)
}

// gaps is how many silences fit into a Window: samples further apart than that say nothing of the
// time between, and the Window begins anew.
const gaps = 4

// Sample takes the round trip of one packet with so much payload. One that cannot be is ignored.
func (b *BaseRTT) Sample(delay units.Duration, payload units.Bytes, now units.Time) {
	b.SampleBetween(delay, delay, payload, now)
}

// SampleBetween takes the round trip of one packet that is known within bounds: the base is no more
// than the upper one, and only what is beyond Queue by the lower one may be a longer path.
func (b *BaseRTT) SampleBetween(delay, most units.Duration, payload units.Bytes, now units.Time) {
	if delay <= 0 || most < delay || most > longestDelay {
		return
	}
	delay, most = delay+b.shorter(payload), most+b.shorter(payload)
	switch {
	case b.base == 0 || most <= b.base:
		b.base, b.since = most, 0
	case delay <= b.base+b.Queue:
		b.since = 0 // a queue, or noise
	case b.Window == 0:
	case b.since == 0 || now.Sub(b.last) > b.Window/gaps:
		b.floor, b.since, b.last = delay, now, now
	default:
		b.floor, b.last = min(b.floor, delay), now
		if now.Sub(b.since) >= b.Window {
			b.base, b.since = b.floor, 0
			b.rises++
		}
	}
}
