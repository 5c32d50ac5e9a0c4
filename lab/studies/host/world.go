package hostlab

import (
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

const (
	us = units.Microsecond
	ms = units.Millisecond
)

// affected selects the hosts of a network that are not ideal.
type affected string

const (
	none     affected = ""
	oneOf    affected = "one sender"
	half     affected = "half the senders"
	receiver affected = "the receiver"
	all      affected = "all"
)

// has reports whether a host is affected, in a network of a number of hosts that send to the next
// one.
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

// machine is a host's deviation from the ideal.
type machine struct {
	Naps       fabric.Naps
	Preemption fabric.Preemption
	Share      fabric.Share
	Coalesce   fabric.Coalesce
	CPU        fabric.CPU
}

// world is a machine and the hosts that have it.
type world struct {
	Name   string
	Which  affected
	Host   machine
	Stamps bool // all NICs have time stamps
}

// txDepth is the number of frames that a NIC holds for each class, which it sends even while its
// poller is away.
const txDepth = 64

// configure applies the world to hosts.
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

// preempted are the preemptions to compare.
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

// quiet is a world without preemption.
var quiet = world{Name: "never"}

// preemptedWorld returns the world with the preemption of an index, at some hosts.
func preemptedWorld(i int, which affected) world {
	p := preempted[i]
	return world{Name: p.Name + ", " + string(which), Which: which,
		Host: machine{Preemption: p.Preemption}}
}

// central is the world in which claims set their bars.
var central = preemptedWorld(1, all)

// stamped returns the same world with time stamps.
var stamped = world{Name: central.Name + ", stamps", Which: all, Host: central.Host, Stamps: true}
