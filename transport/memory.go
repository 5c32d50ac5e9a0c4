package transport

import (
	"crypto/subtle"
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/internal/endpoint"
)

// ProtectionDomain groups memory regions and queue pairs (ibv_pd): a key is valid only on the queue
// pairs of its own domain.
type ProtectionDomain struct {
	ep    *Endpoint
	users int  // regions, queue pairs, SRQs and address handles
	freed bool // by Dealloc
}

// AllocPD creates a protection domain (ibv_alloc_pd).
func (e *Endpoint) AllocPD() *ProtectionDomain { return &ProtectionDomain{ep: e} }

// Dealloc deallocates the domain (ibv_dealloc_pd). It returns ErrBusy while anything exists in it.
func (pd *ProtectionDomain) Dealloc() error {
	switch {
	case pd.freed:
		return fmt.Errorf("transport: deallocate PD: it was deallocated before: %w", ErrInvalid)
	case pd.users > 0:
		return fmt.Errorf(
			"transport: deallocate PD: %d regions, queue pairs, SRQs and address handles "+
				"are in it; destroy them first: %w", pd.users, ErrBusy)
	}
	pd.freed = true
	return nil
}

// noPD is the error text for a domain in which nothing can be created.
const noPD = "want a protection domain of this endpoint that is still allocated"

// serves reports whether objects of e can be created in the domain. A nil domain serves none.
func (pd *ProtectionDomain) serves(e *Endpoint) bool { return pd != nil && pd.ep == e && !pd.freed }

// Access is what may be done to a memory region, or through a queue pair (ibv_access_flags).
type Access uint8

// The access rights. Local reads are always allowed.
const (
	LocalWrite Access = 1 << iota
	RemoteWrite
	RemoteRead
	RemoteAtomic
	// RemoteInvalidate allows a SEND with invalidate to end the region's key, as of a
	// fast-registered region or a type 2 window.
	RemoteInvalidate
)

// MemoryRegion is memory that work requests and peers may name by key and address (ibv_mr). Its
// bytes belong to the caller; the transport accesses them only inside Poll.
type MemoryRegion struct {
	// Addr is the virtual address of the first byte; LKey and RKey are its keys, which are equal.
	Addr uint64
	LKey uint32
	RKey uint32

	pd      *ProtectionDomain
	mem     []byte
	foreign endpoint.ForeignMemory // nil: mem
	size    uint64
	access  Access
}

// RegisterMemory makes mem a memory region of pd (ibv_reg_mr). The endpoint chooses its address,
// page aligned; the key is random.
func (e *Endpoint) RegisterMemory(pd *ProtectionDomain, mem []byte, access Access) (*MemoryRegion,
	error) {
	addr := e.nextAddr
	mr, err := e.RegisterMemoryAt(pd, mem, addr, access)
	if err == nil {
		e.nextAddr = e.addressAfter(mr)
	}
	return mr, err
}

// RegisterMemoryAt is RegisterMemory with a chosen address (ibv_reg_mr_iova). Regions may overlap:
// the key selects one.
func (e *Endpoint) RegisterMemoryAt(pd *ProtectionDomain, mem []byte, addr uint64,
	access Access) (*MemoryRegion, error) {
	return e.register(&MemoryRegion{Addr: addr, mem: mem, size: uint64(len(mem)), pd: pd,
		access: access})
}

// RegisterForeign is RegisterMemoryAt for memory of another process. A copy that fails ends the
// request or the message as access to a region that is too short does.
func (e *Endpoint) RegisterForeign(pd *ProtectionDomain, f endpoint.ForeignMemory, addr uint64,
	access Access) (*MemoryRegion, error) {
	if e.staging == nil {
		e.staging = &staging{}
	}
	return e.register(&MemoryRegion{Addr: addr, foreign: f, size: f.Size(), pd: pd, access: access})
}

// register gives a region its place in a domain, and its keys.
func (e *Endpoint) register(mr *MemoryRegion) (*MemoryRegion, error) {
	pd, access := mr.pd, mr.access
	switch {
	case !pd.serves(e):
		return nil, fmt.Errorf("transport: register memory: "+noPD+": %w", ErrInvalid)
	case mr.Addr+mr.size < mr.Addr:
		return nil, fmt.Errorf("transport: register memory: %d bytes at %#x pass the end of the "+
			"address space: %w", mr.size, mr.Addr, ErrInvalid)
	case access&(RemoteWrite|RemoteAtomic) != 0 && access&LocalWrite == 0:
		return nil, fmt.Errorf("transport: register memory: remote write and atomic access need "+
			"local write: %w", ErrInvalid)
	case e.regions.count == maxRegions:
		return nil, fmt.Errorf("transport: register memory: %d regions: %w", maxRegions, ErrLimit)
	}
	key := e.regions.add(mr, e.secrets.keys)
	mr.LKey, mr.RKey = key, key
	pd.users++
	return mr, nil
}

// Deregister ends the region, and invalidates its keys (ibv_dereg_mr).
func (mr *MemoryRegion) Deregister() {
	if mr.pd.ep.regions.remove(mr) {
		mr.pd.users--
	}
}

