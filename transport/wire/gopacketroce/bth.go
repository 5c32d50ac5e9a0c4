package gopacketroce

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/goroce/goroce/transport/wire"
)

// BTH is a base transport header (IB 9.2). Pad is what the ICRC layer's pad must be.
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

// LayerType is LayerTypeBTH.
func (*BTH) LayerType() gopacket.LayerType { return LayerTypeBTH }

// CanDecode is LayerTypeBTH.
func (*BTH) CanDecode() gopacket.LayerClass { return LayerTypeBTH }

// NextLayerType is the first extended header of the opcode, or the payload.
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
	h := wire.BTH(data)
	*l = BTH{
		BaseLayer: base, Opcode: h.Opcode(), Solicited: h.Solicited(), MigReq: h.MigReq(),
		Pad: h.Pad(), TVer: h.TVer(), PKey: h.PKey(), FECN: h.FECN(), BECN: h.BECN(),
		Reserved6: h.Reserved6(), DestQP: h.DestQP(), AckReq: h.AckReq(),
		Reserved7: h.Reserved7(), PSN: h.PSN(),
	}
	return nil
}

// SerializeTo writes the header before what b has.
func (l *BTH) SerializeTo(b gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	data, err := b.PrependBytes(wire.BTHLen)
	if err != nil {
		return err
	}
	h := wire.BTH(data)
	h.SetOpcode(l.Opcode)
	h.SetSolicited(l.Solicited)
	h.SetMigReq(l.MigReq)
	h.SetPad(l.Pad)
	h.SetTVer(l.TVer)
	h.SetPKey(l.PKey)
	h.SetFECN(l.FECN)
	h.SetBECN(l.BECN)
	h.SetReserved6(l.Reserved6)
	h.SetDestQP(l.DestQP)
	h.SetAckReq(l.AckReq)
	h.SetReserved7(l.Reserved7)
	h.SetPSN(l.PSN)
	return nil
}
