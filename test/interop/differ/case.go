package differ

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
)

// The addresses of both scenes. The requester is nobody but a source of frames.
var (
	requesterMAC = [6]byte{2, 0, 0, 0, 0, 0x77}
	responderMAC = [6]byte{0x52, 0x54, 0, 0x18, 0, 1}
	requester    = map[bool]netip.Addr{
		false: netip.MustParseAddr("198.18.0.77"),
		true:  netip.MustParseAddr("fd18::77"),
	}
	responder = map[bool]netip.Addr{
		false: netip.MustParseAddr("198.18.0.1"),
		true:  netip.MustParseAddr("fd18::1"),
	}
	stranger = map[bool]netip.Addr{
		false: netip.MustParseAddr("198.18.0.78"),
		true:  netip.MustParseAddr("fd18::78"),
	}
)

// requesterQPN is the queue pair that answers go to.
const requesterQPN wire.QPN = 0x222222

// The regions, each of regionSize bytes and with rights of its own; regionOther is of another
// protection domain.
const (
	regionAll = iota
	regionWrite
	regionRead
	regionLocal // receives
	regionOther
	regions

	regionSize = 16384
)

const everything = transport.LocalWrite | transport.RemoteWrite | transport.RemoteRead |
	transport.RemoteAtomic

var regionAccess = [regions]transport.Access{
	regionAll:   everything,
	regionWrite: transport.LocalWrite | transport.RemoteWrite,
	regionRead:  transport.RemoteRead,
	regionLocal: transport.LocalWrite,
	regionOther: everything,
}

// fill gives a region the bytes that responder.c gives it.
func fill(region int, memory []byte) {
	for i := range memory {
		memory[i] = byte(i*7 + i>>8 + region*31)
	}
}

// Case is a queue pair in RTS and what is sent to it.
type Case struct {
	Seed    uint64
	Type    transport.QPType
	V6      bool
	MTU     int
	Access  transport.Access // of the queue pair
	Recvs   int              // posted
	RecvLen int              // of each
	Reads   int              // max_dest_rd_atomic
	Timer   uint8            // min_rnr_timer
	PSN     wire.PSN         // of the first packet
	QKey    uint32
	Packets []Packet
}

// Packet is one to be sent. Its zero value beside Op is a correct one; PSN is relative to the
// case's.
type Packet struct {
	What string `json:",omitempty"` // is wrong with it

	Together bool `json:",omitempty"` // with the next: no answer is waited for in between

	Op        wire.Opcode
	PSN       int32
	Payload   int  // bytes
	AckReq    bool `json:",omitempty"`
	Solicited bool `json:",omitempty"`
	MigReq    bool `json:",omitempty"`

	// The RETH, AtomicETH, IETH, ImmDt and AETH of opcodes that have them.
	Region   int             `json:",omitempty"`
	Offset   int64           `json:",omitempty"`
	Length   uint32          `json:",omitempty"`
	Operands [2]uint64       // swap or add, compare
	Imm      uint32          `json:",omitempty"`
	Syndrome wire.Syndrome   `json:",omitempty"`
	Spoilt   map[Spoil]int64 `json:",omitempty"`
}

// Spoil is a way to make a packet wrong that its other fields cannot express.
type Spoil string

// The ways. The number that comes with each says how.
const (
	SpoilPad     Spoil = "pad"     // added to the pad count, of 2 bits
	SpoilTVer    Spoil = "tver"    // the version
	SpoilPKey    Spoil = "pkey"    // the P_Key
	SpoilByte4   Spoil = "byte4"   // FECN, BECN and reserved bits
	SpoilByte8   Spoil = "byte8"   // the reserved bits beside AckReq
	SpoilQPN     Spoil = "qpn"     // flipped bits of the destination queue pair
	SpoilKey     Spoil = "key"     // flipped bits of R_Key
	SpoilQKey    Spoil = "qkey"    // flipped bits of Q_Key
	SpoilCut     Spoil = "cut"     // bytes cut off before the ICRC
	SpoilUDPLen  Spoil = "udplen"  // added to UDP's length
	SpoilICRC    Spoil = "icrc"    // flipped bits of the ICRC
	SpoilSource  Spoil = "source"  // another source address
	SpoilTOS     Spoil = "tos"     // DSCP and ECN
	SpoilUDPPort Spoil = "udpport" // the source port
)

// String shows a packet in a line.
func (p *Packet) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v psn %+d, %d bytes", p.Op, p.PSN, p.Payload)
	info := p.Op.Info()
	if info.RETH {
		fmt.Fprintf(&b, ", RETH region %d%+d length %d", p.Region, p.Offset, p.Length)
	}
	if info.AtomicETH {
		fmt.Fprintf(
			&b,
			", region %d%+d operands %#x %#x",
			p.Region,
			p.Offset,
			p.Operands[0],
			p.Operands[1],
		)
	}
	if info.AETH {
		fmt.Fprintf(&b, ", %v", p.Syndrome)
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{p.AckReq, "AckReq"}, {p.Solicited, "SE"}, {p.MigReq, "M"}, {p.Together, "and at once"}} {
		if f.on {
			b.WriteString(", " + f.name)
		}
	}
	for _, how := range slices.Sorted(maps.Keys(p.Spoilt)) {
		fmt.Fprintf(&b, ", %s %#x", how, p.Spoilt[how])
	}
	if p.What != "" {
		b.WriteString(" (" + p.What + ")")
	}
	return b.String()
}

// String shows the queue pair of a case in a line.
func (c *Case) String() string {
	return fmt.Sprintf(
		"seed %d: %v, MTU %d, IPv%d, access %04b, %d receives of %d bytes, "+
			"max_dest_rd_atomic %d, PSN %#x, %d packets",
		c.Seed,
		c.Type,
		c.MTU,
		map[bool]int{false: 4, true: 6}[c.V6],
		c.Access,
		c.Recvs,
		c.RecvLen,
		c.Reads,
		uint32(c.PSN),
		len(c.Packets),
	)
}

// has says whether a packet is spoilt in a way.
func (p *Packet) has(how Spoil) bool {
	_, ok := p.Spoilt[how]
	return ok
}

func (p *Packet) spoil(how Spoil, n int64) {
	if p.Spoilt == nil {
		p.Spoilt = map[Spoil]int64{}
	}
	p.Spoilt[how] = n
}
