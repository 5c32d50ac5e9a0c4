package perftest

import (
	"fmt"
	"strings"
	"time"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// PollGaps is the share of time in which flows waited for an end that did not poll (docs/hosts.md).
type PollGaps struct {
	// share of the time, 0 to 1, in which this end did not poll while it expected responses
	Own float64 `json:"own_poll_gaps"`
	// share of the peer, from delay samples; 0 if the congestion control takes none
	Peer    float64 `json:"peer_poll_gaps"`
	Longest float64 `json:"longest_gap_us"` // of this end
}

// notable is the smallest share that --watch prints.
const notable = 0.05

// String formats the gaps for --watch. It is empty if none is notable.
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

// shortTime formats a time in microseconds.
func shortTime(us float64) string {
	if us < 1000 {
		return fmt.Sprintf("%.0f us", us)
	}
	return fmt.Sprintf("%.1f ms", us/1000)
}

// polled is a reading of an endpoint's polling statistics.
type polled struct {
	at                time.Time
	stalled, peerAway units.Duration
	longest           units.Duration // since the reading before
}

// polled reads the statistics and starts a new longest gap. It runs on the endpoint's core.
func (l *queueSet) polled(ep *transport.Endpoint) polled {
	s := ep.Stats().Polling
	ep.Loop().ResetLongestGap()
	l.longest = max(l.longest, s.LongestGap)
	return polled{time.Now(), s.Stalled, s.PeerAway, s.LongestGap}
}

// since returns the gaps since an earlier reading.
func (p polled) since(before polled) PollGaps {
	passed := float64(units.FromStd(p.at.Sub(before.at)))
	if passed <= 0 {
		return PollGaps{}
	}
	part := func(d units.Duration) float64 { return min(1, float64(d)/passed) }
	return PollGaps{part(p.stalled - before.stalled), part(p.peerAway - before.peerAway),
		p.longest.Microseconds()}
}

// beginGaps reads the statistics of all endpoints before a measurement.
func (r *sizeRun) beginGaps() error {
	r.polled = r.polled[:0]
	for _, l := range r.x.queueSets {
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

// endGaps reads them again and returns the mean of the shares and the longest gap.
func (r *sizeRun) endGaps() (g PollGaps) {
	for i, l := range r.x.queueSets {
		_ = l.do(func(ep *transport.Endpoint) error {
			of := l.polled(ep).since(r.polled[i])
			g.Own += of.Own / float64(len(r.x.queueSets))
			g.Peer += of.Peer / float64(len(r.x.queueSets))
			g.Longest = max(g.Longest, l.longest.Microseconds())
			return nil
		})
	}
	return g
}

// seenFrom returns the gaps from the peer's viewpoint: shares are swapped, and the longest gap is
// the peer's own reading.
func (g PollGaps) seenFrom(there PollGaps) PollGaps {
	return PollGaps{g.Peer, g.Own, there.Longest}
}
