package fabric

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// LinkFaults are probabilities of what happens to each frame that one direction of a link carries.
// At most one thing happens to a frame; the sum is at most 1.
type LinkFaults struct {
	Lose      float64
	Duplicate float64
	Reorder   float64 // held back for up to ReorderBy, while others pass
	Corrupt   float64 // one bit after the Ethernet header
	Spike     float64 // held back for SpikeBy, others behind it

	ReorderBy units.Duration // 0 means 10 µs
	SpikeBy   units.Duration // 0 means 100 µs

	// Burst, when its probabilities are not 0, loses frames in bursts besides.
	Burst GilbertElliott
}

// GilbertElliott is the loss of a channel that is good or bad (Gilbert 1960, Elliott 1963): with
// each frame it turns bad or good with these probabilities, and loses as its state has it.
type GilbertElliott struct {
	ToBad, ToGood     float64
	LoseGood, LoseBad float64
}

// Validate says what is impossible.
func (l *LinkFaults) Validate() error {
	sum := 0.0
	for _, p := range []float64{l.Lose, l.Duplicate, l.Reorder, l.Corrupt, l.Spike} {
		if !(p >= 0 && p <= 1) {
			return fmt.Errorf("fabric: faults: a probability of %v is not in 0..1", p)
		}
		sum += p
	}
	if sum > 1+1e-9 {
		return fmt.Errorf("fabric: faults: probabilities %+v add up to %v, more than 1", *l, sum)
	}
	for _, p := range []float64{l.Burst.ToBad, l.Burst.ToGood, l.Burst.LoseGood, l.Burst.LoseBad} {
		if !(p >= 0 && p <= 1) {
			return fmt.Errorf(
				"fabric: faults: a probability of %v in the burst model is not in 0..1", p)
		}
	}
	if l.ReorderBy < 0 || l.SpikeBy < 0 {
		return fmt.Errorf("fabric: faults: delays %v and %v must not be negative", l.ReorderBy,
			l.SpikeBy)
	}
	return nil
}

// FaultStats counts what faults did to the frames of one direction of a link.
type FaultStats struct{ Lost, Duplicated, Reordered, Corrupted, Spiked, Down uint64 }

// linkFaults are the faults of one direction at work.
type linkFaults struct {
	LinkFaults
	rng    *rand.Rand // its own: other links' frames do not change what happens here
	down   bool
	bad    bool
	behind units.Time // no frame passes before: a spike is on, or was
	stats  FaultStats
}

func (p *Port) spoil() *linkFaults {
	if p.faults == nil {
		p.faults = &linkFaults{behind: -1,
			rng: rand.New(rand.NewPCG(p.net.config.Seed, 0x6661756c74<<24|uint64(p.id)))}
	}
	return p.faults
}

// SetFaults begins to spoil what this port sends; the zero value stops it.
func (p *Port) SetFaults(l LinkFaults) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if l.ReorderBy == 0 {
		l.ReorderBy = 10 * units.Microsecond
	}
	if l.SpikeBy == 0 {
		l.SpikeBy = 100 * units.Microsecond
	}
	p.spoil().LinkFaults = l
	return nil
}

// FaultStats answers what faults did to what this port sent.
func (p *Port) FaultStats() FaultStats {
	if p.faults == nil {
		return FaultStats{}
	}
	return p.faults.stats
}

// SetDown takes the link down or up, in both directions: what is on it, and what is sent into it,
// is lost. Switches choose other ways where they have some.
func (p *Port) SetDown(down bool) {
	p.spoil().down = down
	p.peer.spoil().down = down
}

// Storm makes the port's owner pause its peer without reason, as a broken NIC does, until it is
// called with false.
func (p *Port) Storm(prio int, on bool) {
	if on {
		p.storm |= 1 << prio
		p.ask(uint8(prio))
	} else {
		p.storm &^= 1 << prio
		p.resume(uint8(prio))
	}
}

// Stop ends the host: what it holds is lost, what arrives is dropped. Run starts it again, with a
// new poller or the old.
func (h *Host) Stop() {
	h.poller = nil
	h.nic.clear()
}

// pass decides about a frame at the end of the link; false means that it is not to be handed on.
func (l *linkFaults) pass(p *Port, f *frame) bool {
	n := p.net
	if l.down {
		l.stats.Down++
		p.lose(f)
		return false
	}
	if f.pause {
		return true
	}
	u := 2.0
	if l.Lose+l.Duplicate+l.Reorder+l.Corrupt+l.Spike > 0 {
		u = l.rng.Float64()
	}
	if b := &l.Burst; b.ToBad > 0 || b.LoseGood > 0 || l.bad {
		turn, lose := b.ToBad, b.LoseGood
		if l.bad {
			turn, lose = b.ToGood, b.LoseBad
		}
		lost := l.rng.Float64() < lose
		if l.rng.Float64() < turn {
			l.bad = !l.bad
		}
		if lost {
			l.stats.Lost++
			p.lose(f)
			return false
		}
	}
	late := units.Duration(0)
	switch {
	case take(&u, l.Lose):
		l.stats.Lost++
		p.lose(f)
		return false
	case take(&u, l.Duplicate):
		l.stats.Duplicated++
		double := n.copyOf(f)
		n.call(n.now, func() { n.hand(p, double) })
	case take(&u, l.Reorder):
		l.stats.Reordered++
		late = 1 + units.Duration(l.rng.Int64N(int64(l.ReorderBy)))
	case take(&u, l.Corrupt):
		l.stats.Corrupted++
		f.flip(l.rng.Uint64())
	case take(&u, l.Spike):
		l.stats.Spiked++
		l.behind = n.now.Add(l.SpikeBy)
	}
	at := n.now.Add(late)
	if late == 0 {
		if l.behind.Before(n.now) {
			return true
		}
		at = l.behind // where those before it wait, too
	}
	n.call(at, func() { n.hand(p, f) })
	return false
}

// take says whether u falls into the next share of the unit interval, and moves on.
func take(u *float64, share float64) bool {
	if *u < share {
		*u = 2
		return true
	}
	*u -= share
	return false
}

// lose ends a frame on the wire.
func (p *Port) lose(f *frame) {
	p.stats.Lost++
	if f.pause {
		p.net.release(f)
	} else {
		p.net.drop(f)
	}
}

// copyOf doubles a frame on its way.
func (n *Network) copyOf(f *frame) *frame {
	d := n.newFrame(f.owner)
	if d.owner != nil {
		d.owner.held++
	}
	mem, id := d.mem, d.id
	copy(mem, f.mem[:f.len])
	*d = *f
	d.mem, d.id, d.next, d.from = mem, id, nil, nil
	n.copied++
	return d
}

// flip changes one bit behind the Ethernet header, chosen by r.
func (f *frame) flip(r uint64) {
	const header = 14
	if f.len <= header {
		return
	}
	bit := r % uint64(8*(f.len-header))
	f.mem[header+bit/8] ^= 1 << (bit % 8)
}
