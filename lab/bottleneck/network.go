package bottleneck

import (
	"fmt"
	"slices"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/sim/cluster"
	"github.com/goroce/goroce/units"
)

// MTU is that of all links: the longest packet of RoCEv2, and what switches may write into it.
const MTU = 4400

// hosts says where flows are: the senders are the first hosts, then come the receivers.
type hosts struct {
	senders, receivers int
	ends               [][2]int       // of each flow, where it comes from and where it goes to
	flow               map[[2]int]int // by its ends
}

func (c *Config) hosts(flows []Flow) (hosts, error) {
	at := hosts{flow: map[[2]int]int{}}
	place := c.Place
	if place == nil {
		place = func(flow int) (int, int) { return flow, 0 }
	}
	for i := range flows {
		sender, receiver := place(i)
		at.senders, at.receivers = max(at.senders, sender+1), max(at.receivers, receiver+1)
	}
	for i, f := range flows {
		sender, receiver := place(i)
		ends := [2]int{sender, at.senders + receiver}
		if f.Back {
			slices.Reverse(ends[:])
		}
		if other, there := at.flow[ends]; there {
			return at, fmt.Errorf("bottleneck: flows %d and %d are both from host %d to host %d",
				other, i, ends[0], ends[1])
		}
		at.flow[ends] = i
		at.ends = append(at.ends, ends)
	}
	return at, nil
}

// network is a star whose last host receives, or two switches, one with the senders and one with
// the receivers. The bottleneck is what the first switch has behind its senders.
func (c *Config) network(flows []Flow, at hosts) *fabric.Network {
	config := c.Switch
	if config == nil {
		var queues fabric.Queues
		queues[0].ECN, queues[0].ECNOf = c.ECN, c.ECNOf
		if slices.ContainsFunc(flows, func(f Flow) bool { return f.Control.Name() == "bolt" }) {
			if queues[0].Bolt = c.Bolt; c.Bolt.Frame == 0 {
				queues[0].Bolt = cluster.Bolt(c.PathMTU)
			}
		}
		config = &fabric.SwitchConfig{Buffer: c.Buffer, Queues: queues.At(), INT: true}
	}
	// Frames take a nanosecond more to get into a host, so that there is an endpoint delay to be
	// told.
	host := fabric.HostConfig{RxDelay: units.Nanosecond}
	net := fabric.New(fabric.Config{Seed: c.Seed, MTU: MTU})
	add := func() *fabric.Host {
		one := host
		if c.HostOf != nil {
			c.HostOf(len(net.Hosts()), &one)
		}
		return net.AddHost(one)
	}
	link := fabric.Link{Rate: c.Rate, Delay: c.Delay}
	near := net.AddSwitch("switch", *config)
	for i := range at.senders {
		own := link
		if c.DelayOf != nil {
			own.Delay = c.DelayOf(i)
		}
		net.Connect(add(), near, own)
	}
	host.CPU.PerPoll = c.Coalesce
	if at.receivers == 1 {
		net.Connect(add(), near, link)
		return net
	}
	far := net.AddSwitch("far switch", *config)
	net.Connect(near, far, link)
	for range at.receivers {
		net.Connect(add(), far, link)
	}
	return net
}
