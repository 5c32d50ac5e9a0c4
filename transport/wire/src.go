package wire

import "encoding/binary"

// SRCLen is what an SRC has behind its XCH: two reserved bytes and a QueueReport.
const SRCLen = 2 + queueReportLen

// MaxSRC is the length of the longest frame of an SRC, with a VLAN tag and over IPv6.
const MaxSRC = MaxOverhead + XCHLen + SRCLen + ICRCLen

// Report is what the switch that made an SRC says of its queue.
func (p *Packet) Report() QueueReport { return queueReport(p.Ext()[XCHLen+SRCLen-queueReportLen:]) }

// BuildSRC writes into room, MaxSRC bytes or more, what a switch tells the sender of a data packet
// that has a Bolt: the packet's addresses the other way round, its UDP source port, PSN and tag,
// for the queue pair that the Bolt names. It answers the frame, nil when the packet has no Bolt.
func BuildSRC(room, data []byte, tos uint8, r QueueReport) []byte {
	l3, bth, t := findTLV(data, TLVBolt)
	if t == nil {
		return nil
	}
	total := bth + BTHLen + XCHLen + SRCLen + ICRCLen
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
	h.DestQP.Set(uint32(Bolt(t).Sender()))
	body := frame[bth+BTHLen:]
	XCH(body).Set(XCH(body).Tag(), 0)
	clear(body[XCHLen : XCHLen+SRCLen-queueReportLen])
	r.put(body[XCHLen+SRCLen-queueReportLen:])
	end := total - ICRCLen
	binary.LittleEndian.PutUint32(frame[end:], icrc(frame[l3:end], data[l3]>>4 == 6))
	return frame
}
