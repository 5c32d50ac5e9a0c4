package sqlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// maxRecord is longer than any record of a Log.
const maxRecord = 64 << 10

// Reader reads a log.
type Reader struct {
	// Sample is the share of PSNs of which the log has sampled events, Title its title.
	Sample float64
	Title  string

	r      *bufio.Reader
	offset int64 // of the record being read
	next   int64 // of the record behind it
	names  map[string]string
}

// Record is an event of a log.
type Record struct {
	trace.Event
	Host string // the endpoint or network that recorded it
	Port string // the port of a network, if the event is about one
}

// SyntaxError is an error of a log: the offset of the record in bytes, and the rule that it breaks.
type SyntaxError struct {
	Offset int64
	Rule   string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Rule) }

func (r *Reader) bad(format string, args ...any) error {
	return &SyntaxError{r.offset, fmt.Sprintf(format, args...)}
}

// Is reports whether data begins as a log does.
func Is(data []byte) bool { return len(data) > 1 && data[0] == recordSeparator && data[1] == '{' }

// NewReader reads the header of a log.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{r: bufio.NewReaderSize(in, maxRecord), names: map[string]string{}}
	text, err := r.record()
	if errors.Is(err, io.EOF) {
		return nil, r.bad("the log is empty; its first record must be a qlog header")
	}
	if err != nil {
		return nil, err
	}
	var h header
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, r.bad("the header is not JSON: %v", err)
	}
	c := &h.Trace.CommonFields
	switch {
	case h.SerializationFormat != serializationFormat:
		return nil, r.bad("serialization_format is %q, want %q", h.SerializationFormat,
			serializationFormat)
	case len(h.Trace.EventSchemas) != 1 || h.Trace.EventSchemas[0] != eventSchema:
		return nil, r.bad("event_schemas is %q, want %q", h.Trace.EventSchemas, eventSchema)
	case c.TimeFormat != timeFormat:
		return nil, r.bad("time_format is %q, want %q", c.TimeFormat, timeFormat)
	case !(c.Sample >= 0 && c.Sample <= 1):
		return nil, r.bad("a sample of %v is not in 0..1", c.Sample)
	}
	r.Sample, r.Title = c.Sample, h.Title
	return r, nil
}

// Offset returns how many bytes have been read.
func (r *Reader) Offset() int64 { return r.next }

// record returns the text of the next record, valid until the next call, or io.EOF.
func (r *Reader) record() ([]byte, error) {
	r.offset = r.next
	line, err := r.r.ReadSlice(lineFeed)
	r.next += int64(len(line))
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, r.bad("the record is longer than %d bytes", maxRecord)
	case errors.Is(err, io.EOF) && len(line) == 0:
		return nil, io.EOF
	case errors.Is(err, io.EOF):
		return nil, r.bad("the last record is cut off: it must end with a line feed")
	case err != nil:
		return nil, err
	case line[0] != recordSeparator:
		return nil, r.bad("a record must begin with the byte 0x1e (RFC 7464), not %#02x", line[0])
	}
	return line[1:], nil
}

// entry is the JSON form of an event.
type entry struct {
	Time json.Number                `json:"time"`
	Name string                     `json:"name"`
	Host string                     `json:"host"`
	QP   uint32                     `json:"qp"`
	Data map[string]json.RawMessage `json:"data"`
}

// Next reads the next event into rec. It returns io.EOF at the end of the log.
func (r *Reader) Next(rec *Record) error {
	text, err := r.record()
	if err != nil {
		return err
	}
	var e entry
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return r.bad("the record is not an event: %v", err)
	}
	if strings.TrimSpace(string(text[d.InputOffset():])) != "" {
		return r.bad("text behind the event")
	}
	kind, ok := kindOf[e.Name]
	if !ok {
		return r.bad("unknown event %q", e.Name)
	}
	at, ok := parseDecimal(string(e.Time), msDigits)
	if !ok {
		return r.bad("time %q is not a number of milliseconds", e.Time)
	}
	if e.QP > wire.PSNMask {
		return r.bad("queue pair %d has more than 24 bits", e.QP)
	}
	*rec = Record{Host: r.intern(e.Host), Event: trace.Event{At: units.Time(at), Kind: kind,
		QP: wire.QPN(e.QP)}}
	return r.fields(rec, e.Data)
}

