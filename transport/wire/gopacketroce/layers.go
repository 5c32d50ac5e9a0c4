package gopacketroce

import (
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/goroce/goroce/transport/wire"
)

// The layer types. Their numbers are in gopacket's user range, derived from RoCEv2's UDP port.
var (
	LayerTypeBTH          = register(0, "BTH", decodeBTH)
	LayerTypeDETH         = register(1, "DETH", decodeAlone[DETH, *DETH])
	LayerTypeRETH         = register(2, "RETH", decodeAlone[RETH, *RETH])
	LayerTypeAETH         = register(3, "AETH", decodeAlone[AETH, *AETH])
	LayerTypeAtomicETH    = register(4, "AtomicETH", decodeAlone[AtomicETH, *AtomicETH])
	LayerTypeAtomicAckETH = register(5, "AtomicAckETH", decodeAlone[AtomicAckETH, *AtomicAckETH])
	LayerTypeImmDt        = register(6, "ImmDt", decodeAlone[ImmDt, *ImmDt])
	LayerTypeIETH         = register(7, "IETH", decodeAlone[IETH, *IETH])
	LayerTypeICRC         = register(8, "ICRC", decodeAlone[ICRC, *ICRC])
)

func register(n int, name string, decode gopacket.DecodeFunc) gopacket.LayerType {
	return gopacket.RegisterLayerType(10*wire.UDPPort+n,
		gopacket.LayerTypeMetadata{Name: name, Decoder: decode})
}

func init() { layers.RegisterUDPPortLayerType(wire.UDPPort, LayerTypeBTH) }
