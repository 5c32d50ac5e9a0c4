package sqlog

import (
	"strconv"

	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/units"
)

// The delimiters of RFC 7464.
const (
	recordSeparator = 0x1e
	lineFeed        = '\n'
)

// Decimal digits of picoseconds in the units of the log.
const (
	msDigits = 9
	nsDigits = 3
)

// encoder appends the records of one ring.
type encoder struct {
	host string // the quoted name
	ring *trace.Ring
	b    []byte
}

// event appends the record of an event.
func (e *encoder) event(ev *trace.Event) {
	if ev.Kind >= trace.Kinds {
		return
	}
	row := &trace.Schema[ev.Kind]
	b := append(e.b, recordSeparator)
	b = append(b, `{"time":`...)
	b = appendDecimal(b, int64(ev.At), msDigits)
	b = append(b, `,"name":"`...)
	b = append(b, row.Category...)
	b = append(b, ':')
	b = append(b, row.Name...)
	b = append(b, `","host":`...)
	b = append(b, e.host...)
	if ev.QP != 0 {
		b = append(b, `,"qp":`...)
		b = strconv.AppendUint(b, uint64(ev.QP), 10)
	}
	b = append(b, `,"data":{`...)
	for _, f := range row.Fields {
		b = e.field(b, f, ev)
	}
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	e.b = append(b, '}', '}', lineFeed)
}

// field appends a field and a comma, or nothing if it is zero and zero means none.
func (e *encoder) field(b []byte, f trace.Field, ev *trace.Event) []byte {
	switch f {
	case trace.FieldPSN:
		return appendUint(b, f, uint64(ev.PSN))
	case trace.FieldOp:
		return appendName(b, f, ev.Op.String())
	case trace.FieldFrom:
		return appendName(b, f, ev.From.String())
	case trace.FieldTo:
		return appendName(b, f, ev.To.String())
	case trace.FieldCause:
		return appendName(b, f, ev.Cause.String())
	case trace.FieldReason:
		if ev.Reason == trace.NoReason {
			return b
		}
		return appendName(b, f, ev.Reason.String())
	case trace.FieldPlace:
		if ev.Place == 0 {
			return b
		}
		b = strconv.AppendQuote(appendKey(b, f), e.ring.PlaceName(ev.Place))
		return append(b, ',')
	case trace.FieldRTT, trace.FieldFor, trace.FieldDelay, trace.FieldHost, trace.FieldTarget:
		d := *duration(ev, f)
		if d == 0 && f != trace.FieldFor {
			return b
		}
		return append(appendDecimal(appendKey(b, f), int64(d), nsDigits), ',')
	case trace.FieldCE, trace.FieldHold, trace.FieldAcks, trace.FieldProbe:
		if ev.Flags&flagOf[f] == 0 {
			return b
		}
		return append(appendKey(b, f), "true,"...)
	}
	return appendUint(b, f, number(ev, f))
}

// flagOf maps fields to flags.
var flagOf = map[trace.Field]trace.Flags{trace.FieldCE: trace.CE, trace.FieldHold: trace.Hold,
	trace.FieldAcks: trace.Acks, trace.FieldProbe: trace.Probe}

// duration returns where an event has a field that is a duration.
func duration(ev *trace.Event, f trace.Field) *units.Duration {
	switch f {
	case trace.FieldHost:
		return &ev.Host
	case trace.FieldTarget:
		return &ev.Target
	}
	return &ev.Delay
}

func appendKey(b []byte, f trace.Field) []byte {
	b = append(b, '"')
	b = append(b, f.String()...)
	return append(b, '"', ':')
}

func appendName(b []byte, f trace.Field, name string) []byte {
	b = append(appendKey(b, f), '"')
	b = append(b, name...)
	return append(b, '"', ',')
}

func appendUint(b []byte, f trace.Field, v uint64) []byte {
	return append(strconv.AppendUint(appendKey(b, f), v, 10), ',')
}

// appendDecimal appends v divided by ten to the power of digits, without trailing zeros.
func appendDecimal(b []byte, v int64, digits int) []byte {
	u := uint64(v)
	if v < 0 {
		b, u = append(b, '-'), -u
	}
	scale := uint64(1)
	for range digits {
		scale *= 10
	}
	b = strconv.AppendUint(b, u/scale, 10)
	if u %= scale; u == 0 {
		return b
	}
	b = append(b, '.')
	for u > 0 {
		scale /= 10
		b = append(b, '0'+byte(u/scale))
		u %= scale
	}
	return b
}
