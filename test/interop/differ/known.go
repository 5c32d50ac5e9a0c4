package differ

import (
	"slices"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
)

// Known is a difference that is not an error of ours.
type Known struct {
	Name   string
	Reason string
	// Ends is set if the two responders are in different states afterwards, so that the rest of the
	// case cannot be compared.
	Ends bool
	is   func(d *Difference, p *Packet) bool
}

// known returns the entry that explains a difference, or nil.
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

// SetAside are the differences that setAside removes before the comparison.
var SetAside = []Known{
	{Name: "CNP", Reason: "rxe does not notify of congestion"},
	{
		Name:   "GRH of connected queue pairs",
		Reason: "rxe sets the GRH flag of every receive; only that of a datagram is in memory",
	},
}

// setAside removes CNPs, which it counts, and the GRH flags of connected queue pairs.
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

// congested reports whether one of the packets has an ECN mark.
func (d *Difference) congested() bool {
	return d.Packet() != nil &&
		slices.ContainsFunc(
			d.Case.Packets[d.From:d.At+1],
			func(p Packet) bool { return p.Spoilt[SpoilTOS]&wire.ECNMask == wire.ECNCE },
		)
}

// Differences are the known differences between responses.
var Differences = []Known{
	{
		Name: "malformed packet",
		Reason: "goroce drops a packet with inconsistent lengths before any other check; rxe " +
			"refuses or executes it",
		Ends: true,
		is: func(d *Difference, p *Packet) bool {
			return p.malformed() && len(d.Ours) == 0 && len(d.Theirs) > 0
		},
	},
	{
		Name: "duplicate without AckReq",
		Reason: "rxe acknowledges every duplicate SEND and WRITE, goroce only those with " +
			"AckReq, which are the ones that need a response",
		is: func(d *Difference, p *Packet) bool {
			return p.message() && !p.AckReq && ack(d.Theirs) && len(d.Ours) == 0
		},
	},
	{
		Name: "PSN of a repeated ACK",
		Reason: "rxe repeats its last ACK; goroce acknowledges everything that it has " +
			"executed, including READs and requests without AckReq; the PSN of rxe before its " +
			"first ACK is 0xffffff",
		is: func(d *Difference, p *Packet) bool {
			return p.message() && ack(d.Theirs) && ack(d.Ours) &&
				d.Theirs[0].MSN == d.Ours[0].MSN &&
				(d.Theirs[0].PSN < d.Ours[0].PSN || d.Theirs[0].absolute(d.Case) == wire.PSNMask)
		},
	},
	{
		Name: "MSN of a repeated response",
		Reason: "goroce repeats the response to a READ or atomic unchanged, rxe with the " +
			"newest MSN; requesters use the PSN",
		is: func(d *Difference, p *Packet) bool {
			return !p.message() && equalBut(d.Ours, d.Theirs, func(a *Response) { a.MSN = 0 }) &&
				d.Ours[0].MSN < d.Theirs[0].MSN
		},
	},
	{
		Name: "sequence NAK after an RNR NAK",
		Reason: "a packet after one that got an RNR NAK is out of sequence, which the " +
			"requester knows already: goroce drops it, rxe sends one NAK",
		is: func(d *Difference, _ *Packet) bool {
			n := len(d.Ours)
			return len(d.Theirs) == n+1 && slices.Equal(d.Theirs[:n], d.Ours) &&
				nak(d.Theirs[n:], wire.NakPSNSequence) &&
				d.NotReady == d.Theirs[n].PSN
		},
	},
	{
		Name: "duplicate READ of other memory",
		Reason: "a duplicate READ must request the same memory as the first one at its PSN; " +
			"rxe reads anything inside the first request's memory",
		is: func(d *Difference, p *Packet) bool {
			return p.Op == wire.RCReadRequest && len(d.Ours) == 0 && len(d.Theirs) > 0 &&
				d.Theirs[0].Op.Info().Kind == wire.ReadResponse
		},
	},
	{
		Name: "duplicate READ of a part",
		Reason: "goroce responds with a message of its own that begins with FIRST or ONLY, as " +
			"hfi1 and qib do; rxe continues the old one, unless its beginning is requested",
		is: func(d *Difference, p *Packet) bool {
			return p.Op == wire.RCReadRequest &&
				equalBut(d.Ours, d.Theirs, func(a *Response) {
					a.Op, a.Syndrome, a.MSN = 0, 0, 0
				}) &&
				d.Ours[0].Op.Info().First &&
				!d.Theirs[0].Op.Info().First
		},
	},
	{
		Name: "SEND longer than its receive",
		Reason: "an invalid request; rxe of Linux 6.1 treats the receive as malformed and " +
			"sends a remote operational error",
		Ends: true,
		is: func(d *Difference, p *Packet) bool {
			return p.kind() == wire.Send && nak(d.Ours, wire.NakInvalidRequest) &&
				nak(d.Theirs, wire.NakRemoteOperational)
		},
	},
	{
		Name: "length of a SEND's packet",
		Reason: "FIRST and MIDDLE must have the length of the path MTU, LAST must not be " +
			"empty, and no packet longer; rxe of Linux 6.1 does not check SENDs",
		Ends: true,
		is: func(d *Difference, p *Packet) bool {
			return p.kind() == wire.Send && p.misfits(d.Case) &&
				nak(d.Ours, wire.NakInvalidRequest) &&
				(ack(d.Theirs) || len(d.Theirs) == 0)
		},
	},
	{
		Name:   "invalid request without a receive",
		Reason: "two errors: goroce reports the invalid request, rxe the missing receive",
		Ends:   true,
		is: func(d *Difference, p *Packet) bool {
			wrong := p.kind() == wire.Send && p.misfits(d.Case) || p.invalid(d.Case)
			return wrong && nak(d.Ours, wire.NakInvalidRequest) && len(d.Theirs) == 1 &&
				d.Theirs[0].Syndrome.IsRNR()
		},
	},
	{
		Name: "position of a WRITE's packet",
		Reason: "FIRST and MIDDLE must have the length of the path MTU, and LAST or ONLY must " +
			"end the message; rxe checks only the remaining length",
		Ends: true,
		is: func(d *Difference, p *Packet) bool {
			return p.misplaced(d.Case) && nak(d.Ours, wire.NakInvalidRequest) &&
				(ack(d.Theirs) || len(d.Theirs) == 0)
		},
	},
	{
		Name: "SEND with invalidate of an ordinary region",
		Reason: "only a region that was registered for it may be invalidated; rxe of Linux " +
			"6.1 invalidates any region, and if it does not, sends no NAK",
		Ends: true,
		is: func(d *Difference, p *Packet) bool {
			return p.Op.Info().Inv && nak(d.Ours, wire.NakRemoteAccess) &&
				(ack(d.Theirs) || len(d.Theirs) == 0)
		},
	},
	{
		Name: "two errors at once",
		Reason: "the request is invalid and not permitted by its key, and the order of the " +
			"checks is free: goroce reports an invalid request, rxe a remote access error",
		is: func(d *Difference, p *Packet) bool {
			return p.invalid(d.Case) && nak(d.Ours, wire.NakInvalidRequest) &&
				nak(d.Theirs, wire.NakRemoteAccess)
		},
	},
	{
		Name: "more READs and atomics at once than max_dest_rd_atomic",
		Reason: "an invalid request; rxe does not count them, and responds to one after the " +
			"other",
		Ends: true,
		is: func(d *Difference, _ *Packet) bool {
			n := len(d.Ours)
			return d.At-d.From >= d.Case.Reads && n > 0 &&
				d.Ours[n-1].Syndrome == wire.NakSyndrome(wire.NakInvalidRequest)
		},
	},
	{
		Name: "READ overtaken by a later WRITE",
		Reason: "without a fence, the order of a READ and a later WRITE is free; goroce reads " +
			"memory when the response leaves, rxe when the request arrives",
		is: func(d *Difference, _ *Packet) bool {
			return d.At > d.From && equalBut(d.Ours, d.Theirs, func(a *Response) {
				if a.Op.Info().Kind == wire.ReadResponse {
					a.Sum = 0
				}
			})
		},
	},
	{
		Name:   "duplicate atomic without an original",
		Reason: "the PSN is that of a READ; rxe responds with memory that never held a result",
		is: func(d *Difference, p *Packet) bool {
			return p.Op.Info().AtomicETH && len(d.Ours) == 0 && len(d.Theirs) == 1 &&
				d.Theirs[0].Op == wire.RCAtomicAck
		},
	},
}

