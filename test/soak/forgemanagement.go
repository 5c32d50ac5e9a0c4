package main

import (
	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport/wire"
)

// managementMessage returns a datagram to the communication manager of an end's host, from its
// peer's address or an unrelated one.
func (f *forger) managementMessage(end *peerEnd) []byte {
	a := f.address(end)
	a.DestQP, a.PKey = rdmacm.QPN, wire.DefaultPKey
	var t wire.Template
	if err := t.Set(a); err != nil {
		f.sim.failf("forge: %v", err)
		return nil
	}
	mad := rdmacm.Append(nil, f.rng.Uint64(), f.message(&a))
	if f.rng.chance(0.2) {
		f.flip(mad)
	}
	ext, total := t.Build(f.buf[:], wire.Fields{Op: wire.UDSendOnly}, len(mad))
	wire.View[wire.DETH](f.buf[ext:]).Set(rdmacm.QKey, rdmacm.QPN)
	copy(f.buf[ext+wire.DETHLen:], mad)
	frame := f.buf[:total]
	t.Seal(frame)
	return frame
}

// message returns a message of the communication manager: mostly a request, from few connection
// IDs, so that it repeats or contradicts others.
func (f *forger) message(a *wire.Address) rdmacm.Message {
	r := f.rng
	id, other := rdmacm.CommID(r.IntN(64)), rdmacm.CommID(r.Uint32())
	switch r.IntN(10) {
	case 0:
		return &rdmacm.REP{LocalID: id, RemoteID: other, LocalQPN: wire.QPN(r.IntN(1 << 24))}
	case 1:
		return &rdmacm.RTU{LocalID: id, RemoteID: other}
	case 2:
		return &rdmacm.DREQ{LocalID: id, RemoteID: other, RemoteQPN: wire.QPN(r.IntN(1 << 24))}
	case 3:
		return &rdmacm.REJ{LocalID: id, RemoteID: other, Reason: rdmacm.Reason(r.IntN(64))}
	case 4:
		return &rdmacm.MRA{LocalID: id, RemoteID: other, ServiceTimeout: uint8(r.IntN(32))}
	}
	req := &rdmacm.REQ{LocalID: id, Service: rdmacm.TCPService(managerPort),
		LocalQPN: wire.QPN(r.IntN(64)), LocalResponseTimeout: uint8(r.IntN(32)),
		RemoteResponseTimeout: uint8(r.IntN(32)), MaxCMRetries: uint8(r.IntN(16)),
		MTU: uint8(r.IntN(8)), PKey: wire.DefaultPKey,
		Primary: rdmacm.Path{LocalGID: a.Src, RemoteGID: a.Dst,
			LocalACKTimeout: uint8(r.IntN(32))}}
	rdmacm.IPHeader{Source: a.Src, Destination: a.Dst}.Put(req.Private[:])
	return req
}
