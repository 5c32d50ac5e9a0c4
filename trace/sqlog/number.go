package sqlog

import (
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// number returns the value of a field that is a whole number.
func number(ev *trace.Event, f trace.Field) (v uint64) {
	switch f {
	case trace.FieldPSN:
		v = uint64(ev.PSN)
	case trace.FieldCount:
		v = uint64(ev.Count)
	case trace.FieldMarked:
		v = uint64(ev.Marked)
	case trace.FieldBytes:
		v = uint64(max(ev.Bytes, 0))
	case trace.FieldInFlight:
		v = uint64(max(ev.InFlight, 0))
	case trace.FieldPackets:
		v = ev.Packets
	case trace.FieldTotal:
		v = uint64(max(ev.Total, 0))
	case trace.FieldClass:
		v = uint64(ev.Class)
	case trace.FieldWindow:
		v = uint64(max(ev.Window, 0))
	case trace.FieldRate:
		v = uint64(max(ev.Rate, 0))
	}
	return v
}

// setNumber sets a field that is a whole number.
func setNumber(ev *trace.Event, f trace.Field, v uint64) {
	switch f {
	case trace.FieldPSN:
		ev.PSN = wire.PSN(v & wire.PSNMask)
	case trace.FieldCount:
		ev.Count = uint32(v)
	case trace.FieldMarked:
		ev.Marked = uint32(v)
	case trace.FieldBytes:
		ev.Bytes = units.Bytes(v)
	case trace.FieldInFlight:
		ev.InFlight = units.Bytes(v)
	case trace.FieldPackets:
		ev.Packets = v
	case trace.FieldTotal:
		ev.Total = units.Bytes(v)
	case trace.FieldClass:
		ev.Class = uint8(v)
	case trace.FieldWindow:
		ev.Window = units.Bytes(v)
	case trace.FieldRate:
		ev.Rate = units.BitRate(v)
	}
}