// Leftovers are the known differences between effects of packets other than responses.
var Leftovers = []Known{
	{
		Name: "receive in progress when the queue pair fails",
		Reason: "goroce completes it with the error or flushes it; rxe completes it with the " +
			"remote error that it sends to the requester",
		is: func(d *Difference, _ *Packet) bool {
			a, b := d.OurEffect, d.TheirEffect
			return a.State == transport.Errored && a.State == b.State && a.Memory == b.Memory &&
				slices.EqualFunc(a.Completions, b.Completions, sameOrFailed)
		},
	},
	{
		Name:   "malformed packet without a response",
		Reason: "as with a response; for UC, rxe also drops its message",
		Ends:   true,
		is: func(d *Difference, p *Packet) bool {
			return p != nil && p.malformed() && d.onlyTheirs() ||
				d.Case.Type == transport.UC && d.before((*Packet).malformed) && d.onlyOurs()
		},
	},
	{
		Name:   "length or position of a UC packet",
		Reason: "as for RC, it ends the message; rxe executes it",
		Ends:   true,
		is: func(d *Difference, p *Packet) bool {
			return p != nil && d.Case.Type == transport.UC &&
				(p.misfits(d.Case) || p.misplaced(d.Case)) &&
				d.onlyTheirs()
		},
	},
	{
		Name: "UC message after an incomplete one",
		Reason: "a FIRST or ONLY begins a message in any case; rxe drops it because of the " +
			"incomplete one, and after an incomplete WRITE all later ones",
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
		Reason: "goroce drops it, and the next one uses the receive; rxe of Linux 6.1 treats " +
			"the receive as malformed and fails the queue pair",
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

// onlyOurs reports whether a packet had an effect on goroce alone.
func (d *Difference) onlyOurs() bool {
	return d.OurEffect != nil && d.OurEffect.State == d.TheirEffect.State &&
		len(d.TheirEffect.Completions) == 0 &&
		d.Effects.TheirsOnly == 0
}

// onlyTheirs reports whether a packet had an effect on rxe alone.
func (d *Difference) onlyTheirs() bool {
	return d.OurEffect != nil && d.OurEffect.State == d.TheirEffect.State &&
		len(d.OurEffect.Completions) == 0 &&
		d.Effects.OursOnly == 0
}

// before reports whether one of the packets before the newest is of a kind.
func (d *Difference) before(kind func(*Packet) bool) bool {
	return slices.ContainsFunc(d.Case.Packets[:d.At], func(p Packet) bool { return kind(&p) })
}

// brokeOff reports whether an earlier message began while another was incomplete.
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

// begins reports whether a packet is the first of several of a message.
func (p *Packet) begins() bool { return p.Op.Info().First && !p.Op.Info().Last }

// sameOrFailed reports whether completions are equal, or both failed: ours with any error, that of
// rxe with a remote error.
func sameOrFailed(a, b Completion) bool {
	return a == b ||
		a.ID == b.ID && a.Status != transport.StatusSuccess &&
			b.Status >= transport.StatusRemInvReqErr &&
			b.Status <= transport.StatusRemOpErr
}

// equalBut reports whether responses are equal except for the fields that clear clears.
func equalBut(a, b []Response, clear func(*Response)) bool {
	return len(a) > 0 && slices.EqualFunc(a, b, func(x, y Response) bool {
		clear(&x)
		clear(&y)
		return x == y
	})
}

func (p *Packet) kind() wire.Kind { return p.Op.Info().Kind }

// message reports whether a packet belongs to a SEND or WRITE.
func (p *Packet) message() bool { return p.kind() == wire.Send || p.kind() == wire.Write }

// misfits reports whether the length of the payload is wrong for its position in the message.
func (p *Packet) misfits(c *Case) bool {
	info := p.Op.Info()
	n := p.Payload - int(p.Spoilt[SpoilCut]) - int(p.Spoilt[SpoilPad])
	return n > c.MTU || !info.Last && n != c.MTU || info.Last && !info.First && n <= 0
}

// misplaced reports whether a packet of a WRITE ends at another position than its opcode means,
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

// invalid reports whether a request with a key is invalid whatever the key permits.
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
