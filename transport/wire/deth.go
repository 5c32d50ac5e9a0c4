package wire

// DETHLen is the length of a datagram extended transport header.
const DETHLen = 8

// DETH is a datagram extended transport header: the sender, and the key that authorizes it
// (IB 9.3.2).
type DETH struct {
	QKey  BE32 // queue key of the destination
	_     uint8
	SrcQP BE24 // queue pair that sent the packet
}

// Set writes all fields, and 0 into the reserved byte.
func (h *DETH) Set(qkey uint32, src QPN) {
	*h = DETH{}
	h.QKey.Set(qkey)
	h.SrcQP.Set(uint32(src))
}
