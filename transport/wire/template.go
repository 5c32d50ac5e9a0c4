package wire

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
)

// MaxOverhead is the greatest Overhead: Ethernet, VLAN tag, IPv6, UDP and BTH.
const MaxOverhead = EthernetLen + vlanLen + IPv6Len + UDPLen + BTHLen

// overhead4 is the overhead of IPv4 without a VLAN tag, the case that Build is optimized for.
const overhead4 = EthernetLen + IPv4Len + UDPLen + BTHLen

// DefaultPKey is the partition key of which every port is a full member (IB 10.9.1.2).
const DefaultPKey = 0xffff

// dontFragment is DF of an IPv4 header's Fragment.
const dontFragment = 0x4000

// defaultTTL is the initial hop limit of rdma-core and most NICs.
const defaultTTL = 64

// Address has the header fields that all packets of a flow have in common.
type Address struct {
	SrcMAC, DstMAC [6]byte
	VLAN           uint16 // tag control information: priority and identifier; 0 for untagged
	Src, Dst       netip.Addr
	SrcPort        uint16 // entropy for equal-cost paths (A17.3.1.3)
	TOS            uint8  // DSCP and ECN: IPv4's TOS, IPv6's traffic class
	TTL            uint8  // 0 is 64
	FlowLabel      uint32 // of IPv6, 20 bits
	PKey           uint16 // 0 is DefaultPKey: 0 itself is not a valid key (IB 10.9.1.1)
	DestQP         QPN
	NoICRC         bool // write 0 in place of the invariant CRC, see packet.OffloadICRC
}

// Template is the headers of a flow, from Ethernet to BTH, as bytes. Set must be called before
// anything else.
type Template struct {
	len     uint8 // bytes of headers in use
	l3      uint8 // offset of the IP header
	v6      bool
	noICRC  bool
	sum     uint32 // ones' complement sum of the IPv4 header without its length
	headers [MaxOverhead]byte
}

// Set writes the headers of a flow: IPv4 with DF and ID 0 (A17.3.1.1), UDP checksum 0
// over both families.
func (t *Template) Set(a Address) error {
	src, dst := a.Src.Unmap().WithZone(""), a.Dst.Unmap().WithZone("")
	if !src.IsValid() || src.BitLen() != dst.BitLen() {
		return fmt.Errorf("%w: source %v and destination %v are not of one family", ErrAddress,
			a.Src, a.Dst)
	}
	if a.FlowLabel >= 1<<20 {
		return fmt.Errorf("%w: flow label 0x%x has more than 20 bits", ErrAddress, a.FlowLabel)
	}
	if a.DestQP > QPNMask {
		return fmt.Errorf("%w: queue pair 0x%x has more than 24 bits", ErrAddress, uint32(a.DestQP))
	}
	if a.TTL == 0 {
		a.TTL = defaultTTL
	}
	if a.PKey == 0 {
		a.PKey = DefaultPKey
	}
	*t = Template{v6: src.Is6(), noICRC: a.NoICRC}
	t.setEthernet(&a)
	if t.v6 {
		t.setIPv6(&a, src, dst)
	} else {
		t.setIPv4(&a, src, dst)
	}
	udp := View[UDP](t.headers[t.len:])
	udp.SrcPort.Set(a.SrcPort)
	udp.DstPort.Set(UDPPort)
	t.len += UDPLen + BTHLen
	t.bth().PKey.Set(a.PKey)
	t.bth().DestQP.Set(uint32(a.DestQP))
	return nil
}

func (t *Template) setEthernet(a *Address) {
	eth := View[Ethernet](t.headers[:])
	eth.Dst = a.DstMAC
	eth.Src = a.SrcMAC
	t.l3 = EthernetLen
	if a.VLAN != 0 {
		View[VLAN](t.headers[EthernetLen:]).TCI.Set(a.VLAN)
		eth.EtherType.Set(EtherTypeVLAN)
		t.l3 += vlanLen
	}
	etherType := uint16(EtherTypeIPv4)
	if t.v6 {
		etherType = EtherTypeIPv6
	}
	putBE16(t.headers[t.l3-2:], etherType)
}

