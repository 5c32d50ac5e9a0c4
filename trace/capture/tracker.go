package capture

import (
	"github.com/goroce/goroce/trace/analysis"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// tracker follows the requests to one queue pair, and the responses to them.
type tracker struct {
	flow     *analysis.Flow
	reliable bool
	paired   bool

	una, next wire.PSN // oldest not acknowledged, one past the newest
	waiting   []outstanding
	flight    units.Bytes
	mtu       units.Bytes // the longest payload

	response wire.PSN // the newest response, of a READ
	responds bool     // response is set

	idle
}

// maxWaiting bounds the packets that wait for an acknowledgement: a capture may have none.
const maxWaiting = 1 << 15

// hasOutstanding reports whether psn has been sent and not been acknowledged.
func (t *tracker) hasOutstanding(psn wire.PSN) bool {
	return !psn.Before(t.una) && psn.Before(t.next)
}

// request adds a packet of the sender.
func (t *tracker) request(p *packet) {
	f := t.flow
	f.Packets++
	f.Payload += p.payload
	n := uint32(1)
	if p.info.Kind == wire.Read {
		n = t.packetsFor(p.length)
	}
	t.mtu = max(t.mtu, p.payload)
	end, again := p.psn.Add(n), p.psn.Before(t.next)
	t.sentAt(p, again)
	at := f.Relative(uint32(p.psn))
	f.Sequence.Add(p.at, at)
	if p.ce {
		f.Marks++
		f.Marked.Add(p.at, 1)
	}
	switch {
	case again:
		f.Retransmitted++
		f.Again.Add(p.at, at)
		if len(t.waiting) > 0 && p.psn == t.waiting[len(t.waiting)-1].psn && t.nak == 0 {
			f.Duplicates++ // the newest packet once more, though nothing was refused
		}
		for i := range t.waiting {
			if !t.waiting[i].psn.Before(p.psn) { // no sample (Karn's algorithm), or go-back-N
				t.waiting[i].again = true
			}
		}
	case p.psn != t.next:
		f.Gaps++
		f.Missing.Add(p.at, f.Relative(uint32(t.next)))
	}
	if end.After(t.next) {
		t.next = end
	}
	if !t.reliable {
		t.una = t.next
		f.Deliver(p.at, p.payload)
		return
	}
	if !again && len(t.waiting) < maxWaiting {
		t.waiting = append(t.waiting, outstanding{end.Add(wire.PSNMask), p.at, p.payload, false})
		t.flight += p.payload
	}
	f.Flight.Add(p.at, float64(t.flight))
}

// packetsFor returns how many responses a READ asks for, as far as the path MTU is known.
func (t *tracker) packetsFor(length units.Bytes) uint32 {
	if t.mtu == 0 {
		return 1
	}
	return uint32(max(1, (length+t.mtu-1)/t.mtu))
}

// reply adds an ACK, NAK or response to the sender.
func (t *tracker) reply(p *packet) {
	f := t.flow
	f.Last = max(f.Last, p.at)
	if !p.isAck() {
		t.respond(p)
		return
	}
	switch s := p.syndrome; {
	case s.IsAck():
		t.acknowledge(p.psn.Add(1), p.at)
	case s.IsRNR():
		f.RNRs++
		t.refused(p, true)
	case s.Code() == wire.NakPSNSequence:
		f.NAKs++
		t.refused(p, false)
	default:
		f.FatalNAKs++
		t.refused(p, false)
	}
}

// refused handles a NAK, which acknowledges what is before its packet.
func (t *tracker) refused(p *packet, notReady bool) {
	t.acknowledge(p.psn, p.at)
	t.onNAK(p.at, notReady)
	t.flow.Missing.Add(p.at, t.flow.Relative(uint32(p.psn)))
}

// respond handles a response of a READ or atomic, which acknowledges all before it.
func (t *tracker) respond(p *packet) {
	f := t.flow
	f.Responses++
	t.mtu = max(t.mtu, p.payload)
	switch {
	case t.responds && p.psn == t.response:
		f.Duplicates++
	case t.responds && !p.info.First && p.psn.After(t.response.Add(1)):
		f.Gaps++
		f.Missing.Add(p.at, f.Relative(uint32(t.response.Add(1))))
	}
	if p.ce {
		f.Marks++
		f.Marked.Add(p.at, 1)
	}
	if !t.responds || p.psn.After(t.response) {
		f.Deliver(p.at, p.payload)
		t.response, t.responds = p.psn, true
	}
	if p.psn.After(t.next) { // of a READ whose length in packets was not known
		t.next = p.psn.Add(1)
	}
	t.acknowledge(p.psn.Add(1), p.at)
}

// acknowledge handles that everything before end is acknowledged.
func (t *tracker) acknowledge(end wire.PSN, at units.Time) {
	if !end.After(t.una) {
		return
	}
	f, n, delivered := t.flow, 0, units.Bytes(0)
	for ; n < len(t.waiting) && t.waiting[n].psn.Before(end); n++ {
		w := &t.waiting[n]
		delivered += w.bytes
		if w.psn.Add(1) == end && !w.again {
			f.AddRTT(at, at.Sub(w.at))
		}
	}
	t.waiting = t.waiting[:copy(t.waiting, t.waiting[n:])]
	t.una = end
	t.flight -= delivered
	f.Deliver(at, delivered)
	f.Flight.Add(at, float64(t.flight))
	t.onAck(at, len(t.waiting) == 0)
}
