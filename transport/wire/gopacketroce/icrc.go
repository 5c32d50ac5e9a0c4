package gopacketroce

import (
	"encoding/binary"
	"fmt"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/goroce/goroce/transport/wire"
)

// maxPad is the greatest pad count in BTH's two bits (IB 9.2.5).
const maxPad = 3

// ICRC is the end of a packet: the pad that BTH announces, and the invariant CRC, which is stored
// least significant byte first (IB 7.8.1, A17.3.3).
type ICRC struct {
	layers.BaseLayer
	Pad   uint8 // number of zero bytes before Value
	Value uint32
}

// LayerType returns LayerTypeICRC.
func (*ICRC) LayerType() gopacket.LayerType { return LayerTypeICRC }

// CanDecode returns LayerTypeICRC.
func (*ICRC) CanDecode() gopacket.LayerClass { return LayerTypeICRC }

// NextLayerType returns LayerTypeZero: no layer follows.
func (*ICRC) NextLayerType() gopacket.LayerType { return gopacket.LayerTypeZero }

// DecodeFromBytes reads pad and ICRC, which are all of data.
func (l *ICRC) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	if _, err := split("ICRC", data, wire.ICRCLen, df); err != nil {
		return err
	}
	pad := len(data) - wire.ICRCLen
	if pad > maxPad {
		return fmt.Errorf("gopacketroce: %d bytes of pad are more than %d", pad, maxPad)
	}
	*l = ICRC{layers.BaseLayer{Contents: data}, uint8(pad), binary.LittleEndian.Uint32(data[pad:])}
	return nil
}

// SerializeTo prepends pad and Value to b. Seal replaces Value with the right one.
func (l *ICRC) SerializeTo(b gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	data, err := b.PrependBytes(int(l.Pad) + wire.ICRCLen)
	if err != nil {
		return err
	}
	clear(data[:l.Pad])
	binary.LittleEndian.PutUint32(data[l.Pad:], l.Value)
	return nil
}

// Seal writes the right ICRC into a serialized frame, which begins with its Ethernet header. It
// returns the errors of wire's Packet.Parse.
func Seal(frame []byte) error {
	var p wire.Packet
	if err := p.Parse(frame); err != nil {
		return err
	}
	p.SetICRC()
	return nil
}
