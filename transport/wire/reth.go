package wire

// RETHLen is the length of an RDMA extended transport header (IB 9.3.3).
const RETHLen = 16

// RETH is an RDMA extended transport header: where a WRITE goes, what a READ wants (IB 9.3.3).
type RETH []byte

// VA is the virtual address.
func (h RETH) VA() uint64 { return be64(h) }

// RKey is the key of the memory region at the responder.
func (h RETH) RKey() uint32 { return be32(h[8:]) }

// Len is the length of the whole message, not of this packet.
func (h RETH) Len() uint32 { return be32(h[12:]) }

// SetVA writes the virtual address.
func (h RETH) SetVA(va uint64) { putBE64(h, va) }

// SetRKey writes the key of the memory region.
func (h RETH) SetRKey(key uint32) { putBE32(h[8:], key) }

// SetLen writes the length of the message.
func (h RETH) SetLen(n uint32) { putBE32(h[12:], n) }

// Set writes all fields.
func (h RETH) Set(va uint64, rkey, length uint32) {
	h.SetLen(length)
	h.SetVA(va)
	h.SetRKey(rkey)
}
