package fabric

import "github.com/goroce/goroce/units"

// MultiHost is a NIC that several hosts share, each by PCIe lanes of its own (a physical function,
// PF): a switch whose ports to the hosts are their PCIe. Frames from the network wait in its
// ingress buffer for the PCIe of their host.
type MultiHost struct {
	Hosts  int
	Host   HostConfig
	PCIe   Link        // between the NIC and each host
	Buffer units.Bytes // shared by all that waits
	// Data is the queue 0 of a PF's virtual output queues (VoQ): its ECN is NIC-ECN, and its Limit
	// or Alpha what may wait before the NIC pauses the switch that it is connected to (TX-PFC).
	Data Queue
	// OneQueue is a NIC without VoQ: all data wait in one queue in the order in which they came,
	// also those of a host that could take them. Data is that queue.
	OneQueue bool
}

// lookahead is what a NIC without VoQ has moved out of its queue and not yet into the memory of a
// host, before it stops: two frames of a path MTU of 1024, so that one begins when the other is
// done, or one that is longer.
const lookahead units.Bytes = 2 * 1100

// Build adds the NIC with its hosts. The NIC's port to the network is yet to be connected.
func (m MultiHost) Build(n *Network, name string) *Switch {
	queues := Queues{0: m.Data}
	nic := n.AddSwitch(name, SwitchConfig{Buffer: m.Buffer, Queues: queues.At()})
	crossbar := nic
	if m.OneQueue {
		// The queue is that of a link to a stage without room, which pauses it as long as the first
		// frame's host is busy.
		crossbar = n.AddSwitch(name+" crossbar",
			SwitchConfig{Queues: Queues{0: {Lossless: true, Limit: lookahead}}.At()})
		n.Connect(nic, crossbar, Link{Rate: 800 * units.Gbps})
	}
	for range m.Hosts {
		n.Connect(n.AddHost(m.Host), crossbar, m.PCIe)
	}
	return nic
}
