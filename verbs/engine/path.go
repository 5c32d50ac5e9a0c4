package engine

import (
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
	"github.com/goroce/goroce/verbs/protocol"
)

// path translates an address vector. In RoCE, all have a GRH: a GID is an IP address.
func (e *Engine) path(p *protocol.Path) (v transport.AddressVector, err error) {
	switch {
	case p.IsGlobal == 0:
		return v, fmt.Errorf("address without GRH; RoCE needs is_global: %w", transport.ErrInvalid)
	case int(p.SGIDIndex) >= len(e.gids):
		return v, fmt.Errorf("sgid_index %d of %d GIDs: %w", p.SGIDIndex, len(e.gids),
			transport.ErrInvalid)
	case p.Port > 1:
		return v, fmt.Errorf("port %d, want 1: %w", p.Port, transport.ErrInvalid)
	}
	ip := netip.AddrFrom16(p.DGID).Unmap()
	source := e.gids[p.SGIDIndex]
	if ip.Is4() != source.Is4() {
		return v, fmt.Errorf("destination %v from source %v: %w", ip, source, transport.ErrInvalid)
	}
	return transport.AddressVector{IP: ip, Source: source, TrafficClass: p.TrafficClass,
		HopLimit: p.HopLimit, FlowLabel: p.FlowLabel & 0xfffff}, nil
}

// mtuCode returns the enum ibv_mtu of a path MTU.
func mtuCode(m units.Bytes) uint32 {
	code := uint32(0)
	for size := units.Bytes(256); size <= m && code < 5; size *= 2 {
		code++
	}
	return code
}

// mtuOf returns the path MTU of an enum ibv_mtu, 0 for none.
func mtuOf(code uint32) units.Bytes {
	if code < 1 || code > 5 {
		return 0
	}
	return 128 << code
}
