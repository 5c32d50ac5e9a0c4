package gopacketroce

import (
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/goroce/goroce/transport/wire"
)

// RETH is an RDMA extended transport header (IB 9.3.3).
type RETH struct {
	layers.BaseLayer
	VA        uint64
	RKey      uint32
	DMALength uint32
}

// LayerType returns LayerTypeRETH.
func (*RETH) LayerType() gopacket.LayerType { return LayerTypeRETH }

// CanDecode returns LayerTypeRETH.
func (*RETH) CanDecode() gopacket.LayerClass { return LayerTypeRETH }

// NextLayerType returns the payload; only the opcode determines another header.
func (*RETH) NextLayerType() gopacket.LayerType { return gopacket.LayerTypePayload }

// DecodeFromBytes reads the header at the start of data.
func (l *RETH) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	base, err := split("RETH", data, wire.RETHLen, df)
	if err != nil {
		return err
	}
	h := wire.View[wire.RETH](data)
	*l = RETH{base, h.VA.Get(), h.RKey.Get(), h.Len.Get()}
	return nil
}

// SerializeTo prepends the header to b.
func (l *RETH) SerializeTo(b gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	data, err := b.PrependBytes(wire.RETHLen)
	if err != nil {
		return err
	}
	wire.View[wire.RETH](data).Set(l.VA, l.RKey, l.DMALength)
	return nil
}
