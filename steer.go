package goroce

import (
	"errors"
	"log/slog"
	"net/netip"
	"sync/atomic"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
)

// flowRules asks a port with several queues to put the frames of each connection into the queue of
// its endpoint. A frame that arrives in another queue is passed on in software (package steering),
// so a port without such rules, or with no room for another, costs time and nothing else.
type flowRules struct {
	port interface {
		Queues() int
		Steer(f dpdk.UDPFlow, queue int) (end func(), err error)
	}
	log  *slog.Logger
	lack atomic.Bool // the port has none
}

// newFlowRules returns nil if all frames arrive in one queue.
func newFlowRules(d *dpdk.Device, log *slog.Logger) *flowRules {
	if d.Queues() < 2 {
		return nil
	}
	return &flowRules{port: d, log: log}
}

// usable reports whether it may be of use to add a rule.
func (r *flowRules) usable() bool { return r != nil && !r.lack.Load() }

// add adds a rule for the frames of a flow, which endpoint i of the host receives. It returns the
// function that removes it.
func (r *flowRules) add(f dpdk.UDPFlow, i int) (end func()) {
	end, err := r.port.Steer(f, i%r.port.Queues())
	switch {
	case err == nil:
		return end
	case errors.Is(err, errors.ErrUnsupported):
		if !r.lack.Swap(true) {
			r.log.Info("the port has no rules for flows; its endpoints pass frames to each other",
				"err", err)
		}
	default:
		r.log.Debug("no rule for a flow", "flow", f, "err", err)
	}
	return func() {}
}

// steer adds a rule for the frames of the connection. The peer's source port is ours if the peer
// is goroce, which computes it from the two queue pair numbers. A rule for another peer, whose port
// is not known, matches nothing.
func (c *Conn) steer() (end func()) {
	if !c.rules.usable() {
		return func() {}
	}
	var f dpdk.UDPFlow
	if err := c.w.do(func(ep *transport.Endpoint) {
		local, err := ep.Setup().Source(c.peer)
		if err == nil {
			f = dpdk.UDPFlow{Src: netip.AddrPortFrom(c.peer, c.qp.SourcePort()),
				Dst: netip.AddrPortFrom(local, wire.UDPPort)}
		}
	}); err != nil || !f.Dst.IsValid() {
		return func() {} // closed, or the address is gone
	}
	return c.rules.add(f, c.w.index)
}
