package differ

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
)

// Difference is a difference between the two responders in response to a packet, or several sent
// together, or in the final state.
type Difference struct {
	Case   *Case
	From   int // index of the first packet of several at once
	At     int // the newest packet's index; len(Packets): the end
	Ours   []Response
	Theirs []Response

	Effects                *Unlike // nil: not compared
	OurEffect, TheirEffect *Effect
	NotReady               int32 // PSN of the newest RNR NAK
}

// Packet returns the packet that caused the difference; nil for the final state.
func (d *Difference) Packet() *Packet {
	if d.At == len(d.Case.Packets) {
		return nil
	}
	return &d.Case.Packets[d.At]
}

// Result is the result of a case.
type Result struct {
	Case      *Case
	Packets   int            // sent to both
	Responses int            // that were equal
	Known     map[string]int // differences that are known, by name
	Unknown   *Difference    // nil unless the case failed
	Trace     []string       // log of packets and responses

	memory [regions][]byte // when it was last compared and equal
}

// Run runs a case on both responders. It returns an error if it cannot run.
func Run(ours, theirs Responder, c *Case) (*Result, error) {
	r := &Result{Case: c, Known: map[string]int{}}
	for _, x := range []Responder{ours, theirs} {
		if err := x.Open(c); err != nil {
			return r, fmt.Errorf("seed %d: open: %w", c.Seed, err)
		}
	}
	for region := range regions {
		r.memory[region] = make([]byte, regionSize)
		fill(region, r.memory[region])
	}
	if err := r.exchange(ours, theirs); err != nil {
		return r, err
	}
	return r, errors.Join(ours.Close(), theirs.Close())
}

// exchange sends the packets until nothing more can be compared. The state is compared only where
// responses do not show it, since a comparison takes an emulated guest longer than a packet.
func (r *Result) exchange(ours, theirs Responder) error {
	c, notReady := r.Case, int32(never)
	for i := 0; i <= len(c.Packets); i++ {
		d := &Difference{Case: c, From: i, NotReady: notReady}
		for i < len(c.Packets)-1 && c.Packets[i].Together {
			i++
		}
		d.At = i
		if err := r.send(d, ours, theirs); err != nil {
			return err
		}
		for _, a := range d.Ours {
			if a.Op == wire.RCAck && a.Syndrome.IsRNR() {
				notReady, d.NotReady = a.PSN, a.PSN
			}
		}
		if d.hidesEffect() {
			if err := d.look(&r.memory, ours, theirs); err != nil {
				return err
			}
		}
		if r.judge(d) {
			return nil
		}
	}
	return nil
}

// hidesEffect reports whether the responses do not show the effect: at the end, for services
// without responses, and if a mutated packet got no response.
func (d *Difference) hidesEffect() bool {
	p := d.Packet()
	return p == nil || d.Case.Type != transport.RC || p.What != "" && len(d.Ours)+len(d.Theirs) == 0
}

// send sends the packets of d to both.
func (r *Result) send(d *Difference, ours, theirs Responder) (err error) {
	c, p := r.Case, d.Packet()
	if p == nil {
		return nil
	}
	group := c.Packets[d.From : d.At+1]
	for i := range group {
		r.Trace = append(r.Trace, fmt.Sprintf("%3d %v", d.From+i, &group[i]))
	}
	if d.Theirs, err = theirs.Send(c, group); err != nil {
		return fmt.Errorf("seed %d, packet %d, %v: %w", c.Seed, d.At, p, err)
	}
	d.Ours, err = ours.Send(c, group)
	r.Packets += len(group)
	if len(group) > 1 {
		d.Ours, d.Theirs = coalesce(d.Ours), coalesce(d.Theirs)
	}
	return err
}

// coalesce removes ACKs: one ACK may cover several packets that arrive together, and which ones
// depends on timing.
func coalesce(responses []Response) []Response {
	return slices.DeleteFunc(
		responses,
		func(a Response) bool { return a.Op == wire.RCAck && a.Syndrome.IsAck() },
	)
}

// judge classifies a difference, if there is one, and reports whether the case is over.
func (r *Result) judge(d *Difference) (over bool) {
	r.setAside(d)
	r.note(d)
	same := slices.Equal(d.Ours, d.Theirs)
	if same {
		r.Responses += len(d.Ours)
	}
	if same && (d.OurEffect == nil || d.OurEffect.equal(d.TheirEffect)) {
		return false
	}
	k := d.known()
	if k == nil {
		r.Unknown = d
		return true
	}
	r.Known[k.Name]++
	r.Trace = append(r.Trace, "      known: "+k.Name)
	return k.Ends
}

// look compares the effects of the packets since memory was as in before.
func (d *Difference) look(before *[regions][]byte, ours, theirs Responder) (err error) {
	if d.OurEffect, err = ours.Look(d.Case); err != nil {
		return err
	}
	if d.TheirEffect, err = theirs.Look(d.Case); err != nil {
		return err
	}
	d.Effects = &Unlike{}
	for region := range regions {
		x, err := ours.Dump(region)
		if err != nil {
			return err
		}
		if d.OurEffect.Memory[region] == d.TheirEffect.Memory[region] {
			copy(before[region], x)
			continue
		}
		y, err := theirs.Dump(region)
		if err != nil {
			return err
		}
		d.Effects.compare(region, before[region], x, y)
	}
	return nil
}

// Unlike counts bytes of memory that differ, by who wrote them.
type Unlike struct {
	OursOnly, TheirsOnly, Both int
	First                      string // where
}

func (u *Unlike) compare(region int, before, ours, theirs []byte) {
	for i := range ours {
		switch {
		case ours[i] == theirs[i]:
			continue
		case ours[i] == before[i]:
			u.TheirsOnly++
		case theirs[i] == before[i]:
			u.OursOnly++
		default:
			u.Both++
		}
		if u.First == "" {
			u.First = fmt.Sprintf(
				"region %d at %d: %#x in goroce, %#x in rxe",
				region,
				i,
				ours[i],
				theirs[i],
			)
		}
	}
}

// never is not a PSN.
const never = math.MinInt32

// note adds the responses to a packet, and the final state, to the trace.
func (r *Result) note(d *Difference) {
	if d.Packet() != nil {
		if slices.Equal(d.Ours, d.Theirs) {
			r.Trace = append(r.Trace, "      both: "+list(d.Ours))
		} else {
			r.Trace = append(r.Trace, "      rxe: "+list(d.Theirs), "      goroce: "+list(d.Ours))
		}
	}
	if a, b := d.OurEffect, d.TheirEffect; a != nil && !a.equal(b) {
		r.Trace = append(
			r.Trace,
			fmt.Sprintf("    then rxe: %v %v", b, b.Completions),
			fmt.Sprintf("    then goroce: %v %v", a, a.Completions),
		)
		if *d.Effects != (Unlike{}) {
			r.Trace = append(r.Trace, fmt.Sprintf("      memory: %+v", *d.Effects))
		}
	}
}

func list(responses []Response) string {
	if len(responses) == 0 {
		return "silence"
	}
	words := make([]string, len(responses))
	for i, a := range responses {
		words[i] = a.String()
	}
	return strings.Join(words, "; ")
}