// Valid reports whether the region's keys are valid. Deregister, OpLocalInv or the peer's SEND with
// invalidate ends that.
func (mr *MemoryRegion) Valid() bool { return mr.pd.ep.regions.find(mr.LKey) == mr }

// Bytes returns the memory of the region, nil if it is another process's.
func (mr *MemoryRegion) Bytes() []byte { return mr.mem }

// SGE returns an element for n bytes of the region at offset.
func (mr *MemoryRegion) SGE(offset, n int) SGE {
	return SGE{Addr: mr.Addr + uint64(offset), Length: uint32(n), LKey: mr.LKey}
}

// contains reports whether n bytes at addr lie inside the region.
func (mr *MemoryRegion) contains(addr uint64, n uint32) bool {
	offset := addr - mr.Addr
	return offset <= mr.size && uint64(n) <= mr.size-offset
}

// allows reports whether the region exists, and allows the access to n bytes at addr.
func (mr *MemoryRegion) allows(addr uint64, n uint32, access Access) bool {
	return mr != nil && mr.access&access == access && mr.contains(addr, n)
}

// slice returns n bytes at addr, which lie inside a region of this process.
func (mr *MemoryRegion) slice(addr uint64, n uint32) []byte {
	offset := addr - mr.Addr
	return mr.mem[offset : offset+uint64(n) : offset+uint64(n)]
}

// region returns the region that a key names, or nil if it names none of pd.
func (pd *ProtectionDomain) region(key uint32) *MemoryRegion {
	if mr := pd.ep.regions.find(key); mr != nil && mr.pd == pd {
		return mr
	}
	return nil
}

// find returns the region with the n bytes at addr that a key names, if the key is one of pd and
// allows the access. Zero bytes are always accessible, and need no region: their key is not checked
// (InfiniBand spec 9.7.5.1.5).
func (pd *ProtectionDomain) find(addr uint64, n uint32, key uint32, access Access) (
	mr *MemoryRegion, ok bool) {
	if n == 0 {
		return nil, true
	}
	mr = pd.region(key)
	return mr, mr.allows(addr, n, access)
}

// source returns n bytes at addr to be sent, which are valid until the next call. The message has
// ahead bytes there, and first marks its beginning.
func (pd *ProtectionDomain) source(addr uint64, n, key uint32, access Access, ahead uint32,
	first bool) ([]byte, bool) {
	if n == 0 {
		return nil, true
	}
	mr := pd.region(key)
	if !mr.allows(addr, n, access) {
		return nil, false
	}
	if mr.foreign == nil {
		return mr.slice(addr, n), true
	}
	return mr.source(addr, n, ahead, first)
}

func (mr *MemoryRegion) source(addr uint64, n, ahead uint32, first bool) ([]byte, bool) {
	if mr.foreign != nil {
		return mr.pd.ep.staging.read(mr, addr, n, ahead, first)
	}
	return mr.slice(addr, n), true
}

// place writes a payload that has arrived to addr. More of its message follows there, or not.
func (pd *ProtectionDomain) place(qp *QueuePair, response bool, addr uint64, key uint32,
	access Access, payload []byte, more bool) bool {
	if len(payload) == 0 {
		return true
	}
	mr := pd.region(key)
	if !mr.allows(addr, uint32(len(payload)), access) {
		return false
	}
	if mr.foreign != nil {
		return mr.pd.ep.staging.write(qp, response, mr, addr, payload, more)
	}
	copy(mr.slice(addr, uint32(len(payload))), payload)
	return true
}

// keyTable maps keys to regions with one array access. Keys are random 32-bit numbers whose low
// bits are unique in the table.
type keyTable struct {
	slots []keySlot
	count int
}

// keySlot is an entry of a keyTable. It is empty if its key is 0, which no region has.
type keySlot struct {
	key uint32
	mr  *MemoryRegion
}

func (t *keyTable) slot(key uint32) *keySlot { return &t.slots[int(key)&(len(t.slots)-1)] }

// find returns the region of a key, or nil. A peer's guess takes the same steps whichever of its
// bits are wrong, and whether or not its slot is empty, so that their duration reveals nothing
// about a valid key.
func (t *keyTable) find(key uint32) *MemoryRegion {
	if len(t.slots) == 0 {
		return nil
	}
	s := t.slot(key)
	if subtle.ConstantTimeEq(int32(s.key), int32(key)) == 0 {
		return nil
	}
	return s.mr
}

// add gives mr a key. At most half of the slots are used, so two draws find a free one on average.
func (t *keyTable) add(mr *MemoryRegion, random rand.Source) uint32 {
	if 2*(t.count+1) > len(t.slots) {
		t.grow()
	}
	for {
		key := uint32(random.Uint64() >> 32)
		if s := t.slot(key); s.mr == nil && key != 0 {
			*s = keySlot{key, mr}
			t.count++
			return key
		}
	}
}

func (t *keyTable) grow() {
	old := t.slots
	t.slots = make([]keySlot, max(64, 2*len(old)))
	for _, s := range old {
		if s.mr != nil {
			*t.slot(s.key) = s
		}
	}
}

func (t *keyTable) remove(mr *MemoryRegion) bool {
	if t.find(mr.LKey) != mr {
		return false
	}
	*t.slot(mr.LKey) = keySlot{}
	t.count--
	return true
}
