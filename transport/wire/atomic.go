package wire

// The lengths of an atomic extended transport header and of an atomic acknowledge extended
// transport header, which is one number (IB 9.3.4, 9.3.6).
const (
	atomicETHLen    = 28
	atomicAckETHLen = 8
)

// AtomicETH is an atomic extended transport header: the operands of CMP_SWAP and FETCH_ADD
// (IB 9.3.4).
type AtomicETH struct {
	VA      BE64 // virtual address, a multiple of 8
	RKey    BE32 // key of the memory region at the responder
	SwapAdd BE64 // the value that CMP_SWAP stores or FETCH_ADD adds
	Compare BE64 // the value that CMP_SWAP compares with; FETCH_ADD ignores it
}

// Set writes all fields.
func (h *AtomicETH) Set(va uint64, rkey uint32, swapAdd, compare uint64) {
	h.VA.Set(va)
	h.RKey.Set(rkey)
	h.SwapAdd.Set(swapAdd)
	h.Compare.Set(compare)
}
