package differ

import (
	"slices"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
)

// Known is a difference that is no fault of ours.
type Known struct {
	Name   string
	Reason string
	// Ends says that the two responders are in different states from then on, so that the rest of
	// the case cannot be compared.
	Ends bool
	is   func(d *Difference, p *Packet) bool
}

// known finds the entry that explains a difference.
func (d *Difference) known() *Known {
	table := Differences
	if slices.Equal(d.Ours, d.Theirs) {
		table = Leftovers
	}
	for i := range table {
		if table[i].is(d, d.Packet()) {
			return &table[i]
		}
	}
	return nil
}

// SetAside are those that are taken out before anything is compared (setAside).
var SetAside = []Known{
	{Name: "CNP", Reason: "rxe does not notify of congestion"},
	{
		Name:   "GRH of connected queue pairs",
		Reason: "rxe says of every receive that a GRH came with it; only a datagram's is in memory",
	},
}

// setAside forgets them, and counts the CNPs.
func (r *Result) setAside(d *Difference) {
	if len(d.Ours) > 0 && d.Ours[0].Op == wire.CNP && d.congested() {
		d.Ours = d.Ours[1:]
		r.Known[SetAside[0].Name]++
	}
	if d.TheirEffect == nil || d.Case.Type == transport.UD {
		return
	}
	for i := range d.TheirEffect.Completions {
		w := &d.TheirEffect.Completions[i]
		w.Flags &^= withGRH
		w.SrcQP = 0
	}
}

// statusLocQPOpErr is IBV_WC_LOC_QP_OP_ERR, which goroce never reports.
const statusLocQPOpErr transport.Status = 2

// congested reports whether one of the packets carries a mark.
func (d *Difference) congested() bool {
	return d.Packet() != nil &&
		slices.ContainsFunc(
			d.Case.Packets[d.From:d.At+1],
			func(p Packet) bool { return p.Spoilt[SpoilTOS]&wire.ECNMask == wire.ECNCE },
		)
}

