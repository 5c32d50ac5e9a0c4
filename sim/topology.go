package sim

import "github.com/goroce/goroce/fabric"

// Topology builds the network of a scenario from the given parts: each switch as the Scheme, each
// host as Hosts configures it. fabric's LeafSpine and Clos (of which a FatTree is one) are
// topologies.
type Topology interface {
	Build(fabric.Parts) *fabric.Network
}

// Custom is a topology built by a function.
type Custom func(fabric.Parts) *fabric.Network

// Build implements Topology.
func (c Custom) Build(p fabric.Parts) *fabric.Network { return c(p) }

// Star returns a topology of hosts around one switch.
func Star(hosts int, link fabric.Link) Topology {
	return Custom(func(p fabric.Parts) *fabric.Network { return fabric.Star(p, hosts, link) })
}

// Dumbbell returns a topology of two switches with a link between them. The hosts on the left have
// the lower indices.
func Dumbbell(left, right int, edge, middle fabric.Link) Topology {
	return Custom(func(p fabric.Parts) *fabric.Network {
		return fabric.Dumbbell(p, left, right, edge, middle)
	})
}

// On returns a network that was built before. Its hosts and switches stay as they are:
// Hosts.Machine, Hosts.LinkMTU and the switches of the Scheme have no effect.
func On(net *fabric.Network) Topology {
	return Custom(func(fabric.Parts) *fabric.Network { return net })
}

// parts returns the parts for the topology.
func (s *Scenario) parts() fabric.Parts {
	return fabric.Parts{
		Config: fabric.Config{Seed: s.Seed, MTU: s.Hosts.LinkMTU, Classify: s.Scheme.Classify,
			OffloadICRC: !s.Hosts.ICRC && s.Hosts.Wrap == nil},
		Host: s.Hosts.Machine, HostOf: s.Hosts.MachineOf, Switch: s.Scheme.Switch,
	}
}
