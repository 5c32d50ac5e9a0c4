package fabric

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// LinkFaults are the probabilities of faults for each frame of one direction of a link. At most one
// of the first five happens to a frame, so their sum is at most 1.
type LinkFaults struct {
	Lose      float64
	Duplicate float64
	Reorder   float64 // delayed by up to ReorderBy while others pass
	Corrupt   float64 // one bit inverted after the Ethernet header
	Spike     float64 // delayed by SpikeBy, with all frames behind it

	ReorderBy units.Duration // 0 means 10 µs
	SpikeBy   units.Duration // 0 means 100 µs

	// Burst adds losses in bursts if its probabilities are not 0.
	Burst GilbertElliott
}

// GilbertElliott is the loss model of a channel with a good and a bad state (Gilbert 1960, Elliott
// 1963). At each frame the state changes with probability ToBad or ToGood, and the frame is lost
// with the state's probability.
type GilbertElliott struct {
	ToBad, ToGood     float64
	LoseGood, LoseBad float64
}

// Validate returns an error if a probability or delay is out of range.
func (l *LinkFaults) Validate() error {
	sum := 0.0
	for _, p := range []float64{l.Lose, l.Duplicate, l.Reorder, l.Corrupt, l.Spike} {
		if !(p >= 0 && p <= 1) {
			return fmt.Errorf("fabric: faults: probability %v out of range [0, 1]", p)
		}
		sum += p
	}
	if sum > 1+1e-9 {
		return fmt.Errorf("fabric: faults: probabilities %+v sum to %v, want at most 1", *l, sum)
	}
	for _, p := range []float64{l.Burst.ToBad, l.Burst.ToGood, l.Burst.LoseGood, l.Burst.LoseBad} {
		if !(p >= 0 && p <= 1) {
			return fmt.Errorf(
				"fabric: faults: probability %v of the burst model out of range [0, 1]", p)
		}
	}
	if l.ReorderBy < 0 || l.SpikeBy < 0 {
		return fmt.Errorf("fabric: faults: delays %v and %v: want none negative", l.ReorderBy,
			l.SpikeBy)
	}
	return nil
}

// FaultStats counts the faults of one direction of a link.
type FaultStats struct{ Lost, Duplicated, Reordered, Corrupted, Spiked, Down uint64 }

// linkFaults is the fault state of one direction of a link.
type linkFaults struct {
	LinkFaults
	rng    *rand.Rand // one per direction, so that links do not affect each other's faults
	down   bool
	bad    bool
	behind units.Time // end of the last delay spike; no frame passes before
	stats  FaultStats
}

func (p *Port) faultState() *linkFaults {
	if p.faults == nil {
		p.faults = &linkFaults{behind: -1,
			rng: rand.New(rand.NewPCG(p.net.config.Seed, 0x6661756c74<<24|uint64(p.id)))}
	}
	return p.faults
}

// SetFaults sets the faults of the frames that this port sends. The zero value removes them.
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
	p.faultState().LinkFaults = l
	return nil
}

// FaultStats returns the counts of faults in the frames that this port sent.
func (p *Port) FaultStats() FaultStats {
	if p.faults == nil {
		return FaultStats{}
	}
	return p.faults.stats
}

// SetDown takes the link down or up in both directions. Frames on a link that is down, and frames
// sent to it, are lost. Switches use other paths of equal cost if there are any.
func (p *Port) SetDown(down bool) {
	p.faultState().down = down
	p.peer.faultState().down = down
}

// Storm starts or stops a pause storm: while on, the port pauses its peer without cause, as a
// broken NIC does.
func (p *Port) Storm(prio int, on bool) {
	if on {
		p.storm |= 1 << prio
		p.pausePeer(uint8(prio))
	} else {
		p.storm &^= 1 << prio
		p.resumePeer(uint8(prio))
	}
}

// Stop stops the host. Frames in its NIC are lost and arriving frames are dropped. Run starts it
// again with a new poller or the old one.
func (h *Host) Stop() {
	h.poller = nil
	h.nic.clear()
}

// apply injects faults into a frame at the end of the link. It reports whether the caller must
// deliver the frame now.
func (l *linkFaults) apply(p *Port, f *frame) bool {
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
	case inShare(&u, l.Lose):
		l.stats.Lost++
		p.lose(f)
		return false
	case inShare(&u, l.Duplicate):
		l.stats.Duplicated++
		d := n.duplicate(f)
		n.call(n.now, func() { n.deliver(p, d) })
	case inShare(&u, l.Reorder):
		l.stats.Reordered++
		late = 1 + units.Duration(l.rng.Int64N(int64(l.ReorderBy)))
	case inShare(&u, l.Corrupt):
		l.stats.Corrupted++
		f.corrupt(l.rng.Uint64())
	case inShare(&u, l.Spike):
		l.stats.Spiked++
		l.behind = n.now.Add(l.SpikeBy)
	}
	at := n.now.Add(late)
	if late == 0 {
		if l.behind.Before(n.now) {
			return true
		}
		at = l.behind // with the frames before it
	}
	n.call(at, func() { n.deliver(p, f) })
	return false
}

// inShare reports whether u is in the next share of the unit interval, and shifts u past it.
func inShare(u *float64, share float64) bool {
	if *u < share {
		*u = 2
		return true
	}
	*u -= share
	return false
}

// lose discards a frame on the wire.
func (p *Port) lose(f *frame) {
	p.stats.Lost++
	if f.pause {
		p.net.release(f)
	} else {
		p.net.drop(f)
	}
}

// duplicate copies a frame in flight.
func (n *Network) duplicate(f *frame) *frame {
	d := n.newFrame(f.owner)
	if d.owner != nil {
		d.owner.held++
	}
	mem, id := d.mem, d.id
	copy(mem, f.mem[:f.len])
	*d = *f
	d.mem, d.id, d.next, d.from = mem, id, nil, nil
	n.duplicated++
	return d
}

// flip inverts one bit after the Ethernet header, chosen by r.
func (f *frame) flip(r uint64) {
	const header = 14
	if f.len <= header {
		return
	}
	bit := r % uint64(8*(f.len-header))
	f.mem[header+bit/8] ^= 1 << (bit % 8)
}