// Differences are all that are known in answers to packets.
var Differences = []Known{
	{
		Name: "malformed packet",
		Reason: "a packet whose lengths are no packet's is dropped before anything else is " +
			"looked at; rxe refuses or executes it",
		Ends: true,
		is: func(d *Difference, p *Packet) bool {
			return p.malformed() && len(d.Ours) == 0 && len(d.Theirs) > 0
		},
	},
	{
		Name: "duplicate without AckReq",
		Reason: "rxe acknowledges every duplicate SEND and WRITE, goroce those that ask for " +
			"it: the one that has to be answered carries AckReq",
		is: func(d *Difference, p *Packet) bool {
			return p.message() && !p.AckReq && ack(d.Theirs) && len(d.Ours) == 0
		},
	},
	{
		Name: "PSN of a repeated ACK",
		Reason: "rxe repeats its last ACK, goroce acknowledges all that it has executed, READs " +
			"and what asked for no ACK included: before its first, rxe says PSN 0xffffff",
		is: func(d *Difference, p *Packet) bool {
			return p.message() && ack(d.Theirs) && ack(d.Ours) &&
				d.Theirs[0].MSN == d.Ours[0].MSN &&
				(d.Theirs[0].PSN < d.Ours[0].PSN || d.Theirs[0].absolute(d.Case) == wire.PSNMask)
		},
	},
	{
		Name: "MSN of a repeated response",
		Reason: "of a duplicate READ or atomic goroce repeats the response as it was, rxe has " +
			"the newest MSN in it; requesters go by the PSN",
		is: func(d *Difference, p *Packet) bool {
			return !p.message() && equalBut(d.Ours, d.Theirs, func(a *Answer) { a.MSN = 0 }) &&
				d.Ours[0].MSN < d.Theirs[0].MSN
		},
	},
	{
		Name: "sequence NAK behind an RNR NAK",
		Reason: "a packet behind one that was answered with an RNR NAK is out of sequence, " +
			"and the requester knows: goroce drops it, rxe says so once",
		is: func(d *Difference, _ *Packet) bool {
			n := len(d.Ours)
			return len(d.Theirs) == n+1 && slices.Equal(d.Theirs[:n], d.Ours) &&
				nak(d.Theirs[n:], wire.NakPSNSequence) &&
				d.NotReady == d.Theirs[n].PSN
		},
	},
	{
		Name: "duplicate READ of other memory",
		Reason: "a duplicate READ has to ask for what the PSN stood for; rxe reads anything " +
			"inside the first request's memory",
		is: func(d *Difference, p *Packet) bool {
			return p.Op == wire.RCReadRequest && len(d.Ours) == 0 && len(d.Theirs) > 0 &&
				d.Theirs[0].Op.Info().Kind == wire.ReadResponse
		},
	},
	{
		Name: "duplicate READ of a part",
		Reason: "the response to the duplicate is one of its own, from FIRST or ONLY on, as hfi1 " +
			"and qib have it; rxe goes on in the old one unless asked for its beginning",
		is: func(d *Difference, p *Packet) bool {
			return p.Op == wire.RCReadRequest &&
				equalBut(d.Ours, d.Theirs, func(a *Answer) { a.Op, a.Syndrome, a.MSN = 0, 0, 0 }) &&
				d.Ours[0].Op.Info().First &&
				!d.Theirs[0].Op.Info().First
		},
	},
	{
		Name: "SEND longer than its receive",
		Reason: "an invalid request; rxe of Linux 6.1 takes the receive for malformed and " +
			"says remote operational error",
		Ends: true,
		is: func(d *Difference, p *Packet) bool {
			return p.kind() == wire.Send && nak(d.Ours, wire.NakInvalidRequest) &&
				nak(d.Theirs, wire.NakRemoteOperational)
		},
	},
	{
		Name: "length of a SEND's packet",
		Reason: "FIRST and MIDDLE have to be of the path MTU, LAST not empty, none longer; " +
			"rxe of Linux 6.1 does not check SENDs",
		Ends: true,
		is: func(d *Difference, p *Packet) bool {
			return p.kind() == wire.Send && p.misfits(d.Case) &&
				nak(d.Ours, wire.NakInvalidRequest) &&
				(ack(d.Theirs) || len(d.Theirs) == 0)
		},
	},
	{
		Name: "wrong request, and no receive for it",
		Reason: "two faults: goroce says what is wrong with the request, rxe that nothing can be " +
			"received",
		Ends: true,
		is: func(d *Difference, p *Packet) bool {
			wrong := p.kind() == wire.Send && p.misfits(d.Case) || p.invalid(d.Case)
			return wrong && nak(d.Ours, wire.NakInvalidRequest) && len(d.Theirs) == 1 &&
				d.Theirs[0].Syndrome.IsRNR()
		},
	},
	{
		Name: "place of a WRITE's packet",
		Reason: "FIRST and MIDDLE have to be of the path MTU, and LAST or ONLY to end the " +
			"message; rxe looks only at what is left of it",
		Ends: true,
		is: func(d *Difference, p *Packet) bool {
			return p.misplaced(d.Case) && nak(d.Ours, wire.NakInvalidRequest) &&
				(ack(d.Theirs) || len(d.Theirs) == 0)
		},
	},
	{
		Name: "SEND with invalidate of an ordinary region",
		Reason: "only what was registered for it may be invalidated; rxe of Linux 6.1 " +
			"invalidates any region, and where it does not, sends no NAK",
		Ends: true,
		is: func(d *Difference, p *Packet) bool {
			return p.Op.Info().Inv && nak(d.Ours, wire.NakRemoteAccess) &&
				(ack(d.Theirs) || len(d.Theirs) == 0)
		},
	},
	{
		Name: "two faults at once",
		Reason: "the request is invalid in itself and not allowed by its key, too, and which " +
			"is found first is free: goroce says invalid request, rxe remote access error",
		is: func(d *Difference, p *Packet) bool {
			return p.invalid(d.Case) && nak(d.Ours, wire.NakInvalidRequest) &&
				nak(d.Theirs, wire.NakRemoteAccess)
		},
	},
	{
		Name:   "more READs and atomics at once than max_dest_rd_atomic",
		Reason: "an invalid request; rxe answers one after the other, and does not count",
		Ends:   true,
		is: func(d *Difference, _ *Packet) bool {
			n := len(d.Ours)
			return d.At-d.From >= d.Case.Reads && n > 0 &&
				d.Ours[n-1].Syndrome == wire.NakSyndrome(wire.NakInvalidRequest)
		},
	},
	{
		Name: "READ that a WRITE behind it overtakes",
		Reason: "of a READ and a WRITE without a fence the order is free; goroce reads when " +
			"the response leaves, rxe when the request comes",
		is: func(d *Difference, _ *Packet) bool {
			return d.At > d.From && equalBut(d.Ours, d.Theirs, func(a *Answer) {
				if a.Op.Info().Kind == wire.ReadResponse {
					a.Sum = 0
				}
			})
		},
	},
	{
		Name: "duplicate atomic that never was",
		Reason: "the PSN is that of a READ; rxe answers with memory of its own that never " +
			"held a result",
		is: func(d *Difference, p *Packet) bool {
			return p.Op.Info().AtomicETH && len(d.Ours) == 0 && len(d.Theirs) == 1 &&
				d.Theirs[0].Op == wire.RCAtomicAck
		},
	},
}

