package cc

import "github.com/goroce/goroce/units"

// Reason is why an algorithm cut a flow's window or rate.
type Reason uint8

// The reasons.
const (
	NoCut        Reason = iota
	CutDelay            // the delay of the fabric
	CutEndpoint         // the delay of the hosts
	CutMark             // marks of switches
	CutCNP              // a congestion notification packet
	CutLoss             // a sequence gap
	CutTimeout          // the retransmission timer
	CutTelemetry        // in-band telemetry
	CutSwitch           // a switch's report (SRC)
	Yielded             // higher priorities: the flow stopped (PrioPlus)
	reasons
)

var reasonNames = [reasons]string{"none", "delay", "endpoint", "mark", "cnp", "loss", "timeout",
	"telemetry", "switch", "yielded"}

func (r Reason) String() string {
	if r < reasons {
		return reasonNames[r]
	}
	return "unknown reason"
}

// Reasons is the number of Reasons, NoCut included.
const Reasons = int(reasons)

// Snapshot is the visible state of an algorithm, copied by value.
type Snapshot struct {
	Target units.Duration // the delay aimed at; 0 without a target
	Delay  units.Duration // the newest sample; 0 when there was none
	Window units.Bytes    // as in the Decision
	Rate   units.BitRate
	// Reason and CutAt are of the last cut; CutAt is undefined when Reason is NoCut. An algorithm
	// that lowers its window step by step counts a run of steps as one cut.
	Reason Reason
	CutAt  units.Time
	Cuts   [Reasons]uint64 // by Reason
	// Ignored is how many values of events were impossible: delays not above 0, more marks than
	// packets, invalid telemetry.
	Ignored uint64
	// Channel is the state of PrioPlus; zero for every other algorithm.
	Channel Channel
}

// Channel is the state of a flow that has a virtual priority.
type Channel struct {
	Priority int
	Limit    units.Duration // the delay at which the flow yields; 0 when it has no channel
	State    ChannelState
	Flows    float64 // #flow, the estimate of how many flows share the priority
}

// ChannelState is the state of a flow with a virtual priority.
type ChannelState uint8

// The states.
const (
	Resting  ChannelState = iota // has nothing to send
	Stopped                      // yields, and probes
	Starting                     // sends, the window growing linearly
	Sending                      // sends, as the inner algorithm decides
)

func (s ChannelState) String() string {
	switch s {
	case Resting:
		return "resting"
	case Stopped:
		return "stopped"
	case Starting:
		return "starting"
	case Sending:
		return "sending"
	}
	return "unknown state"
}

// Observable is an Algorithm that shows its state. All algorithms of this package do.
type Observable interface {
	Snapshot() Snapshot
}

// record is the state of every algorithm that only a Snapshot shows.
type record struct {
	target, delay units.Duration
	reason        Reason
	cutAt         units.Time
	cuts          [Reasons]uint64
	ignored       uint64
}

func (r *record) cut(why Reason, now units.Time) {
	r.reason, r.cutAt = why, now
	r.cuts[why]++
}

func (r *record) snapshot(d Decision) Snapshot {
	return Snapshot{Target: r.target, Delay: r.delay, Window: d.Window, Rate: d.Rate,
		Reason: r.reason, CutAt: r.cutAt, Cuts: r.cuts, Ignored: r.ignored}
}

// sample returns the delay of an acknowledgement, and false when it has none, or an impossible one.
func (r *record) sample(ev *Event) (units.Duration, bool) {
	if ev.Kind != RTT {
		return 0, false
	}
	if !ev.timed() {
		r.ignored++
		return 0, false
	}
	r.delay = ev.Delay
	return ev.Delay, true
}

// maxOutstanding bounds outstanding packets: half of the PSN space.
const maxOutstanding = 1 << 23

// acked returns how many packets are newly acknowledged, and how many of them were marked: 0 for
// impossible values.
func (r *record) acked(ev *Event) (packets, marked float64) {
	switch {
	case ev.Packets < 0 || ev.Packets > maxOutstanding:
		r.ignored++
		return 0, 0
	case ev.Marked < 0 || ev.Marked > ev.Packets:
		r.ignored++
		return float64(ev.Packets), 0
	}
	return float64(ev.Packets), float64(ev.Marked)
}
