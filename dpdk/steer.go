package dpdk

import (
	"fmt"

	"github.com/goroce/goroce/dpdk/ethdev"
)

// UDPFlow is the datagrams from one UDP port to another, as they arrive.
type UDPFlow = ethdev.UDPFlow

// Steer makes the device put a flow into the hardware queue of Queue i, whichever queue it would
// choose by itself (rte_flow). It returns the function that ends that; Close ends it, too. The
// error is errors.ErrUnsupported if the driver has no such rules. The caller must not be a polling
// goroutine: a rule takes milliseconds with some drivers.
func (d *Device) Steer(f UDPFlow, i int) (end func(), err error) {
	if i < 0 || i >= len(d.queues) {
		return nil, fmt.Errorf("dpdk: steer %v to queue %d: out of range [0, %d)", f, i,
			len(d.queues))
	}
	if f.Src.Addr().Is4() != f.Dst.Addr().Is4() || !f.Src.IsValid() || !f.Dst.IsValid() {
		return nil, fmt.Errorf("dpdk: steer %v: want two addresses of one family", f)
	}
	var flow *ethdev.Flow
	err = d.whileOpen("dpdk: steer", func() error {
		flow, err = d.port.FlowCreate(f, int(d.shape.rx(i)[0]))
		if err == nil {
			d.flows[flow] = struct{}{}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("dpdk: steer %v to queue %d: %w", f, i, err)
	}
	return func() { d.unsteer(flow) }, nil
}

// unsteer destroys a rule, unless Close has.
func (d *Device) unsteer(flow *ethdev.Flow) {
	_ = d.whileOpen("dpdk: end steering", func() error {
		if _, ok := d.flows[flow]; ok {
			delete(d.flows, flow)
			d.port.FlowDestroy(flow)
		}
		return nil
	})
}

// whileOpen runs fn inside control, unless the device is closed. The map of flows is accessed
// inside control only, which runs one function at a time.
func (d *Device) whileOpen(what string, fn func() error) error {
	return d.control(what, func() error {
		d.life.RLock()
		defer d.life.RUnlock()
		if d.closed {
			return ErrClosed
		}
		if err := d.alive(); err != nil {
			return err
		}
		return fn()
	})
}

// endFlows destroys all rules. It runs inside control.
func (d *Device) endFlows() {
	for flow := range d.flows {
		d.port.FlowDestroy(flow)
	}
	clear(d.flows)
}
