package hostlab

import (
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

const (
	us = units.Microsecond
	ms = units.Millisecond
)

// affected is which hosts of a network are not ideal.
type affected string

const (
	none     affected = ""
	oneOf    affected = "one sender"
	half     affected = "half the senders"
	receiver affected = "the receiver"
	all      affected = "all"
)

// has reports whether a host is one of them, where so many hosts send to the next one.
func (a affected) has(host, senders int) bool {
	switch a {
	case oneOf:
		return host == 0
	case half:
		return host < senders/2
	case receiver:
		return host == senders
	case all:
		return true
	}
	return false
}

// machine is what is not ideal about a host.
type machine struct {
	Naps       fabric.Naps
	Preemption fabric.Preemption
	Share      fabric.Share
	Coalesce   fabric.Coalesce
	CPU        fabric.CPU
}

// world is what hosts are like, and which of them.
type world struct {
	Name   string
	Which  affected
	Host   machine
	Stamps bool // all NICs have time stamps
}

// txDepth is how many frames a NIC takes for each class: what a poller that is away left there goes
// on.
const txDepth = 64

// configure makes hosts what they are.
func (w world) configure(senders int) func(int, *fabric.HostConfig) {
	return func(host int, c *fabric.HostConfig) {
		if w.Which.has(host, senders) {
			m := &w.Host
			c.Naps, c.Preemption, c.Share, c.Coalesce, c.CPU = m.Naps, m.Preemption, m.Share,
				m.Coalesce, m.CPU
		}
		c.NoStamps, c.TxDepth = !w.Stamps, txDepth
	}
}

// preempted are the preemptions that are compared.
var preempted = []struct {
	Name string
	fabric.Preemption
}{
	{"1 ms each 100 ms", fabric.Preemption{Every: 100 * ms, Shortest: ms}},
	{"10 ms each 100 ms", fabric.Preemption{Every: 100 * ms, Shortest: 10 * ms}},
	{"3 ms each 10 ms", fabric.Preemption{Every: 10 * ms, Shortest: 3 * ms}},
	{"1 to 30 ms at random", fabric.Preemption{Every: 100 * ms, Shortest: ms, Longest: 30 * ms,
		Random: true}},
}

// quiet is a world in which nobody loses its core.
var quiet = world{Name: "never"}

// preemptedWorld has the preemption of a number, at some hosts.
func preemptedWorld(i int, which affected) world {
	p := preempted[i]
	return world{Name: p.Name + ", " + string(which), Which: which,
		Host: machine{Preemption: p.Preemption}}
}

// central is the world of the bar.
var central = preemptedWorld(1, all)

// stamped is the same with time stamps.
var stamped = world{Name: central.Name + ", stamps", Which: all, Host: central.Host, Stamps: true}