// Leftovers are all that are known in what packets did beside being answered.
var Leftovers = []Known{
	{
		Name: "receive that was begun when the queue pair failed",
		Reason: "goroce says what was wrong with it, or flushes it; rxe says what the " +
			"requester is told, a remote error of its own peer",
		is: func(d *Difference, _ *Packet) bool {
			a, b := d.OurEffect, d.TheirEffect
			return a.State == transport.Errored && a.State == b.State && a.Memory == b.Memory &&
				slices.EqualFunc(a.Completions, b.Completions, sameOrFailed)
		},
	},
	{
		Name:   "malformed packet that got no answer",
		Reason: "as with an answer; of UC rxe drops the message with it",
		Ends:   true,
		is: func(d *Difference, p *Packet) bool {
			return p != nil && p.malformed() && d.onlyTheirs() ||
				d.Case.Type == transport.UC && d.before((*Packet).malformed) && d.onlyOurs()
		},
	},
	{
		Name:   "length or place of a packet of UC",
		Reason: "as of RC: it ends the message; rxe executes it",
		Ends:   true,
		is: func(d *Difference, p *Packet) bool {
			return p != nil && d.Case.Type == transport.UC &&
				(p.misfits(d.Case) || p.misplaced(d.Case)) &&
				d.onlyTheirs()
		},
	},
	{
		Name: "UC message behind one that broke off",
		Reason: "a FIRST or ONLY begins a message whatever came before; rxe drops it for the " +
			"one that broke off, and behind a WRITE all that follow",
		Ends: true,
		is: func(d *Difference, p *Packet) bool {
			if p == nil || d.Case.Type != transport.UC {
				return false
			}
			if p.Op.Info().First {
				return d.before((*Packet).begins) && d.onlyOurs()
			}
			return d.brokeOff() && (d.onlyOurs() || d.onlyTheirs())
		},
	},
	{
		Name: "datagram or UC SEND longer than its receive",
		Reason: "dropped, and the receive serves the next one; rxe of Linux 6.1 takes the " +
			"receive for malformed and fails the queue pair",
		Ends: true,
		is: func(d *Difference, p *Packet) bool {
			return p != nil && p.kind() == wire.Send && d.Case.Type != transport.RC &&
				d.OurEffect.State == transport.ReadyToSend &&
				len(d.OurEffect.Completions) == 0 &&
				d.TheirEffect.State == transport.Errored &&
				d.TheirEffect.Completions[0].Status == statusLocQPOpErr
		},
	},
}

