package fabric

import "fmt"

// RailOptimised is the network of a cluster of servers with several accelerators, each with its own
// NIC. The NICs of one rank in their servers form a rail. A rail has a switch in every group of
// servers, so that collective operations between them cross one switch. Spine switches link the
// rails and the groups. The host of accelerator r in server s has the index s*Rails+r.
type RailOptimised struct {
	Groups, ServersPerGroup, Rails, Spines int

	Host, Up Link
}

// Build returns a network with the configurations in p.
func (t RailOptimised) Build(p Parts) *Network {
	n := New(p.Config)
	spines := make([]*Switch, t.Spines)
	for i := range spines {
		spines[i] = n.AddSwitch(fmt.Sprintf("spine %d", i), p.Switch)
	}
	for group := range t.Groups {
		rails := make([]*Switch, t.Rails)
		for i := range rails {
			rails[i] = n.AddSwitch(fmt.Sprintf("group %d rail %d", group, i), p.Switch)
			for _, s := range spines {
				n.Connect(rails[i], s, t.Up)
			}
		}
		for range t.ServersPerGroup {
			for _, rail := range rails {
				p.addHosts(n, 1, rail, t.Host)
			}
		}
	}
	return n
}

// Dragonfly is the network of Kim et al. (ISCA 2008): groups of fully connected switches, each with
// hosts and with links to other groups. The links of a group go to the other groups in turn, and
// paths are shortest ones. There must be at least one link between any two groups:
// SwitchesPerGroup*GlobalPerSwitch >= Groups-1.
type Dragonfly struct {
	Groups, SwitchesPerGroup, HostsPerSwitch, GlobalPerSwitch int

	Host, Local, Global Link
}

// Build returns a network with the configurations in p.
func (t Dragonfly) Build(p Parts) *Network {
	n := New(p.Config)
	groups := make([][]*Switch, t.Groups)
	for g := range groups {
		for i := range t.SwitchesPerGroup {
			s := n.AddSwitch(fmt.Sprintf("group %d switch %d", g, i), p.Switch)
			p.addHosts(n, t.HostsPerSwitch, s, t.Host)
			for _, other := range groups[g] {
				n.Connect(s, other, t.Local)
			}
			groups[g] = append(groups[g], s)
		}
	}
	links := t.SwitchesPerGroup * t.GlobalPerSwitch
	for i := range links { // the i-th link of a group goes i%(Groups-1)+1 groups ahead
		for g := range groups[1:] { // the last group only has links from lower ones
			ahead := i%(t.Groups-1) + 1
			peer := (g + ahead) % t.Groups
			back := i - (ahead - 1) + (t.Groups - ahead - 1) // the same link, seen from the peer
			if g < peer && back < links {
				n.Connect(groups[g][i/t.GlobalPerSwitch], groups[peer][back/t.GlobalPerSwitch],
					t.Global)
			}
		}
	}
	return n
}
