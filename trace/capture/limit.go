package capture

import "github.com/goroce/goroce/units"

// The reasons that a capture shows. It has no record of windows, rates, tokens or queues.
const (
	sending  = "sending back to back"
	acks     = "waiting for acknowledgements"
	idling   = "nothing outstanding"
	pausing  = "pauses between packets"
	receiver = "receiver not ready"
	recovery = "recovery after NAK"
	timeouts = "retransmission timeout"
)

// Explanations are what the reasons may mean.
var Explanations = []string{
	"A capture does not show why a sender waits. \"" + acks + "\" is its window, or the depth of " +
		"its send queue; \"" + idling + "\" and \"" + pausing + "\" are its program, its pace, " +
		"tokens, credits or a full port. An event log (--trace) has the difference.",
}

// idle attributes the time between two packets of a sender to what preceded the second.
type idle struct {
	sent, acked, nak units.Time     // newest packet, ACK and NAK
	empty            units.Time     // since when nothing is outstanding
	notReady         bool           // the newest NAK was RNR
	least            units.Duration // between two packets
}

// closely is how soon after an acknowledgement a packet counts as released by it.
const closely = 20 * units.Microsecond

// sentAt attributes the time since the packet before.
func (t *tracker) sentAt(p *packet, again bool) {
	before := t.idle
	t.sent, t.nak, t.empty = p.at, 0, 0
	gap := p.at.Sub(before.sent)
	if before.sent == 0 || gap <= 0 {
		return
	}
	if t.least == 0 || gap < t.least {
		t.least = gap
	}
	limits := t.flow.Limits
	switch {
	case before.nak != 0 && before.notReady:
		limits[receiver] += gap
	case before.nak != 0:
		limits[recovery] += gap
	case again && p.psn == t.una && gap > 2*closely && !before.ackedWithin(p.at, closely):
		limits[timeouts] += gap
		t.flow.Timeouts++
	case before.empty != 0:
		limits[idling] += p.at.Sub(before.empty)
		limits[acks] += before.empty.Sub(before.sent)
	case gap <= 2*t.least:
		limits[sending] += gap
	case before.ackedWithin(p.at, closely):
		limits[acks] += gap
	default:
		limits[pausing] += gap
	}
}

// ackedWithin reports whether an acknowledgement arrived within d before a time, since the newest
// packet.
func (i *idle) ackedWithin(at units.Time, d units.Duration) bool {
	return i.acked > i.sent && at.Sub(i.acked) <= d
}

// onAck notes an acknowledgement, of all that was outstanding or of a part.
func (i *idle) onAck(at units.Time, all bool) {
	i.acked = at
	if all {
		i.empty = max(at, i.sent)
	}
}

// onNAK notes a NAK. Sequence NAKs of what followed an RNR NAK do not hide it.
func (i *idle) onNAK(at units.Time, notReady bool) {
	i.notReady = notReady || i.notReady && i.nak != 0
	i.nak = at
}
