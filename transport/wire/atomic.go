package wire

// AtomicETHLen is the length of an atomic extended transport header (IB 9.3.4).
const AtomicETHLen = 28

// AtomicAckETHLen is the length of an atomic acknowledge extended transport header (IB 9.3.6).
const AtomicAckETHLen = 8

// AtomicETH is an atomic extended transport header: the operands of CMP_SWAP and FETCH_ADD
// (IB 9.3.4).
type AtomicETH []byte

// VA is the virtual address, a multiple of 8.
func (h AtomicETH) VA() uint64 { return be64(h) }

// RKey is the key of the memory region at the responder.
func (h AtomicETH) RKey() uint32 { return be32(h[8:]) }

// SwapAdd is what CMP_SWAP stores and what FETCH_ADD adds.
func (h AtomicETH) SwapAdd() uint64 { return be64(h[12:]) }

// Compare is what CMP_SWAP compares with; FETCH_ADD ignores it.
func (h AtomicETH) Compare() uint64 { return be64(h[20:]) }

// Set writes all fields.
func (h AtomicETH) Set(va uint64, rkey uint32, swapAdd, compare uint64) {
	putBE64(h[20:], compare)
	putBE64(h, va)
	putBE32(h[8:], rkey)
	putBE64(h[12:], swapAdd)
}

// AtomicAckETH is an atomic acknowledge extended transport header, behind an AETH (IB 9.3.6).
type AtomicAckETH []byte

// Original is the value in memory before the operation.
func (h AtomicAckETH) Original() uint64 { return be64(h) }

// SetOriginal writes the value that was in memory.
func (h AtomicAckETH) SetOriginal(v uint64) { putBE64(h, v) }
