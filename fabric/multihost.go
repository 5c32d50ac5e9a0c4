package fabric

import "github.com/goroce/goroce/units"

// MultiHost is a NIC shared by several hosts, each with its own PCIe lanes (a physical function,
// PF). It is modelled as a switch whose ports to the hosts are their PCIe links. Frames from the
// network wait in its ingress buffer for their host's PCIe.
type MultiHost struct {
	Hosts  int
	Host   HostConfig
	PCIe   Link        // between the NIC and each host
	Buffer units.Bytes // shared by all waiting frames
	// Data configures queue 0 of a PF's virtual output queues (VoQ). Its ECN is NIC-ECN. Its Limit
	// or Alpha is the threshold at which the NIC pauses the switch that it is connected to
	// (TX-PFC).
	Data Queue
	// OneQueue makes a NIC without VoQ. All data wait in one queue in order of arrival, so that a
	// busy host blocks the data of the others. Data configures that queue.
	OneQueue bool
}

// lookahead limits the bytes that a NIC without VoQ has taken out of its queue and not yet moved to
// a host's memory: two frames of a path MTU of 1024, so that one starts when the other is done, or
// one longer frame.
const lookahead units.Bytes = 2 * 1100

// Build adds the NIC and its hosts to a network. The caller connects the NIC to the network.
func (m MultiHost) Build(n *Network, name string) *Switch {
	queues := Queues{0: m.Data}
	nic := n.AddSwitch(name, SwitchConfig{Buffer: m.Buffer, Queues: queues.At()})
	crossbar := nic
	if m.OneQueue {
		// The queue belongs to a link to a second stage with room for lookahead only, which pauses
		// the queue while the host of the first frame is busy.
		crossbar = n.AddSwitch(name+" crossbar",
			SwitchConfig{Queues: Queues{0: {Lossless: true, Limit: lookahead}}.At()})
		n.Connect(nic, crossbar, Link{Rate: 800 * units.Gbps})
	}
	for range m.Hosts {
		n.Connect(n.AddHost(m.Host), crossbar, m.PCIe)
	}
	return nic
}
