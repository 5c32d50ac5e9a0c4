package gopacketroce

import (
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/goroce/goroce/transport/wire"
)

// AETH is an acknowledge extended transport header (IB 9.3.5).
type AETH struct {
	layers.BaseLayer
	Syndrome wire.Syndrome
	MSN      uint32
}

// LayerType returns LayerTypeAETH.
func (*AETH) LayerType() gopacket.LayerType { return LayerTypeAETH }

// CanDecode returns LayerTypeAETH.
func (*AETH) CanDecode() gopacket.LayerClass { return LayerTypeAETH }

// NextLayerType returns the payload; only the opcode determines another header.
func (*AETH) NextLayerType() gopacket.LayerType { return gopacket.LayerTypePayload }

// DecodeFromBytes reads the header at the start of data.
func (l *AETH) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	base, err := split("AETH", data, wire.AETHLen, df)
	if err != nil {
		return err
	}
	h := wire.View[wire.AETH](data)
	*l = AETH{base, h.Syndrome, h.MSN.Get()}
	return nil
}

// SerializeTo prepends the header to b.
func (l *AETH) SerializeTo(b gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	data, err := b.PrependBytes(wire.AETHLen)
	if err != nil {
		return err
	}
	wire.View[wire.AETH](data).Set(l.Syndrome, l.MSN)
	return nil
}
