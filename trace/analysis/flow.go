package analysis

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/goroce/goroce/units"
)

// Flow is what is known of a queue pair: in a log by its number at the host that recorded, in a
// capture by its number at the receiver of its requests.
type Flow struct {
	Name string // as in the table
	From string // sender of the requests
	To   string // receiver; "" unknown

	First, Last units.Time // first and last event

	Packets, Retransmitted uint64 // of requests, sent
	Responses              uint64 // of READs and atomics
	Payload                units.Bytes
	// Delivered is the payload that was acknowledged or, of what the queue pair receives alone,
	// accepted.
	Delivered units.Bytes
	Received  uint64 // packets accepted
	Lost      uint64 // packets that the sender counted as lost

	Gaps, OutOfOrder, Duplicates uint64 // at the receiver or, in a capture, where it was made
	NAKs                         uint64 // sequence
	RNRs, FatalNAKs, Timeouts    uint64
	CNPs, Marks                  uint64 // CNPs to the sender; packets with congestion experienced
	Admission                    uint64 // control messages of tokens and credits

	Limits map[string]units.Duration // what kept the sender from sending, by reason

	Sequence, Again, Missing Series // PSNs since the first, sent, sent again, lost
	RTT, Target              Series // µs
	Window, Flight           Series // bytes
	Rate                     Series // of the decision, bit/s
	Goodput                  Series // bits delivered
	Marked, Notified         Series // marks, CNPs

	rtt   *hdrhistogram.Histogram
	first int64 // the first PSN, unwrapped
	psn   int64 // the newest PSN, unwrapped
	begun bool
}

func newFlow(name, from, to string) *Flow {
	const longest = int64(100_000_000_000) // ns
	return &Flow{Name: name, From: from, To: to, Limits: map[string]units.Duration{},
		rtt: hdrhistogram.New(1, longest, 2)}
}

// touch notes the time of an event.
func (f *Flow) touch(at units.Time) {
	if f.First == 0 && f.Last == 0 {
		f.First = at
	}
	f.Last = max(f.Last, at)
}

// Relative returns how far a PSN of 24 bits is behind the first one, over wraps.
func (f *Flow) Relative(psn uint32) float64 {
	const bits = 64 - 24
	if !f.begun {
		f.begun, f.psn, f.first = true, int64(psn), int64(psn)
	}
	distance := int64(uint64(psn)-uint64(f.psn)) << bits >> bits // sign-extended
	at := f.psn + distance
	f.psn = max(f.psn, at)
	return float64(at - f.first)
}

// AddRTT adds a sample.
func (f *Flow) AddRTT(at units.Time, rtt units.Duration) {
	if rtt > 0 {
		f.RTT.Add(at, rtt.Microseconds())
		_ = f.rtt.RecordValue(int64(rtt / units.Nanosecond)) // out of range: not in the table
	}
}

// Deliver adds payload that was delivered.
func (f *Flow) Deliver(at units.Time, size units.Bytes) {
	f.Delivered += size
	f.Goodput.Add(at, float64(size.Bits()))
}

// Span returns the time from the first to the last event.
func (f *Flow) Span() units.Duration { return f.Last.Sub(f.First) }

// Throughput returns the rate of delivery over Span.
func (f *Flow) Throughput() units.BitRate {
	if f.Span() <= 0 {
		return 0
	}
	return units.RateOf(f.Delivered, f.Span())
}

// RTTAt returns a percentile of the round-trip time; 0 without samples.
func (f *Flow) RTTAt(percentile float64) units.Duration {
	if f.rtt.TotalCount() == 0 {
		return 0
	}
	return units.Duration(f.rtt.ValueAtPercentile(percentile)) * units.Nanosecond
}

// Share is a share of the time of a flow.
type Share struct {
	Reason string
	Part   float64
}

// Shares returns what limited the flow, in percent of the time that is accounted for, the most
// first.
func (f *Flow) Shares() (out []Share) {
	total := units.Duration(0)
	for _, d := range f.Limits {
		total += d
	}
	if total == 0 {
		return nil
	}
	for reason, d := range f.Limits {
		out = append(out, Share{reason, float64(d) / float64(total)})
	}
	sortShares(out)
	return out
}