func (t *Template) setIPv4(a *Address, src, dst netip.Addr) {
	ip := View[IPv4](t.headers[t.l3:])
	ip.VersionIHL, ip.Protocol = 0x45, ProtocolUDP
	ip.Fragment.Set(dontFragment)
	ip.TOS = a.TOS
	ip.TTL = a.TTL
	ip.Src, ip.Dst = src.As4(), dst.As4()
	t.sum = uint32(fold16(ip.sum()))
	t.len = t.l3 + IPv4Len
}

func (t *Template) setIPv6(a *Address, src, dst netip.Addr) {
	ip := View[IPv6](t.headers[t.l3:])
	ip.VersionClassFlow.Set(6<<28 | uint32(a.TOS)<<20 | a.FlowLabel)
	ip.NextHeader = ProtocolUDP
	ip.HopLimit = a.TTL
	ip.Src, ip.Dst = src.As16(), dst.As16()
	t.len = t.l3 + IPv6Len
}

// bth returns the BTH, the last of the headers.
func (t *Template) bth() *BTH { return View[BTH](t.headers[t.len-BTHLen:]) }

// Dst returns the destination address; it is not valid before Set.
func (t *Template) Dst() netip.Addr {
	switch {
	case t.len == 0:
		return netip.Addr{}
	case t.v6:
		return netip.AddrFrom16(View[IPv6](t.headers[t.l3:]).Dst)
	}
	return netip.AddrFrom4(View[IPv4](t.headers[t.l3:]).Dst)
}

// SetDstMAC changes the destination MAC address, after neighbour discovery.
func (t *Template) SetDstMAC(mac [6]byte) { View[Ethernet](t.headers[:]).Dst = mac }

// SetDestQP changes the queue pair that packets are for.
func (t *Template) SetDestQP(qp QPN) { t.bth().DestQP.Set(uint32(qp)) }

// SetPKey changes the partition that packets are of.
func (t *Template) SetPKey(key uint16) { t.bth().PKey.Set(key) }

// TTL returns the initial hop limit.
func (t *Template) TTL() uint8 {
	if t.v6 {
		return View[IPv6](t.headers[t.l3:]).HopLimit
	}
	return View[IPv4](t.headers[t.l3:]).TTL
}

// Overhead returns the length of the headers without the extended ones: 54 over IPv4, 74 over IPv6,
// and 4 more with a VLAN tag. A frame is Overhead, the opcode's Ext, payload, pad and ICRCLen.
func (t *Template) Overhead() int { return int(t.len) }

// Fields has the header fields that differ between the packets of a flow.
type Fields struct {
	Op    Opcode
	Flags Flags
	PSN   PSN
}

// Flags has the bits of a BTH that differ between the packets of a flow. It is one byte so that
// Fields is passed in registers: a struct of single bytes is passed in memory, written in pieces
// and read at once, which stalls the processor.
type Flags uint8

// The flags.
const (
	AckReq    Flags = 1 << iota // the responder acknowledges the packet
	Solicited                   // SE: the responder raises an event
	BECN                        // of a CNP (A17.9.3)
	// the next ACK has a Timing; like the following, of goroce's extension
	AskTiming

	// a token arrived with congestion experienced since the packet before
	MarkTokenMarked Flags = 0x10
	MarkWantsMore   Flags = 0x20 // more than a bandwidth-delay product waits
	MarkUnscheduled Flags = 0x40 // sent without a token
)

// When returns f if on, otherwise 0.
func (f Flags) When(on bool) Flags {
	if on {
		return f
	}
	return 0
}

// bit returns mask if f has the flag, otherwise 0.
func (f Flags) bit(flag Flags, mask uint8) uint8 {
	if f&flag != 0 {
		return mask
	}
	return 0
}

