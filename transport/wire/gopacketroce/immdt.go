package gopacketroce

import (
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/goroce/goroce/transport/wire"
)

// ImmDt is immediate data (IB 9.3.8).
type ImmDt struct {
	layers.BaseLayer
	Imm uint32
}

// LayerType returns LayerTypeImmDt.
func (*ImmDt) LayerType() gopacket.LayerType { return LayerTypeImmDt }

// CanDecode returns LayerTypeImmDt.
func (*ImmDt) CanDecode() gopacket.LayerClass { return LayerTypeImmDt }

// NextLayerType returns the payload; only the opcode determines another header.
func (*ImmDt) NextLayerType() gopacket.LayerType { return gopacket.LayerTypePayload }

// DecodeFromBytes reads the header at the start of data.
func (l *ImmDt) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	base, err := split("ImmDt", data, wire.ImmDtLen, df)
	if err != nil {
		return err
	}
	h := wire.View[wire.BE32](data)
	*l = ImmDt{base, h.Get()}
	return nil
}

// SerializeTo prepends the header to b.
func (l *ImmDt) SerializeTo(b gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	data, err := b.PrependBytes(wire.ImmDtLen)
	if err != nil {
		return err
	}
	wire.View[wire.BE32](data).Set(l.Imm)
	return nil
}

// IETH is an invalidate extended transport header (IB 9.3.7).
type IETH struct {
	layers.BaseLayer
	RKey uint32
}

// LayerType returns LayerTypeIETH.
func (*IETH) LayerType() gopacket.LayerType { return LayerTypeIETH }

// CanDecode returns LayerTypeIETH.
func (*IETH) CanDecode() gopacket.LayerClass { return LayerTypeIETH }

// NextLayerType returns the payload; only the opcode determines another header.
func (*IETH) NextLayerType() gopacket.LayerType { return gopacket.LayerTypePayload }

// DecodeFromBytes reads the header at the start of data.
func (l *IETH) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	base, err := split("IETH", data, wire.ImmDtLen, df)
	if err != nil {
		return err
	}
	h := wire.View[wire.BE32](data)
	*l = IETH{base, h.Get()}
	return nil
}

// SerializeTo prepends the header to b.
func (l *IETH) SerializeTo(b gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	data, err := b.PrependBytes(wire.ImmDtLen)
	if err != nil {
		return err
	}
	wire.View[wire.BE32](data).Set(l.RKey)
	return nil
}
