package fabric

import "github.com/goroce/goroce/units"

// PCIe is the link between a NIC and its host's memory. The zero value takes no time.
type PCIe struct {
	Rate    units.BitRate  // in each direction; 0 means no limit
	Latency units.Duration // of a transfer, in addition to serialisation
	// Buffer is the NIC's buffer for frames that wait for PCIe; 0 means no limit. If XOff is not 0,
	// the NIC pauses the queues of its link that frames arrive from while more than XOff bytes
	// wait, until at most half of XOff does.
	Buffer, XOff units.Bytes
}

// Memory models the cost of the NIC's memory accesses beyond PCIe, such as a cache with direct
// access or a shared memory controller. Its methods return the additional time of a transfer.
type Memory interface {
	Write(now units.Time, n units.Bytes) units.Duration
	Read(now units.Time, n units.Bytes) units.Duration
}

// pcie is the state of a PCIe link for received frames, which it transfers one after the other.
type pcie struct {
	busy    units.Time  // end of the last transfer
	waiting units.Bytes // bytes that arrived and are not yet in memory
	pausing uint8       // queues paused by the NIC
}

// take transfers a frame to memory and returns when that is done. ok is false if the NIC's buffer
// is full.
func (x *pcie) take(c *NIC, f *frame) (done units.Time, ok bool) {
	n, config := c.net, &c.host.config
	if config.PCIe.Rate == 0 && config.Memory == nil {
		return n.now.Add(config.PCIe.Latency), true
	}
	size := units.Bytes(f.len)
	if limit := config.PCIe.Buffer; limit > 0 && x.waiting+size > limit {
		return 0, false
	}
	took := config.PCIe.transfer(size)
	if config.Memory != nil {
		took += config.Memory.Write(n.now, size)
	}
	if x.busy.Before(n.now) {
		x.busy = n.now
	}
	x.busy = x.busy.Add(took)
	if config.PCIe.Buffer > 0 || config.PCIe.XOff > 0 {
		x.waiting += size
		if xoff := config.PCIe.XOff; xoff > 0 && x.waiting > xoff && x.pausing>>f.prio&1 == 0 {
			x.pausing |= 1 << f.prio
			c.stats.Pauses++
			for _, p := range c.ports {
				p.pausePeer(f.prio)
			}
		}
		n.call(x.busy, func() { x.moved(c, size) })
	}
	return x.busy.Add(config.PCIe.Latency), true
}

// moved records that a frame is in memory.
func (x *pcie) moved(c *NIC, size units.Bytes) {
	x.waiting -= size
	if x.pausing == 0 || x.waiting > c.host.config.PCIe.XOff/2 {
		return
	}
	for prio := range uint8(Priorities) {
		if x.pausing>>prio&1 != 0 {
			for _, p := range c.ports {
				p.resumePeer(prio)
			}
		}
	}
	x.pausing = 0
}

func (x *PCIe) transfer(n units.Bytes) units.Duration {
	if x.Rate == 0 {
		return 0
	}
	return x.Rate.Duration(n)
}

// txTime returns how long the NIC is busy with a frame to send: the longer of the times on the wire
// and on PCIe.
func (h *Host) txTime(f *frame, onWire units.Duration) units.Duration {
	config := &h.config
	if config.PCIe.Rate == 0 && config.Memory == nil {
		return onWire
	}
	took := config.PCIe.transfer(units.Bytes(f.len))
	if config.Memory != nil {
		took += config.Memory.Read(h.net.now, units.Bytes(f.len))
	}
	return max(onWire, took)
}
