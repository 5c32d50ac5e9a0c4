package fabric

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// Trouble is a kind of planned fault.
type Trouble uint8

// What can be planned.
const (
	Spoil      Trouble = iota // a port spoils what it sends, as Faults says
	LinkDown                  // both directions of a port's link
	PauseStorm                // a host's NIC pauses Queue of whoever sends to it
	HostStop                  // a host stops, and starts again
	troubles
)

var troubleNames = [troubles]string{"spoil", "link down", "pause storm", "host stop"}

func (t Trouble) String() string {
	if t < troubles {
		return troubleNames[t]
	}
	return fmt.Sprintf("Trouble(%d)", uint8(t))
}

// Planned is something that goes wrong at a time, and is well again after a while.
type Planned struct {
	At     units.Time
	For    units.Duration // 0: for ever
	What   Trouble
	Port   int        // of Network.Ports, for Spoil and LinkDown
	Host   int        // for PauseStorm and HostStop
	Queue  int        // for PauseStorm
	Faults LinkFaults // for Spoil
}

// Plan is all that goes wrong in a run. It holds plain values: written down, it is the same plan.
type Plan []Planned

// Ports answers all ports, those of one link behind each other, in the order they were connected.
func (n *Network) Ports() []*Port { return n.ports }

// Follow schedules a plan. restart answers the poller of a host that starts again; nil gives the
// host its old one back, as if it had slept.
func (n *Network) Follow(p Plan, restart func(h *Host) Poller) error {
	for i := range p {
		if err := n.validate(&p[i]); err != nil {
			return fmt.Errorf("fabric: plan: fault %d, %v at %v: %w", i, p[i].What, p[i].At, err)
		}
	}
	for _, f := range p {
		begin, end := n.trouble(f, restart)
		n.At(f.At, begin)
		if f.For > 0 {
			n.At(f.At.Add(f.For), end)
		}
	}
	return nil
}

func (n *Network) validate(f *Planned) error {
	switch {
	case f.What >= troubles:
		return fmt.Errorf("there is no such fault")
	case f.For < 0:
		return fmt.Errorf("it lasts %v", f.For)
	case f.What <= LinkDown && (f.Port < 0 || f.Port >= len(n.ports)):
		return fmt.Errorf("port %d is none of %d", f.Port, len(n.ports))
	case f.What >= PauseStorm && (f.Host < 0 || f.Host >= len(n.hosts)):
		return fmt.Errorf("host %d is none of %d", f.Host, len(n.hosts))
	case f.Queue < 0 || f.Queue >= Priorities:
		return fmt.Errorf("queue %d is none of %d", f.Queue, Priorities)
	}
	return f.Faults.Validate()
}

// trouble answers what begins a fault and what ends it.
func (n *Network) trouble(f Planned, restart func(*Host) Poller) (begin, end func()) {
	switch f.What {
	case LinkDown:
		p := n.ports[f.Port]
		return func() { p.SetDown(true) }, func() { p.SetDown(false) }
	case PauseStorm:
		ports := n.hosts[f.Host].nic.ports
		storm := func(on bool) func() {
			return func() {
				for _, p := range ports {
					p.Storm(f.Queue, on)
				}
			}
		}
		return storm(true), storm(false)
	case HostStop:
		h := n.hosts[f.Host]
		var before Poller
		return func() { before = h.poller; h.Stop() }, func() {
			if restart != nil {
				before = restart(h)
			}
			if before != nil { // nil: it was stopped already
				h.Run(before)
			}
		}
	}
	p := n.ports[f.Port]
	set := func(l LinkFaults) func() {
		return func() { n.fail(p.SetFaults(l)) } // validated
	}
	return set(f.Faults), set(LinkFaults{})
}

// RandomPlan draws so many faults in a span of time, each of any kind and over before the span is.
func (n *Network) RandomPlan(seed uint64, faults int, span units.Duration) Plan {
	rng := rand.New(rand.NewPCG(seed, 0x706c616e))
	scale := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
	plan := make(Plan, faults)
	for i := range plan {
		f := &plan[i]
		f.At = n.now.Add(units.Duration(rng.Float64() * 0.9 * float64(span)))
		f.For = 1 + units.Duration(rng.Float64()*float64(n.now.Add(span).Sub(f.At)-1))
		f.What = Trouble(rng.IntN(int(troubles)))
		f.Port, f.Host, f.Queue = rng.IntN(len(n.ports)), rng.IntN(len(n.hosts)),
			rng.IntN(Priorities)
		if f.What == Spoil {
			f.Faults = LinkFaults{
				Lose: scale(1e-4, 0.1), Duplicate: scale(1e-4, 0.05), Reorder: scale(1e-4, 0.1),
				Corrupt: scale(1e-4, 0.02), Spike: scale(1e-5, 1e-3),
				Burst: GilbertElliott{ToBad: scale(1e-5, 1e-2), ToGood: scale(0.02, 1),
					LoseBad: rng.Float64()},
			}
		}
	}
	return plan
}
