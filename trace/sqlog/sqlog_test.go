package sqlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport/wire"
)

// filled returns an event of a kind with a value in each of its fields.
func filled(kind trace.Kind, place trace.Place) trace.Event {
	ev := trace.Event{At: 12345678901234567, Kind: kind, QP: 0x11}
	for _, f := range trace.Schema[kind].Fields {
		switch f {
		case trace.FieldOp:
			ev.Op = wire.RCSendOnly
		case trace.FieldReason:
			ev.Reason = trace.LostSACK
		case trace.FieldFrom:
			ev.From = trace.RTR
		case trace.FieldTo:
			ev.To = trace.RTS
		case trace.FieldCause:
			ev.Cause = cc.RTO
		case trace.FieldPlace:
			ev.Place = place
		case trace.FieldRTT, trace.FieldFor, trace.FieldDelay, trace.FieldHost, trace.FieldTarget:
			*duration(&ev, f) = 123456
		case trace.FieldCE, trace.FieldHold, trace.FieldAcks, trace.FieldProbe:
			ev.Flags |= flagOf[f]
		default:
			setNumber(&ev, f, 77)
		}
	}
	return ev
}

// TestRoundTrip writes an event of each kind and reads it again. Each record is JSON.
func TestRoundTrip(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.sqlog")
	l, err := Create(name, Options{Sample: 0.25, Title: "a test", Virtual: true, Size: 4,
		Reference: time.Unix(1, 0)})
	require.NoError(t, err)
	r := l.Ring(`odd "name"`)
	place := r.Place("s0:1")
	var want []trace.Event
	for k := range trace.Kinds {
		want = append(want, filled(k, place))
		r.Record(&want[k])
	}
	r.Record(&trace.Event{Kind: trace.Kinds}) // ignored
	require.Zero(t, l.Lost())
	require.NoError(t, l.Close())

	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.True(t, Is(text))
	for _, record := range bytes.Split(text[1:], []byte{recordSeparator}) {
		require.True(t, json.Valid(record), "%s", record)
	}
	in, err := NewReader(bytes.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, 0.25, in.Sample)
	require.Equal(t, "a test", in.Title)
	for _, w := range want {
		var rec Record
		require.NoError(t, in.Next(&rec))
		require.Equal(t, `odd "name"`, rec.Host)
		if w.Place != 0 {
			require.Equal(t, "s0:1", rec.Port)
			w.Place = 0
		}
		require.Equal(t, w, rec.Event)
	}
	require.ErrorIs(t, in.Next(new(Record)), io.EOF)
	require.EqualValues(t, len(text), in.Offset())
}

// TestOverflowIsStated checks that the log states the events that it lacks.
func TestOverflowIsStated(t *testing.T) {
	var b bytes.Buffer
	l, err := New(&b, Options{Sample: 1, Size: 4})
	require.NoError(t, err)
	r := l.Ring("x")
	l.mu.Lock() // the goroutine cannot empty it
	for range 10 {
		r.Record(&trace.Event{Kind: trace.CNPSent, QP: 1})
	}
	l.mu.Unlock()
	require.NoError(t, l.Close())
	in, err := NewReader(&b)
	require.NoError(t, err)
	kinds := map[trace.Kind]int{}
	var last Record
	for in.Next(&last) == nil {
		kinds[last.Kind]++
	}
	require.Equal(t, map[trace.Kind]int{trace.CNPSent: 4, trace.EventsLost: 1}, kinds)
	require.EqualValues(t, 6, last.Packets)
}

func TestNilLog(t *testing.T) {
	var l *Log
	require.Nil(t, l.Ring("x"))
	require.NoError(t, l.Close())
}

