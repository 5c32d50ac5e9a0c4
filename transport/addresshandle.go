package transport

import (
	"fmt"

	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/transport/wire"
)

// AddressHandle is a destination for datagrams (ibv_ah).
type AddressHandle struct {
	ep       *Endpoint
	pd       *ProtectionDomain // nil: destroyed
	neighbor *neigh.Entry
	gen      uint32
	tmpl     wire.Template
}

// CreateAH creates an address handle (ibv_create_ah) and starts to resolve its next hop.
func (e *Endpoint) CreateAH(pd *ProtectionDomain, path AddressVector) (*AddressHandle, error) {
	if !pd.serves(e) {
		return nil, fmt.Errorf("transport: create AH: "+noPD+": %w", ErrInvalid)
	}
	if path.SourcePort == 0 {
		path.SourcePort = firstPort
	}
	address, err := e.address(path, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("transport: create AH: %w", err)
	}
	ah := &AddressHandle{ep: e, pd: pd}
	if err := ah.tmpl.Set(address); err != nil {
		return nil, fmt.Errorf("transport: create AH: %w", err)
	}
	if ah.neighbor, err = e.neighbors.Hold(path.IP, e.now); err != nil {
		return nil, fmt.Errorf("transport: create AH: %w", err)
	}
	pd.users++
	return ah, nil
}

// Destroy destroys the handle (ibv_destroy_ah). Requests posted with it may still leave.
func (ah *AddressHandle) Destroy() {
	if ah.pd == nil {
		return
	}
	ah.ep.neighbors.Release(ah.neighbor)
	ah.pd.users--
	ah.pd = nil
}

// resolved reports whether the destination's MAC address is known, and writes it to the template.
func (ah *AddressHandle) resolved() bool {
	if ah.neighbor.Evicted() { // since Destroy; a request still waits
		if neighbor, err := ah.ep.neighbors.Resolve(ah.neighbor.IP(), ah.ep.now); err == nil {
			ah.neighbor, ah.gen = neighbor, 0
		}
	}
	return resolved(ah.neighbor, &ah.gen, &ah.tmpl)
}

// isResolved reports whether the MAC address of the queue pair's next hop is known.
func (qp *QueuePair) isResolved() bool {
	return resolved(qp.neighbor, &qp.neighborGen, &qp.tmpl)
}

func resolved(n *neigh.Entry, gen *uint32, t *wire.Template) bool {
	if g := n.Generation(); g != *gen {
		mac, ok := n.MAC()
		if !ok {
			return false
		}
		t.SetDstMAC(mac)
		*gen = g
	}
	return *gen != 0
}
