package wire

// DETHLen is the length of a datagram extended transport header (IB 9.3.2).
const DETHLen = 8

// DETH is a datagram extended transport header: who sends, and the key that lets it (IB 9.3.2).
type DETH []byte

// QKey is the queue key of the destination.
func (h DETH) QKey() uint32 { return be32(h) }

// SrcQP is the queue pair that sent the packet.
func (h DETH) SrcQP() QPN { return QPN(be24(h[4:])) }

// Set writes all fields, the reserved byte as 0.
func (h DETH) Set(qkey uint32, src QPN) {
	putBE32(h[4:], uint32(src)&QPNMask)
	putBE32(h, qkey)
}
