package transport

import "github.com/goroce/goroce/transport/wire"

// place is the position of a packet in its message.
type place uint8

const (
	placeFirst place = iota
	placeMiddle
	placeLast
	placeOnly
)

func placeOf(first, last bool) place {
	switch {
	case first && last:
		return placeOnly
	case first:
		return placeFirst
	case last:
		return placeLast
	}
	return placeMiddle
}

// opcodesRC has the opcodes of each operation by place (InfiniBand spec table 38).
var opcodesRC = [OpRead][4]wire.Opcode{
	OpSend:     {wire.RCSendFirst, wire.RCSendMiddle, wire.RCSendLast, wire.RCSendOnly},
	OpSendImm:  {wire.RCSendFirst, wire.RCSendMiddle, wire.RCSendLastImm, wire.RCSendOnlyImm},
	OpSendInv:  {wire.RCSendFirst, wire.RCSendMiddle, wire.RCSendLastInv, wire.RCSendOnlyInv},
	OpWrite:    {wire.RCWriteFirst, wire.RCWriteMiddle, wire.RCWriteLast, wire.RCWriteOnly},
	OpWriteImm: {wire.RCWriteFirst, wire.RCWriteMiddle, wire.RCWriteLastImm, wire.RCWriteOnlyImm},
}

// opcodesUC has those of the unreliable connection.
var opcodesUC = [OpRead][4]wire.Opcode{
	OpSend:     {wire.UCSendFirst, wire.UCSendMiddle, wire.UCSendLast, wire.UCSendOnly},
	OpSendImm:  {wire.UCSendFirst, wire.UCSendMiddle, wire.UCSendLastImm, wire.UCSendOnlyImm},
	OpWrite:    {wire.UCWriteFirst, wire.UCWriteMiddle, wire.UCWriteLast, wire.UCWriteOnly},
	OpWriteImm: {wire.UCWriteFirst, wire.UCWriteMiddle, wire.UCWriteLastImm, wire.UCWriteOnlyImm},
}
