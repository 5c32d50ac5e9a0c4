package fabric

import (
	"encoding/binary"

	"github.com/goroce/goroce/transport/wire"
)

// corrupt inverts one bit after the Ethernet header, chosen by r. A packet that has no invariant
// CRC (Config.OffloadICRC) gets it first, so that the receiver detects the corruption.
func (f *frame) corrupt(r uint64) {
	data := f.mem[:f.len]
	var p wire.Packet
	if p.Parse(data) != nil || !isZero(data[len(data)-wire.ICRCLen:]) {
		f.flip(r)
		return
	}
	p.SetICRC()
	f.flip(r)
	if crc := data[len(data)-wire.ICRCLen:]; isZero(crc) {
		crc[0] = 1 // not 0, which the receiver would not check
	}
}

func isZero(crc []byte) bool { return binary.LittleEndian.Uint32(crc) == 0 }

// sequenceNumber returns the last four bytes of the BTH of a RoCEv2 packet: its acknowledgement
// request and sequence number. It returns 0 for a shorter frame.
func (f *frame) sequenceNumber(data []byte) uint32 {
	end := int(f.l3) + wire.IPv4Len + wire.UDPLen + wire.BTHLen
	if data[f.l3]>>4 == 6 {
		end += wire.IPv6Len - wire.IPv4Len
	}
	if end > len(data) {
		return 0
	}
	return binary.LittleEndian.Uint32(data[end-4:])
}
