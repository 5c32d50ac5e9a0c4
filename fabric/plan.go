package fabric

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// FaultKind is a kind of planned fault.
type FaultKind uint8

// The kinds of planned faults.
const (
	Impairment FaultKind = iota // the frames that a port sends suffer Faults
	LinkDown                    // a port's link is down in both directions
	PauseStorm                  // a host's NIC pauses Queue of its peers
	HostStop                    // a host stops and restarts
	faultKinds
)

var faultKindNames = [faultKinds]string{"impairment", "link down", "pause storm", "host stop"}

func (t FaultKind) String() string {
	if t < faultKinds {
		return faultKindNames[t]
	}
	return fmt.Sprintf("FaultKind(%d)", uint8(t))
}

// PlannedFault is a fault with its start and duration.
type PlannedFault struct {
	At     units.Time
	For    units.Duration // 0 means until the end of the run
	Kind   FaultKind      `json:"What"` // the key keeps stored plans readable
	Port   int            // index in Network.Ports, for Impairment and LinkDown
	Host   int            // for PauseStorm and HostStop
	Queue  int            // for PauseStorm
	Faults LinkFaults     // for Impairment
}

// Plan is the list of faults of a run. It holds plain values, so that it can be stored and
// replayed.
type Plan []PlannedFault

// Ports returns all ports in the order of Connect, the two ports of a link one after the other.
func (n *Network) Ports() []*Port { return n.ports }

// Schedule schedules the faults of a plan. restart returns the poller of a host that restarts; if
// restart is nil, the host gets its old poller back, as if it had been suspended.
func (n *Network) Schedule(p Plan, restart func(h *Host) Poller) error {
	for i := range p {
		if err := n.validate(&p[i]); err != nil {
			return fmt.Errorf("fabric: plan: fault %d, %v at %v: %w", i, p[i].Kind, p[i].At, err)
		}
	}
	for _, f := range p {
		begin, end := n.actions(f, restart)
		n.At(f.At, begin)
		if f.For > 0 {
			n.At(f.At.Add(f.For), end)
		}
	}
	return nil
}

func (n *Network) validate(f *PlannedFault) error {
	switch {
	case f.Kind >= faultKinds:
		return fmt.Errorf("unknown kind of fault")
	case f.For < 0:
		return fmt.Errorf("duration %v is negative", f.For)
	case f.Kind <= LinkDown && (f.Port < 0 || f.Port >= len(n.ports)):
		return fmt.Errorf("port %d out of range [0, %d)", f.Port, len(n.ports))
	case f.Kind >= PauseStorm && (f.Host < 0 || f.Host >= len(n.hosts)):
		return fmt.Errorf("host %d out of range [0, %d)", f.Host, len(n.hosts))
	case f.Queue < 0 || f.Queue >= Priorities:
		return fmt.Errorf("queue %d out of range [0, %d)", f.Queue, Priorities)
	}
	return f.Faults.Validate()
}

// actions returns functions that start and end a fault.
func (n *Network) actions(f PlannedFault, restart func(*Host) Poller) (begin, end func()) {
	switch f.Kind {
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
			if before != nil { // nil: the host had been stopped before
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

// RandomPlan draws a plan of faults in a span of time from now on. Each fault is of a random kind
// and ends before the span does.
func (n *Network) RandomPlan(seed uint64, faults int, span units.Duration) Plan {
	rng := rand.New(rand.NewPCG(seed, 0x706c616e))
	scale := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
	plan := make(Plan, faults)
	for i := range plan {
		f := &plan[i]
		f.At = n.now.Add(units.Duration(rng.Float64() * 0.9 * float64(span)))
		f.For = 1 + units.Duration(rng.Float64()*float64(n.now.Add(span).Sub(f.At)-1))
		f.Kind = FaultKind(rng.IntN(int(faultKinds)))
		f.Port, f.Host, f.Queue = rng.IntN(len(n.ports)), rng.IntN(len(n.hosts)),
			rng.IntN(Priorities)
		if f.Kind == Impairment {
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
