package wire

import (
	"encoding/binary"

	"github.com/goroce/goroce/internal/extension"
)

// srcLen is the length of the body of an SRC: two reserved bytes and a report.
const srcLen = 2 + extension.QueueReportLen

// maxSRC is the length of the longest frame of an SRC, with a VLAN tag and over IPv6.
const maxSRC = MaxOverhead + XCHLen + srcLen + ICRCLen

// BuildSRC builds the SRC with which a switch reports its queue to the sender of data, an XDATA
// with a Bolt: the addresses of data swapped, its UDP source port, PSN and tag, and the queue pair
// that the Bolt names. It writes the frame into room, which has 94 bytes or more, and returns it,
// or nil if data has no Bolt.
func BuildSRC(room, data []byte, tos uint8, report [extension.QueueReportLen]byte) []byte {
	l3, bth, tlv := switchTLV(data)
	t := extension.AsBolt(tlv)
	if t == nil {
		return nil
	}
	total := bth + BTHLen + XCHLen + srcLen + ICRCLen
	frame := room[:total]
	copy(frame, data[:bth+BTHLen+XCHLen])
	copy(frame, data[6:12])
	copy(frame[6:], data[:6])
	if data[l3]>>4 == 4 {
		copy(frame[l3+12:], data[l3+16:l3+20])
		copy(frame[l3+16:], data[l3+12:l3+16])
		ip := View[IPv4](frame[l3:])
		ip.TotalLen.Set(uint16(total - l3))
		ip.TOS = tos
		ip.TTL = defaultTTL
		ip.UpdateChecksum()
	} else {
		copy(frame[l3+8:], data[l3+24:l3+40])
		copy(frame[l3+24:], data[l3+8:l3+24])
		ip := View[IPv6](frame[l3:])
		ip.PayloadLen.Set(uint16(total - l3 - IPv6Len))
		ip.SetTrafficClass(tos)
		ip.HopLimit = defaultTTL
	}
	View[UDP](frame[bth-UDPLen:]).Len.Set(uint16(total - bth + UDPLen))
	h := View[BTH](frame[bth:])
	h.Opcode, h.Flags, h.Congestion, h.Ack = SRC, 0, 0, 0
	h.DestQP.Set(t.Sender())
	body := frame[bth+BTHLen:]
	x := View[XCH](body)
	x.Set(x.Tag.Get(), 0)
	clear(body[XCHLen : XCHLen+srcLen])
	copy(body[XCHLen+srcLen-extension.QueueReportLen:], report[:])
	end := total - ICRCLen
	binary.LittleEndian.PutUint32(frame[end:], icrc(frame[l3:end], data[l3]>>4 == 6))
	return frame
}
