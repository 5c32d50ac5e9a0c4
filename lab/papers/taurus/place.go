package taurus

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/units"
)

// A place is where congestion control decides: in the datapath, or in an agent behind the NIC.
type place struct {
	Split bool
	Away  units.Duration // each way between NIC and agent
}

var (
	native = place{}
	split  = behind(nicoffload.TypicalPCIe.Up)
	places = []place{native, split}
)

// behind returns an agent at a distance.
func behind(away units.Duration) place { return place{Split: true, Away: away} }

// String returns the name of the place.
func (p place) String() string {
	switch p {
	case native:
		return "native"
	case split:
		return "split"
	}
	return fmt.Sprintf("split, %v", p.Away)
}

// pcie returns the link between NIC and agent.
func (p place) pcie() *nicoffload.PCIe {
	pcie := nicoffload.TypicalPCIe
	pcie.Up, pcie.Down = p.Away, p.Away
	return &pcie
}

// controller makes the controller of a host.
func (p place) controller(_ int, now units.Time) (cc.Controller, error) {
	if !p.Split {
		return &cc.Inline{}, nil
	}
	return nicoffload.NewShared(nicoffload.Config{Aggregation: nicoffload.DefaultAggregation},
		nicoffload.AgentConfig{}, p.pcie(), now)
}
