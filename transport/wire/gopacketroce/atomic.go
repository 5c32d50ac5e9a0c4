package gopacketroce

import (
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/goroce/goroce/transport/wire"
)

// The lengths of the headers.
const (
	atomicETHLen    = 28
	atomicAckETHLen = 8
)

// AtomicETH is an atomic extended transport header (IB 9.3.4).
type AtomicETH struct {
	layers.BaseLayer
	VA      uint64
	RKey    uint32
	SwapAdd uint64
	Compare uint64
}

// LayerType returns LayerTypeAtomicETH.
func (*AtomicETH) LayerType() gopacket.LayerType { return LayerTypeAtomicETH }

// CanDecode returns LayerTypeAtomicETH.
func (*AtomicETH) CanDecode() gopacket.LayerClass { return LayerTypeAtomicETH }

// NextLayerType returns the payload; only the opcode determines another header.
func (*AtomicETH) NextLayerType() gopacket.LayerType { return gopacket.LayerTypePayload }

// DecodeFromBytes reads the header at the start of data.
func (l *AtomicETH) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	base, err := split("AtomicETH", data, atomicETHLen, df)
	if err != nil {
		return err
	}
	h := wire.View[wire.AtomicETH](data)
	*l = AtomicETH{base, h.VA.Get(), h.RKey.Get(), h.SwapAdd.Get(), h.Compare.Get()}
	return nil
}

// SerializeTo prepends the header to b.
func (l *AtomicETH) SerializeTo(b gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	data, err := b.PrependBytes(atomicETHLen)
	if err != nil {
		return err
	}
	wire.View[wire.AtomicETH](data).Set(l.VA, l.RKey, l.SwapAdd, l.Compare)
	return nil
}

// AtomicAckETH is an atomic acknowledge extended transport header (IB 9.3.6).
type AtomicAckETH struct {
	layers.BaseLayer
	Original uint64
}

// LayerType returns LayerTypeAtomicAckETH.
func (*AtomicAckETH) LayerType() gopacket.LayerType { return LayerTypeAtomicAckETH }

// CanDecode returns LayerTypeAtomicAckETH.
func (*AtomicAckETH) CanDecode() gopacket.LayerClass { return LayerTypeAtomicAckETH }

// NextLayerType returns the payload; only the opcode determines another header.
func (*AtomicAckETH) NextLayerType() gopacket.LayerType { return gopacket.LayerTypePayload }

// DecodeFromBytes reads the header at the start of data.
func (l *AtomicAckETH) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	base, err := split("AtomicAckETH", data, atomicAckETHLen, df)
	if err != nil {
		return err
	}
	h := wire.View[wire.BE64](data)
	*l = AtomicAckETH{base, h.Get()}
	return nil
}

// SerializeTo prepends the header to b.
func (l *AtomicAckETH) SerializeTo(b gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	data, err := b.PrependBytes(atomicAckETHLen)
	if err != nil {
		return err
	}
	wire.View[wire.BE64](data).Set(l.Original)
	return nil
}