func TestBadOptions(t *testing.T) {
	_, err := Create(filepath.Join(t.TempDir(), "no", "x"), Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = New(io.Discard, Options{Sample: 1.5})
	require.ErrorContains(t, err, "1.5 is not in 0..1")
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteError(t *testing.T) {
	l, err := New(broken{}, Options{})
	require.NoError(t, err)
	require.ErrorContains(t, l.Close(), "disk full")
}

// head is the header of a valid log.
func head(t testing.TB) string {
	var b bytes.Buffer
	l, err := New(&b, Options{Virtual: true})
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return b.String()
}

func TestErrors(t *testing.T) {
	h := head(t)
	event := "\x1e" + `{"time":1,"name":"cc:cnp_sent","host":"x","qp":1,"data":{}}` + "\n"
	with := func(old, text string) string { return h + strings.Replace(event, old, text, 1) }
	header := func(old, text string) string { return strings.Replace(h, old, text, 1) }
	timeout := `{"time":1,"name":"recovery:timeout","data":{"psn":-1}}`
	for text, want := range map[string]string{
		"":                     "byte 0: the log is empty",
		"{}\n":                 "byte 0: a record must begin with the byte 0x1e",
		"\x1e{}\n":             "serialization_format",
		"\x1e{\n":              "byte 0: the header is not JSON",
		"\x1e{}":               "cut off",
		h + "x\n":              fmt.Sprintf("byte %d: a record must begin", len(h)),
		h + event + "\x1e{}\n": fmt.Sprintf("byte %d: unknown event", len(h)+len(event)),
		h + event[:20]:         "cut off",
		with("cnp_sent", "x"):  `unknown event "cc:x"`,

		with(`"time":1`, `"time":"a"`):          "not an event",
		with(`:1,"n`, `:1e3,"n`):                "not a number of milliseconds",
		with(`"qp":1`, `"qp":16777216`):         "more than 24 bits",
		with(`{}`, `{"psn":1}`):                 "a field that it does not have",
		with(`}}`, `}} 1`):                      "text behind",
		with(`"qp"`, `"x"`):                     "unknown field",
		h + "\x1e" + strings.Repeat("x", 1<<16): "longer than",
		h + "\x1e" + timeout + "\n":             "psn is -1",
		header(":events:1", ":events:2"):        "event_schemas",
		header("to_epoch", "x"):                 "time_format",
		header(`"sample":0`, `"sample":2`):      "a sample of 2",
	} {
		r, err := NewReader(strings.NewReader(text))
		for err == nil {
			err = r.Next(new(Record))
		}
		require.ErrorContains(t, err, want, "%.200q", text)
		require.ErrorAs(t, err, new(*SyntaxError))
	}
}

func TestDecimal(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 999, 1000, -1500, 123456789, math.MaxInt64 / 100} {
		for _, digits := range []int{0, nsDigits, msDigits} {
			s := string(appendDecimal(nil, v, digits))
			if got, ok := parseDecimal(s, digits); ok || v < math.MaxInt64/1000 {
				require.True(t, ok, s)
				require.Equal(t, v, got, s)
			}
		}
	}
	for _, s := range []string{"", "-", ".5", "1.0001", "1x", "99999999999999999999"} {
		_, ok := parseDecimal(s, nsDigits)
		require.False(t, ok, s)
	}
}

func TestEncodingDoesNotAllocate(t *testing.T) {
	e := encoder{host: `"x"`, ring: trace.NewRing(trace.Config{Size: 1}),
		b: make([]byte, 0, 1<<16)}
	for k := range trace.Kinds {
		ev := filled(k, 0)
		require.Zero(t, testing.AllocsPerRun(10, func() {
			e.b = e.b[:0]
			e.event(&ev)
		}), k.Name())
	}
}

// FuzzReader checks that no text is a panic or a loop, and that what is read can be written again.
func FuzzReader(f *testing.F) {
	h := head(f)
	e := encoder{host: `"x"`, ring: trace.NewRing(trace.Config{Size: 1})}
	for k := range trace.Kinds {
		ev := filled(k, 0)
		e.event(&ev)
	}
	f.Add([]byte(h + string(e.b)))
	f.Add([]byte(h))
	f.Add([]byte("\x1e{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := NewReader(bytes.NewReader(text))
		for err == nil {
			var rec, again Record
			if err = r.Next(&rec); err != nil {
				break
			}
			e := encoder{host: `"x"`, ring: trace.NewRing(trace.Config{Size: 1})}
			e.event(&rec.Event)
			s, err := NewReader(strings.NewReader(h + string(e.b)))
			require.NoError(t, err)
			require.NoError(t, s.Next(&again), "%s", e.b)
			require.Equal(t, rec.Event, again.Event)
		}
	})
}

func BenchmarkEvent(b *testing.B) {
	e := encoder{host: `"loop:0"`, ring: trace.NewRing(trace.Config{Size: 1})}
	ev := filled(trace.PacketSent, 0)
	b.ReportAllocs()
	for range b.N {
		e.b = e.b[:0]
		e.event(&ev)
	}
	b.SetBytes(int64(len(e.b)))
}