// maxNames bounds the interned names; a log has a few.
const maxNames = 1 << 16

// intern returns s from a table, so that a million events share a name.
func (r *Reader) intern(s string) string {
	if known, ok := r.names[s]; ok {
		return known
	}
	if len(r.names) < maxNames {
		r.names[s] = s
	}
	return s
}

// fields sets the fields of an event.
func (r *Reader) fields(rec *Record, data map[string]json.RawMessage) error {
	known := 0
	for _, f := range trace.Schema[rec.Kind].Fields {
		raw, ok := data[f.String()]
		if !ok {
			continue
		}
		known++
		if !r.field(rec, f, string(raw)) {
			return r.bad("%s: %s is %.40s, which is not one of its values", rec.Kind.Name(), f, raw)
		}
	}
	if known < len(data) {
		return r.bad("%s: a field that it does not have", rec.Kind.Name())
	}
	return nil
}

// field sets one field. It reports whether the text is a value of it.
func (r *Reader) field(rec *Record, f trace.Field, raw string) (ok bool) {
	ev := &rec.Event
	switch f {
	case trace.FieldOp:
		ev.Op, ok = lookup(opcodeOf, raw)
	case trace.FieldReason:
		ev.Reason, ok = lookup(reasonOf, raw)
	case trace.FieldFrom:
		ev.From, ok = lookup(stateOf, raw)
	case trace.FieldTo:
		ev.To, ok = lookup(stateOf, raw)
	case trace.FieldCause:
		ev.Cause, ok = lookup(causeOf, raw)
	case trace.FieldPlace:
		var name string
		ok = json.Unmarshal([]byte(raw), &name) == nil
		rec.Port = r.intern(name)
	case trace.FieldRTT, trace.FieldFor, trace.FieldDelay, trace.FieldHost, trace.FieldTarget:
		var v int64
		v, ok = parseDecimal(raw, nsDigits)
		*duration(ev, f) = units.Duration(v)
	case trace.FieldCE, trace.FieldHold, trace.FieldAcks, trace.FieldProbe:
		if ok = raw == "true" || raw == "false"; raw == "true" {
			ev.Flags |= flagOf[f]
		}
	default:
		var v int64
		v, ok = parseDecimal(raw, 0)
		if ok = ok && v >= 0; ok {
			setNumber(ev, f, uint64(v))
		}
	}
	return ok
}

// parseDecimal returns a decimal number times ten to the power of digits. It reports false for
// other text, and for numbers with more digits or out of range.
func parseDecimal(s string, digits int) (v int64, ok bool) {
	negative := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	whole, fraction, _ := strings.Cut(s, ".")
	if whole == "" || len(fraction) > digits {
		return 0, false
	}
	for _, c := range whole + fraction + strings.Repeat("0", digits-len(fraction)) {
		if c < '0' || c > '9' || v > (math.MaxInt64-9)/10 {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	if negative {
		v = -v
	}
	return v, true
}

// lookup returns the value of a quoted name.
func lookup[T any](names map[string]T, raw string) (v T, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return v, false
	}
	v, ok = names[raw[1:len(raw)-1]]
	return v, ok
}

// The names of the values of fields.
var (
	kindOf   = named(trace.Kinds, trace.Kind.Name)
	opcodeOf = named(wire.Opcode(255), wire.Opcode.String)
	reasonOf = named(trace.Reason(255), trace.Reason.String)
	stateOf  = named(trace.State(255), trace.State.String)
	causeOf  = named(cc.Kind(255), cc.Kind.String)
)

// named returns the values below end by their names; of those with one name, the first.
func named[T ~uint8](end T, name func(T) string) map[string]T {
	m := map[string]T{}
	for v := T(0); v < end; v++ {
		if _, ok := m[name(v)]; !ok {
			m[name(v)] = v
		}
	}
	return m
}
