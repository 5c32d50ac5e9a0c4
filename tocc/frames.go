package tocc

import "github.com/goroce/goroce/units"

// Lengths on the wire of goroce's frames over IPv4 without VLAN, preamble, gap and FCS included: 14
// Ethernet, 20 IP, 8 UDP, 12 BTH, 4 ICRC and 24 beyond the frame.
const (
	// PacketWire is the overhead of a data packet. WRITE FIRST and ONLY have a RETH, 16 bytes more.
	PacketWire units.Bytes = 82
	// TokenWire is the length of a TOKEN: 4 of common header and 8 of its own.
	TokenWire = PacketWire + 12
	// GrantWire is the further overhead of a packet that names its credit (an XDATA with a GRANT).
	GrantWire units.Bytes = 12
)

// Wire returns the length on the wire of a payload in full packets.
func Wire(payload, packet units.Bytes) units.Bytes {
	return payload + (payload+packet-1)/packet*PacketWire
}

// wire returns the length on the wire of a payload with this scheme.
func (p *plan) wire(payload units.Bytes) units.Bytes { return p.options.wire(payload, p.unit) }

func (o *options) wire(payload, packet units.Bytes) units.Bytes {
	w := Wire(payload, packet)
	if o.generation == "rate" {
		w += (payload + packet - 1) / packet * GrantWire
	}
	return w
}

// Limiter returns the share of a link for tokens that release data bytes each:
// TokenSize/(DataSize+TokenSize) (ToCC section V-C). Both lengths are on the wire.
func Limiter(token, data units.Bytes) float64 { return float64(token) / float64(token+data) }
