package gopacketroce

import (
	"errors"
	"fmt"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/goroce/goroce/transport/wire"
)

// ErrTruncated reports data too short for a header, or for the headers, pad and ICRC of a packet.
var ErrTruncated = errors.New("gopacketroce: packet cut short")

// layer is implemented by all layers of this package.
type layer interface {
	gopacket.DecodingLayer
	gopacket.Layer
}

// split splits data into a header of n bytes and the rest.
func split(name string, data []byte, n int, df gopacket.DecodeFeedback) (layers.BaseLayer, error) {
	if len(data) < n {
		df.SetTruncated()
		return layers.BaseLayer{}, fmt.Errorf("%w: %s of %d bytes, not %d", ErrTruncated, name,
			len(data), n)
	}
	return layers.BaseLayer{Contents: data[:n], Payload: data[n:]}, nil
}

// extended returns empty layers for the extended headers of an opcode, in wire order.
func extended(i *wire.OpcodeInfo) (all []layer) {
	for _, h := range []struct {
		present bool
		layer   layer
	}{
		{i.DETH, new(DETH)}, {i.RETH, new(RETH)}, {i.AETH, new(AETH)}, {i.AtomicETH,
			new(AtomicETH)},
		{i.Kind == wire.AtomicAck, new(AtomicAckETH)}, {i.Imm, new(ImmDt)}, {i.Inv, new(IETH)},
	} {
		if h.present {
			all = append(all, h.layer)
		}
	}
	return all
}

// decodeBTH decodes a whole packet, because only the opcode determines the other headers. Behind an
// unknown opcode, and behind those of goroce's extension, everything up to the ICRC is payload, as
// are the reserved bytes of a CNP.
func decodeBTH(data []byte, p gopacket.PacketBuilder) error {
	bth := new(BTH)
	if err := add(bth, data, p); err != nil {
		return err
	}
	rest := bth.Payload
	for _, l := range extended(bth.Opcode.Info()) {
		if err := add(l, rest, p); err != nil {
			return err
		}
		rest = l.LayerPayload()
	}
	tail := int(bth.Pad) + wire.ICRCLen
	if len(rest) < tail {
		p.SetTruncated()
		return fmt.Errorf("%w: %d bytes for pad and ICRC, not %d", ErrTruncated, len(rest), tail)
	}
	if n := len(rest) - tail; n > 0 {
		payload := gopacket.Payload(rest[:n])
		p.AddLayer(&payload)
		p.SetApplicationLayer(&payload)
		rest = rest[n:]
	}
	return add(new(ICRC), rest, p)
}

func add(l layer, data []byte, p gopacket.PacketBuilder) error {
	if err := l.DecodeFromBytes(data, p); err != nil {
		return err
	}
	p.AddLayer(l)
	return nil
}

// decodeAlone decodes a single header, requested by its layer type; the rest is payload.
func decodeAlone[L any, P interface {
	*L
	layer
}](data []byte, p gopacket.PacketBuilder) error {
	l := P(new(L))
	if err := add(l, data, p); err != nil {
		return err
	}
	return p.NextDecoder(l.NextLayerType())
}