// onlyOurs reports whether a packet did something to goroce alone, onlyTheirs to rxe alone.
func (d *Difference) onlyOurs() bool {
	return d.OurEffect != nil && d.OurEffect.State == d.TheirEffect.State &&
		len(d.TheirEffect.Completions) == 0 &&
		d.Effects.TheirsOnly == 0
}

func (d *Difference) onlyTheirs() bool {
	return d.OurEffect != nil && d.OurEffect.State == d.TheirEffect.State &&
		len(d.OurEffect.Completions) == 0 &&
		d.Effects.OursOnly == 0
}

// before reports whether one of the packets before the newest is of a kind.
func (d *Difference) before(kind func(*Packet) bool) bool {
	return slices.ContainsFunc(d.Case.Packets[:d.At], func(p Packet) bool { return kind(&p) })
}

// brokeOff reports whether a message began before, while another went on.
func (d *Difference) brokeOff() bool {
	inside := false
	for i := range d.Case.Packets[:d.At] {
		info := d.Case.Packets[i].Op.Info()
		if info.First && inside {
			return true
		}
		inside = !info.Last && (inside || info.First)
	}
	return false
}

// begins reports whether a message of several packets begins.
func (p *Packet) begins() bool { return p.Op.Info().First && !p.Op.Info().Last }

// sameOrFailed compares completions of a receive queue that failed.
func sameOrFailed(a, b Completion) bool {
	return a == b ||
		a.ID == b.ID && a.Status != transport.StatusSuccess &&
			b.Status >= transport.StatusRemInvReqErr &&
			b.Status <= transport.StatusRemOpErr
}

// equalBut compares answers without what clear clears.
func equalBut(a, b []Answer, clear func(*Answer)) bool {
	return len(a) > 0 && slices.EqualFunc(a, b, func(x, y Answer) bool {
		clear(&x)
		clear(&y)
		return x == y
	})
}

func (p *Packet) kind() wire.Kind { return p.Op.Info().Kind }

// message reports whether a packet is of a SEND or WRITE.
func (p *Packet) message() bool { return p.kind() == wire.Send || p.kind() == wire.Write }

// misfits reports whether the payload has not the length that its place in the message asks for.
func (p *Packet) misfits(c *Case) bool {
	info := p.Op.Info()
	n := p.Payload - int(p.Spoilt[SpoilCut]) - int(p.Spoilt[SpoilPad])
	return n > c.MTU || !info.Last && n != c.MTU || info.Last && !info.First && n <= 0
}

// misplaced reports whether a packet of a WRITE is none of those that end where their message does,
// although its payload may be what rxe expects next.
func (p *Packet) misplaced(c *Case) bool {
	if p.Op.Info().Last {
		return p.kind() == wire.Write && p.Payload == c.MTU
	}
	return p.kind() == wire.Write && (p.misfits(c) || int(p.Length) <= c.MTU)
}

// malformed reports whether the lengths in a packet contradict each other or the opcode.
func (p *Packet) malformed() bool {
	return p.has(SpoilCut) || p.has(SpoilPad) || p.has(SpoilUDPLen) ||
		!p.Op.Info().Payload && p.Payload > 0
}

// invalid reports whether a request with a key is wrong whatever the key allows.
func (p *Packet) invalid(c *Case) bool {
	const longest = 1 << 31
	info := p.Op.Info()
	switch {
	case info.AtomicETH:
		return p.Offset%8 != 0
	case info.RETH && p.Length > longest:
		return true
	case p.kind() == wire.Write && info.RETH:
		return p.misfits(c) || info.Last != (p.Length == uint32(p.Payload))
	}
	return false
}
