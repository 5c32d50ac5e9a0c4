package perftest

import (
	"fmt"
	"strings"
	"time"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// PollGaps is how much of a time flows waited for an end that did not poll (docs/hosts.md).
type PollGaps struct {
	// part of the time, 0 to 1, in which this end did not poll though it expected answers
	Own float64 `json:"own_poll_gaps"`
	// the same of the peer, by delay samples; 0 with a congestion control that takes none
	Peer    float64 `json:"peer_poll_gaps"`
	Longest float64 `json:"longest_gap_us"` // of this end
}

// notable is the least part of the time that --watch mentions.
const notable = 0.05

// String is what --watch says; nothing when there is nothing to say.
func (g PollGaps) String() string {
	var parts []string
	if g.Own >= notable {
		parts = append(parts, fmt.Sprintf("by own poll gaps: %.0f %% (longest %s)", 100*g.Own,
			shortTime(g.Longest)))
	}
	if g.Peer >= notable {
		parts = append(parts, fmt.Sprintf("by the peer's poll gaps: %.0f %%", 100*g.Peer))
	}
	if len(parts) == 0 {
		return ""
	}
	return "limited " + strings.Join(parts, ", ")
}

// shortTime is a time in microseconds for people.
func shortTime(us float64) string {
	if us < 1000 {
		return fmt.Sprintf("%.0f us", us)
	}
	return fmt.Sprintf("%.1f ms", us/1000)
}

// polled is what was known of a lane's polling at a time.
type polled struct {
	at time.Time
	transport.Polling
}

// polled looks, and begins a new longest gap. It runs on the lane's core.
func (l *lane) polled(ep *transport.Endpoint) polled {
	p := polled{time.Now(), ep.Polling()}
	ep.ResetLongestGap()
	l.longest = max(l.longest, p.LongestGap)
	return p
}

// since returns the gaps since an earlier look.
func (p polled) since(before polled) PollGaps {
	passed := float64(units.FromStd(p.at.Sub(before.at)))
	if passed <= 0 {
		return PollGaps{}
	}
	part := func(d units.Duration) float64 { return min(1, float64(d)/passed) }
	return PollGaps{part(p.Stalled - before.Stalled), part(p.PeerAway - before.PeerAway),
		p.LongestGap.Microseconds()}
}

// beginGaps looks at all lanes before a measurement.
func (r *round) beginGaps() error {
	r.polled = r.polled[:0]
	for _, l := range r.x.lanes {
		err := l.do(func(ep *transport.Endpoint) error {
			r.polled = append(r.polled, l.polled(ep))
			l.longest = 0
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// endGaps looks again: the mean of the lanes, and their longest gap.
func (r *round) endGaps() (g PollGaps) {
	for i, l := range r.x.lanes {
		_ = l.do(func(ep *transport.Endpoint) error {
			of := l.polled(ep).since(r.polled[i])
			g.Own += of.Own / float64(len(r.x.lanes))
			g.Peer += of.Peer / float64(len(r.x.lanes))
			g.Longest = max(g.Longest, l.longest.Microseconds())
			return nil
		})
	}
	return g
}

// seenFrom returns what the other end, which sends nothing, says of the same time.
func (g PollGaps) seenFrom(there PollGaps) PollGaps {
	return PollGaps{g.Peer, g.Own, there.Longest}
}
