package main

import (
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// topology is a network to be built, and what bounds need to know of it.
type topology struct {
	name    string
	hosts   int
	degree  int // most ports of a switch
	hops    int // most links between two hosts
	slowest units.BitRate
	fastest units.BitRate
	longest units.Duration // delay of a link
	build   func(fabric.Parts) *fabric.Network
}

var rates = []units.BitRate{
	units.Gbps, 2500 * units.Mbps, 10 * units.Gbps, 25 * units.Gbps, 33 * units.Gbps,
	40 * units.Gbps,
	100 * units.Gbps, 200 * units.Gbps, 400 * units.Gbps,
}

// link draws a link and notes what it is like.
func (t *topology) link(d dice) fabric.Link {
	l := fabric.Link{Rate: oneOf(d, rates...)}
	switch d.IntN(8) {
	case 0: // hosts in one box
	case 1:
		l.Delay = scale(d, 10*units.Microsecond, 500*units.Microsecond)
	default:
		l.Delay = scale(d, 50*units.Nanosecond, 10*units.Microsecond)
	}
	t.note(l)
	return l
}

func (t *topology) note(l fabric.Link) {
	if t.slowest == 0 {
		t.slowest = l.Rate
	}
	t.slowest, t.fastest, t.longest = min(t.slowest, l.Rate), max(t.fastest, l.Rate), max(t.longest,
		l.Delay)
}

// drawTopology draws a network of 2 to 64 hosts.
func drawTopology(d dice) topology {
	t := topology{}
	edge := t.link(d)
	up := edge
	if d.chance(0.5) {
		up = t.link(d)
	}
	switch d.IntN(9) {
	case 0:
		t.cable(edge)
	case 1, 2:
		t.star(edge, scale(d, 2, 64))
	case 3:
		t.mixedStar(d, between(d, 2, 16))
	case 4:
		t.dumbbell(edge, up, between(d, 1, 12), between(d, 1, 12))
	case 5:
		t.tree(edge, up, between(d, 1, 4), between(d, 1, 8), d.chance(0.4))
	case 6:
		t.leafSpine(fabric.LeafSpine{Leaves: between(d, 2, 6), Spines: between(d, 1, 4),
			HostsPerLeaf: between(d, 1, 10), Host: edge, Up: up})
	case 7:
		t.clos(fabric.FatTree(4, edge))
	default:
		t.dualHomed(edge, up, between(d, 1, 3), between(d, 1, 6), between(d, 1, 3))
	}
	return t
}

// cable is two hosts and nothing between them.
func (t *topology) cable(l fabric.Link) {
	t.name, t.hosts, t.hops = fmt.Sprintf("cable %v %v", l.Rate, l.Delay), 2, 1
	t.build = func(p fabric.Parts) *fabric.Network {
		n := fabric.New(p.Config)
		n.Connect(p.AddHost(n), p.AddHost(n), l)
		return n
	}
}

func (t *topology) star(l fabric.Link, hosts int) {
	t.name, t.hosts, t.degree, t.hops = fmt.Sprintf("star of %d, %v %v", hosts, l.Rate, l.Delay),
		hosts, hosts, 2
	t.build = func(p fabric.Parts) *fabric.Network { return fabric.Star(p, hosts, l) }
}

// mixedStar has a link of another kind for every host.
func (t *topology) mixedStar(d dice, hosts int) {
	t.name, t.hosts, t.degree, t.hops = fmt.Sprintf("mixed star of %d", hosts), hosts, hosts, 2
	links := make([]fabric.Link, hosts)
	for i := range links {
		links[i] = t.link(d)
	}
	t.build = func(p fabric.Parts) *fabric.Network {
		n := fabric.New(p.Config)
		s := n.AddSwitch("switch", p.Switch)
		for _, l := range links {
			n.Connect(p.AddHost(n), s, l)
		}
		return n
	}
}

func (t *topology) dumbbell(edge, middle fabric.Link, left, right int) {
	t.name = fmt.Sprintf("dumbbell of %d and %d, %v %v, middle %v %v", left, right, edge.Rate,
		edge.Delay, middle.Rate, middle.Delay)
	t.hosts, t.degree, t.hops = left+right, max(left, right)+1, 3
	t.build = func(p fabric.Parts) *fabric.Network {
		return fabric.Dumbbell(p, left, right, edge, middle)
	}
}

func (t *topology) tree(edge, up fabric.Link, branches, leaves int, deep bool) {
	if branches == 1 && leaves == 1 {
		leaves = 2
	}
	t.name = fmt.Sprintf("tree of %d times %d, %v %v, up %v %v, deep %v", branches, leaves,
		edge.Rate, edge.Delay, up.Rate, up.Delay, deep)
	levels := []fabric.Branch{{Children: branches, Link: up}, {Children: leaves, Link: edge}}
	t.hosts, t.degree, t.hops = branches*leaves, max(branches, leaves+1, 3), 4
	if deep {
		levels = append([]fabric.Branch{{Children: 2, Link: up}}, levels...)
		t.hosts, t.hops = 2*t.hosts, 6
		t.degree = max(t.degree, branches+1)
	}
	t.build = func(p fabric.Parts) *fabric.Network { return fabric.Tree(p, levels...) }
}

func (t *topology) leafSpine(l fabric.LeafSpine) {
	t.name = fmt.Sprintf("leaf-spine of %d leaves of %d, %d spines, %v %v, up %v %v, %.2g:1",
		l.Leaves, l.HostsPerLeaf, l.Spines, l.Host.Rate, l.Host.Delay, l.Up.Rate, l.Up.Delay,
		l.Oversubscription())
	t.hosts, t.degree, t.hops = l.Leaves*l.HostsPerLeaf, max(l.Leaves, l.HostsPerLeaf+l.Spines), 4
	t.build = l.Build
}

func (t *topology) clos(c fabric.Clos) {
	t.name = fmt.Sprintf("fat tree of %d pods, %v %v", c.Pods, c.Host.Rate, c.Host.Delay)
	t.hosts, t.degree, t.hops = c.Pods*c.ToRsPerPod*c.HostsPerToR, max(c.Pods,
		c.HostsPerToR+c.AggsPerPod, c.ToRsPerPod+c.CoresPerAgg), 6
	t.build = c.Build
}

// dualHomed is racks of hosts with a link to each of two switches, and spines above.
func (t *topology) dualHomed(edge, up fabric.Link, racks, hosts, spines int) {
	if racks == 1 && hosts == 1 {
		hosts = 2
	}
	t.name = fmt.Sprintf("%d dual-homed racks of %d, %d spines, %v %v, up %v %v", racks, hosts,
		spines, edge.Rate, edge.Delay, up.Rate, up.Delay)
	t.hosts, t.degree, t.hops = racks*hosts, max(2*racks, hosts+spines), 4
	t.build = func(p fabric.Parts) *fabric.Network {
		n := fabric.New(p.Config)
		above := make([]*fabric.Switch, spines)
		for i := range above {
			above[i] = n.AddSwitch(fmt.Sprintf("spine %d", i), p.Switch)
		}
		for rack := range racks {
			var tors [2]*fabric.Switch
			for i := range tors {
				tors[i] = n.AddSwitch(fmt.Sprintf("rack %d tor %d", rack, i), p.Switch)
				for _, s := range above {
					n.Connect(tors[i], s, up)
				}
			}
			for range hosts {
				h := p.AddHost(n)
				n.Connect(h, tors[0], edge)
				n.Connect(h, tors[1], edge)
			}
		}
		return n
	}
}
