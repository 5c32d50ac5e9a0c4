package gopacketroce

import (
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/goroce/goroce/transport/wire"
)

// BTH is a base transport header (IB 9.2). Pad must equal the ICRC layer's pad.
type BTH struct {
	layers.BaseLayer
	Opcode    wire.Opcode
	Solicited bool
	MigReq    bool
	Pad       uint8
	TVer      uint8
	PKey      uint16
	FECN      bool
	BECN      bool
	Reserved6 uint8
	DestQP    wire.QPN
	AckReq    bool
	Reserved7 uint8
	PSN       wire.PSN
}

// LayerType returns LayerTypeBTH.
func (*BTH) LayerType() gopacket.LayerType { return LayerTypeBTH }

// CanDecode returns LayerTypeBTH.
func (*BTH) CanDecode() gopacket.LayerClass { return LayerTypeBTH }

// NextLayerType returns the first extended header of the opcode, or the payload.
func (l *BTH) NextLayerType() gopacket.LayerType {
	if all := extended(l.Opcode.Info()); len(all) > 0 {
		return all[0].LayerType()
	}
	return gopacket.LayerTypePayload
}

// DecodeFromBytes reads the header at the start of data.
func (l *BTH) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	base, err := split("BTH", data, wire.BTHLen, df)
	if err != nil {
		return err
	}
	h := wire.View[wire.BTH](data)
	*l = BTH{
		BaseLayer: base, Opcode: h.Opcode, PKey: h.PKey.Get(),
		Solicited: h.Flags&wire.BTHSolicited != 0, MigReq: h.Flags&wire.BTHMigReq != 0,
		Pad: h.Flags & wire.BTHPad >> padShift, TVer: h.Flags & wire.BTHTVer,
		FECN: h.Congestion&wire.BTHFECN != 0, BECN: h.Congestion&wire.BTHBECN != 0,
		Reserved6: h.Congestion & reserved6, DestQP: wire.QPN(h.DestQP.Get()),
		AckReq: h.Ack&wire.BTHAckReq != 0, Reserved7: h.Ack & reserved7,
		PSN: wire.PSN(h.PSN.Get()),
	}
	return nil
}

// SerializeTo prepends the header to b.
func (l *BTH) SerializeTo(b gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	data, err := b.PrependBytes(wire.BTHLen)
	if err != nil {
		return err
	}
	h := wire.View[wire.BTH](data)
	h.Opcode = l.Opcode
	h.Flags = bit(l.Solicited, wire.BTHSolicited) | bit(l.MigReq, wire.BTHMigReq) |
		l.Pad<<padShift&wire.BTHPad | l.TVer&wire.BTHTVer
	h.PKey.Set(l.PKey)
	h.Congestion = bit(l.FECN, wire.BTHFECN) | bit(l.BECN, wire.BTHBECN) | l.Reserved6&reserved6
	h.DestQP.Set(uint32(l.DestQP))
	h.Ack = bit(l.AckReq, wire.BTHAckReq) | l.Reserved7&reserved7
	h.PSN.Set(uint32(l.PSN))
	return nil
}

// The bits of a BTH that wire has no name for.
const (
	padShift  = 4
	reserved6 = 0x3f
	reserved7 = 0x7f
)

// bit returns mask if on, otherwise 0.
func bit(on bool, mask uint8) uint8 {
	if on {
		return mask
	}
	return 0
}
