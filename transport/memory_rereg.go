package transport

import "fmt"

// Rereg selects what Reregister changes (IBV_REREG_MR_CHANGE_*).
type Rereg uint8

// The flags of Reregister.
const (
	ReregTranslation Rereg = 1 << iota // the memory, and with it the address
	ReregPD
	ReregAccess
)

// Reregister changes the memory, the protection domain or the access of a region, as flags say; the
// other arguments have no effect (ibv_rereg_mr). New memory of another process is what the region's
// ForeignMemory stands for by then. The keys stay; new memory has a new address. No
// request or peer may use the region meanwhile. If it returns an error, nothing has changed.
func (mr *MemoryRegion) Reregister(flags Rereg, pd *ProtectionDomain, mem []byte,
	access Access) error {
	e := mr.pd.ep
	if flags&ReregAccess == 0 {
		access = mr.access
	}
	switch {
	case !mr.Valid():
		return fmt.Errorf("transport: reregister memory: its keys are not valid: %w", ErrInvalid)
	case flags == 0 || flags > ReregTranslation|ReregPD|ReregAccess:
		return fmt.Errorf("transport: reregister memory: flags %#x, want some of %#x: %w",
			uint8(flags), uint8(ReregTranslation|ReregPD|ReregAccess), ErrInvalid)
	case flags&ReregPD != 0 && !pd.serves(e):
		return fmt.Errorf("transport: reregister memory: "+noPD+": %w", ErrInvalid)
	case access&(RemoteWrite|RemoteAtomic) != 0 && access&LocalWrite == 0:
		return fmt.Errorf("transport: reregister memory: remote write and atomic access need "+
			"local write: %w", ErrInvalid)
	}
	mr.access = access
	if flags&ReregPD != 0 {
		mr.pd.users--
		mr.pd = pd
		pd.users++
	}
	if flags&ReregTranslation != 0 {
		mr.Addr, mr.mem, mr.size = e.nextAddr, mem, uint64(len(mem))
		if mr.foreign != nil {
			mr.mem, mr.size = nil, mr.foreign.Size()
		}
		e.nextAddr = e.addressAfter(mr)
	}
	return nil
}

// addressAfter returns the address of the region after mr, with an unmapped page in between.
func (e *Endpoint) addressAfter(mr *MemoryRegion) uint64 {
	size := (mr.size + addressAlign - 1) &^ (addressAlign - 1)
	return mr.Addr + size + addressAlign
}