// Build writes the headers of a packet with payload bytes of payload to frame, which must have room
// for the whole packet. It returns the offset of the extended headers and the length of the frame,
// with pad and ICRC. The caller writes the extended headers (f.Op.Info().Ext bytes) and the payload
// there, then calls Seal, or SealCopy for the payload and the rest. Build does not
// write to frame from ext on. The payload of an XACK is its TLVs, that of an XDATA its TLVs and
// the extended headers and payload of the inner opcode.
func (t *Template) Build(frame []byte, f Fields, payload int) (ext, total int) {
	ext = int(t.len)
	pad := -payload & 3
	total = ext + int(opcodes[f.Op].Ext) + payload + pad + ICRCLen
	frame = frame[:total]
	if ext == overhead4 {
		*(*[overhead4]byte)(frame) = [overhead4]byte(t.headers[:]) // a few moves, no call
	} else {
		copy(frame, t.headers[:ext])
	}

	length := total - ext + BTHLen + UDPLen
	if t.v6 {
		View[IPv6](frame[t.l3:]).PayloadLen.Set(uint16(length))
	} else {
		ip := (*[IPv4Len]byte)(frame[t.l3:])
		putBE16(ip[2:], uint16(length+IPv4Len))
		sum := uint64(t.sum) + uint64(bits.ReverseBytes16(uint16(length+IPv4Len)))
		binary.LittleEndian.PutUint16(ip[10:], ^fold16(sum))
	}
	h := (*[UDPLen + BTHLen]byte)(frame[ext-UDPLen-BTHLen:])
	putBE16(h[4:], uint16(length))
	bth := h[UDPLen:]
	bth[0] = uint8(f.Op)
	bth[1] = uint8(pad)<<bthPadShift | f.Flags.bit(Solicited, BTHSolicited)
	bth[4] = f.Flags.bit(BECN, BTHBECN)
	putBE32(bth[8:],
		uint32(f.PSN)&PSNMask|uint32(f.Flags.bit(AckReq, BTHAckReq)|f.Flags.bit(AskTiming,
			bthAskTiming)|uint8(f.Flags)&bthMarks)<<24)
	return ext, total
}

// BuildLike writes the headers of a packet that differ in the PSN alone from those in like, which
// Build wrote. Like Build, it leaves the extended headers, the payload and Seal to the caller.
func (t *Template) BuildLike(frame, like []byte, psn PSN) {
	if t.len == overhead4 {
		*(*[overhead4]byte)(frame) = [overhead4]byte(like)
	} else {
		copy(frame, like[:t.len])
	}
	last := frame[t.len-4 : t.len]
	putBE32(last, binary.BigEndian.Uint32(last)&^PSNMask|uint32(psn)&PSNMask)
}

// SetFrameTOS changes DSCP and ECN of a frame, between Build and Seal.
func (t *Template) SetFrameTOS(frame []byte, tos uint8) {
	if t.v6 {
		View[IPv6](frame[t.l3:]).SetTrafficClass(tos)
		return
	}
	ip := View[IPv4](frame[t.l3:])
	ip.TOS = tos
	ip.UpdateChecksum()
}

// TOS returns DSCP and ECN.
func (t *Template) TOS() uint8 {
	if t.v6 {
		return View[IPv6](t.headers[t.l3:]).TrafficClass()
	}
	return t.headers[t.l3+1]
}

// Seal zeroes the pad and writes the ICRC of a frame that has the length returned by Build. With
// Address.NoICRC it writes 0
// (IB 9.2.5, A17.3.3).
func (t *Template) Seal(frame []byte) {
	end := len(frame) - ICRCLen
	pad := int(frame[t.len-BTHLen+1] >> bthPadShift & 3)
	for i := range pad {
		frame[end-1-i] = 0
	}
	if t.noICRC {
		binary.LittleEndian.PutUint32(frame[end:], 0)
		return
	}
	b := frame[t.l3:end]
	if Opcode(frame[t.len-BTHLen]) == XDATA {
		binary.LittleEndian.PutUint32(frame[end:], icrcXDATA(b, int(t.len-t.l3)-BTHLen, t.v6))
		return
	}
	binary.LittleEndian.PutUint32(frame[end:], icrc(b, t.v6))
}
