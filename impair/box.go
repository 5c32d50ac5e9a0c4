package impair

import (
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// Box forwards between two ports. It belongs to one goroutine.
type Box struct {
	rules      *Rules
	ports      [2]packet.Port
	directions [2]*direction // by the port at which frames arrive
	bufs       [packet.Burst]packet.Buf
}

// New returns a box between port a and port b.
func New(r *Rules, a, b packet.Port) *Box {
	x := &Box{rules: r, ports: [2]packet.Port{a, b}}
	for i, from := range []string{"a", "b"} {
		x.directions[i] = newDirection(r, from, uint64(i))
	}
	x.directions[0].other, x.directions[1].other = x.directions[1], x.directions[0]
	return x
}

// Poll forwards what has arrived and what is due. It returns the number of frames that arrived or
// left, and when something that is held is due; 0 means that nothing is.
func (x *Box) Poll(now units.Time) (frames int, next units.Time) {
	for i, d := range x.directions {
		n := x.ports[i].Recv(x.bufs[:])
		for k := range n {
			d.pass(x.bufs[k].Data(), now)
		}
		if n > 0 {
			x.ports[i].Free(x.bufs[:n])
		}
		frames += n
	}
	for i, d := range x.directions {
		frames += x.send(d, x.ports[1-i], now)
		if at := d.held.deadline(); at != 0 && (next == 0 || at.Before(next)) {
			next = at
		}
	}
	return frames, next
}

// send sends what is due of a direction.
func (x *Box) send(d *direction, to packet.Port, now units.Time) (sent int) {
	for {
		data, due := d.held.next(now)
		if !due {
			return sent
		}
		one := x.bufs[:1]
		if to.Alloc(one) == 0 {
			d.counts.PortFull++
			return sent
		}
		if len(one[0].Room()) < len(data) {
			to.Free(one)
			d.held.remove()
			d.counts.NoRoom++
			continue
		}
		one[0].SetLen(copy(one[0].Room(), data))
		if to.Send(packet.ClassData, one) == 0 {
			to.Free(one)
			d.counts.PortFull++
			return sent
		}
		d.held.remove()
		d.counts.Sent++
		sent++
	}
}

// Report is what a box did.
type Report struct {
	Seed  uint64       `json:"seed"`
	A     Counts       `json:"from_a"` // what arrived at port a
	B     Counts       `json:"from_b"`
	Rules []RuleReport `json:"rules"`
}

// RuleReport is what a rule did, in both directions.
type RuleReport struct {
	Name    string `json:"name"`
	Action  string `json:"action"`
	Line    int    `json:"line"`
	Matched uint64 `json:"matched"` // by from, op, qp and psn
	Applied uint64 `json:"applied"`
}

// Report returns what the box has done so far.
func (x *Box) Report() Report {
	r := Report{Seed: x.rules.Seed, A: x.directions[0].counts, B: x.directions[1].counts,
		Rules: []RuleReport{}}
	for i := range x.rules.Rules {
		rule := &x.rules.Rules[i]
		line := RuleReport{Name: rule.Name, Action: rule.action.String(), Line: rule.line}
		for _, d := range x.directions {
			for _, s := range d.rules {
				if s.Rule == rule {
					line.Matched += s.matched
					line.Applied += s.applied
				}
			}
		}
		r.Rules = append(r.Rules, line)
	}
	return r
}
