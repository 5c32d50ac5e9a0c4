package gopacketroce

import (
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/goroce/goroce/transport/wire"
)

// DETH is a datagram extended transport header (IB 9.3.2).
type DETH struct {
	layers.BaseLayer
	QKey  uint32
	SrcQP wire.QPN
}

// LayerType returns LayerTypeDETH.
func (*DETH) LayerType() gopacket.LayerType { return LayerTypeDETH }

// CanDecode returns LayerTypeDETH.
func (*DETH) CanDecode() gopacket.LayerClass { return LayerTypeDETH }

// NextLayerType returns the payload; only the opcode determines another header.
func (*DETH) NextLayerType() gopacket.LayerType { return gopacket.LayerTypePayload }

// DecodeFromBytes reads the header at the start of data.
func (l *DETH) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	base, err := split("DETH", data, wire.DETHLen, df)
	if err != nil {
		return err
	}
	h := wire.View[wire.DETH](data)
	*l = DETH{base, h.QKey.Get(), wire.QPN(h.SrcQP.Get())}
	return nil
}

// SerializeTo prepends the header to b.
func (l *DETH) SerializeTo(b gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	data, err := b.PrependBytes(wire.DETHLen)
	if err != nil {
		return err
	}
	wire.View[wire.DETH](data).Set(l.QKey, l.SrcQP)
	return nil
}
