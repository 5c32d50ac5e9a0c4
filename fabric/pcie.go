package fabric

import "github.com/goroce/goroce/units"

// PCIe is the way between a NIC and its host's memory. The zero value takes no time.
type PCIe struct {
	Rate    units.BitRate  // in each direction; 0: no limit
	Latency units.Duration // of a transfer, besides its length
	// Buffer is what the NIC holds of frames that wait for PCIe; 0: any amount. Above XOff, when it
	// is not 0, the NIC pauses the queues of its link that the frames came from, until it holds no
	// more than half of it.
	Buffer, XOff units.Bytes
}

// Memory models what the NIC's accesses to memory cost beyond PCIe: a cache with direct access, or
// a memory controller that others use. It answers the additional time of a transfer.
type Memory interface {
	Wrote(now units.Time, n units.Bytes) units.Duration
	Read(now units.Time, n units.Bytes) units.Duration
}

// pcie is PCIe at work: one transfer after the other in each direction.
type pcie struct {
	busy    units.Time  // with what came in
	waiting units.Bytes // arrived, and not yet in memory
	pausing uint8       // queues that the NIC has paused
}

// take moves a frame to memory and answers when it is there; false when the NIC has no room.
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
		took += config.Memory.Wrote(n.now, size)
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
				p.ask(f.prio)
			}
		}
		n.call(x.busy, func() { x.moved(c, size) })
	}
	return x.busy.Add(config.PCIe.Latency), true
}

// moved notes that a frame is in memory.
func (x *pcie) moved(c *NIC, size units.Bytes) {
	x.waiting -= size
	if x.pausing == 0 || x.waiting > c.host.config.PCIe.XOff/2 {
		return
	}
	for prio := range uint8(Priorities) {
		if x.pausing>>prio&1 != 0 {
			for _, p := range c.ports {
				p.resume(prio)
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

// fetch answers how long the NIC is busy with a frame that leaves: the wire, or PCIe when that is
// slower.
func (h *Host) fetch(f *frame, onWire units.Duration) units.Duration {
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
