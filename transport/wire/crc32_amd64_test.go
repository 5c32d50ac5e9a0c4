//go:build !purego

package wire

// crcWays returns crc continued over p, by every implementation that this processor supports.
func crcWays(crc uint32, p []byte) map[string]uint32 {
	ways := map[string]uint32{"updateCRC": updateCRC(crc, p)}
	if len(p) < minFold {
		return ways
	}
	o := newOverlay(&noMask, crc)
	if hasPCLMUL {
		ways["PCLMUL"] = foldPCLMUL(&p[0], len(p), &o)
	}
	if hasAVX512 {
		ways["AVX512"] = foldAVX512(&p[0], len(p), &o)
	}
	return ways
}

// icrcWays returns the invariant CRC of p in every way that this processor has.
func icrcWays(p []byte, v6 bool) map[string]uint32 {
	ways := map[string]uint32{"icrc": icrc(p, v6)}
	o := &overlay4
	if v6 {
		o = &overlay6
	}
	if hasPCLMUL {
		ways["PCLMUL"] = foldPCLMUL(&p[0], len(p), o)
	}
	if hasAVX512 {
		ways["AVX512"] = foldAVX512(&p[0], len(p), o)
	}
	return ways
}
