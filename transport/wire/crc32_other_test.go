//go:build !amd64 || purego

package wire

func crcWays(crc uint32, p []byte) map[string]uint32 {
	return map[string]uint32{"updateCRC": updateCRC(crc, p)}
}

func icrcWays(p []byte, v6 bool) map[string]uint32 {
	return map[string]uint32{"icrc": icrc(p, v6)}
}
