package tocc

import "github.com/goroce/goroce/units"

// Lengths on the wire of goroce's frames, IPv4 without VLAN, preamble, gap and FCS included: 14
// Ethernet, 20 IP, 8 UDP, 12 BTH, 4 ICRC and 24 beyond the frame.
const (
	// PacketWire is what a packet of data takes beyond its payload. WRITE FIRST and ONLY have a
	// RETH, 16 more.
	PacketWire units.Bytes = 82
	// TokenWire is that of a TOKEN: 4 of common header and 8 of its own.
	TokenWire = PacketWire + 12
	// GrantWire is what a packet takes more that says by which credit it left (an XDATA with a
	// GRANT).
	GrantWire units.Bytes = 12
)

// Wire is what so much payload takes of the link, in packets as full as can be.
func Wire(payload, packet units.Bytes) units.Bytes {
	return payload + (payload+packet-1)/packet*PacketWire
}

// wire is what so much payload takes of the link with this scheme.
func (p *plan) wire(payload units.Bytes) units.Bytes { return p.options.wire(payload, p.unit) }

func (o *options) wire(payload, packet units.Bytes) units.Bytes {
	w := Wire(payload, packet)
	if o.generation == "rate" {
		w += (payload + packet - 1) / packet * GrantWire
	}
	return w
}

// Limiter is the share of a link that tokens get where each releases so much:
// TokenSize/(DataSize+TokenSize) (ToCC section V-C). All are bytes on the wire.
func Limiter(token, data units.Bytes) float64 { return float64(token) / float64(token+data) }
