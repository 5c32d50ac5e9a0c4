package transport

import (
	"encoding/binary"

	"github.com/goroce/goroce/transport/wire"
)

// hasICRC reports whether a frame of a port with packet.OffloadICRC has an invariant CRC.
func hasICRC(frame []byte) bool {
	return binary.LittleEndian.Uint32(frame[len(frame)-wire.ICRCLen:]) != 0
}
