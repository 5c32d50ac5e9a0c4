package wire

// RETHLen is the length of an RDMA extended transport header.
const RETHLen = 16

// RETH is an RDMA extended transport header: the memory that a WRITE writes or a READ reads
// (IB 9.3.3).
type RETH struct {
	VA   BE64 // virtual address
	RKey BE32 // key of the memory region at the responder
	Len  BE32 // length of the whole message in bytes, not of this packet
}

// Set writes all fields.
func (h *RETH) Set(va uint64, rkey, length uint32) {
	h.VA.Set(va)
	h.RKey.Set(rkey)
	h.Len.Set(length)
}
