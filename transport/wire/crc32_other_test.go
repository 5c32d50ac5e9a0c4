//go:build !amd64 || purego

package wire

func crcWays(crc uint32, p []byte) map[string]uint32 {
	return map[string]uint32{"updateCRC": updateCRC(crc, p)}
}
