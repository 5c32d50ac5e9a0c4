package wire

// PSN is a packet sequence number: 24 bits that wrap (IB 9.2.1, 9.7.2). Compare PSNs with Before
// and After, never with <.
type PSN uint32

// PSNMask holds the 24 bits of a PSN.
const PSNMask = 1<<24 - 1

// Add returns the PSN n after p; uint32(-n) goes back.
func (p PSN) Add(n uint32) PSN { return (p + PSN(n)) & PSNMask }

// Sub returns the signed distance from q to p, −2²³ … 2²³−1: the bits above 24 are
// shifted out and the sign shifted back in.
func (p PSN) Sub(q PSN) int32 { return int32(p-q) << 8 >> 8 }

// Before reports whether p comes before q, within half of the PSN space (IB 9.7.2).
func (p PSN) Before(q PSN) bool { return int32(p-q)<<8 < 0 }

// After reports whether p comes after q, within half of the PSN space (IB 9.7.2).
func (p PSN) After(q PSN) bool { return int32(q-p)<<8 < 0 }

// QPN is a queue pair number, 24 bits (IB 9.2.1).
type QPN uint32

// QPNMask holds the 24 bits of a QPN.
const QPNMask = 1<<24 - 1
