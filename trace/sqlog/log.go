package sqlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/goroce/goroce/trace"
)

// Options configure a Log.
type Options struct {
	// Sample is the share of PSNs whose packets are recorded; 0 records rare events alone.
	Sample float64
	// Size is the number of events of each ring; 0 means trace.DefaultSize.
	Size int
	// Title describes the log.
	Title string
	// Reference is the moment at which the recorders' clock reads 0; zero in virtual time.
	Reference time.Time
	// Virtual makes the recorders themselves empty their rings when these are full. No event is
	// lost, and no goroutine runs: the same simulation writes the same file.
	Virtual bool
}

// interval is how often the goroutine of a Log empties the rings.
const interval = 5 * time.Millisecond

// Log writes the events of rings to a file. It is safe for concurrent use.
type Log struct {
	options Options
	name    string
	file    io.Closer
	stop    chan struct{}
	done    chan struct{}

	mu    sync.Mutex
	w     *bufio.Writer
	rings []*source
	err   error
}

// source is a ring of a Log.
type source struct {
	encoder
	reported uint64 // lost events that the log states
}

// Create creates the file and begins a log.
func Create(name string, o Options) (*Log, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	l, err := New(file, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("event log %s: %w", name, err), file.Close())
	}
	l.name, l.file = name, file
	return l, nil
}

// header is the first record (draft-ietf-quic-qlog-main-schema, section 5).
type header struct {
	FileSchema          string `json:"file_schema"`
	SerializationFormat string `json:"serialization_format"`
	Title               string `json:"title,omitempty"`
	Trace               struct {
		CommonFields common   `json:"common_fields"`
		EventSchemas []string `json:"event_schemas"`
	} `json:"trace"`
}

type common struct {
	TimeFormat    string        `json:"time_format"`
	ReferenceTime referenceTime `json:"reference_time"`
	// Sample is the share of PSNs of which the log has sampled events.
	Sample float64 `json:"sample"`
}

type referenceTime struct {
	ClockType string `json:"clock_type"`
	Epoch     string `json:"epoch"`
}

// The constants of the header.
const (
	fileSchema          = "urn:ietf:params:qlog:file:sequential"
	serializationFormat = "application/qlog+json-seq"
	eventSchema         = "urn:goroce:qlog:events:1"
	timeFormat          = "relative_to_epoch"
)

// New begins a log on a writer.
func New(w io.Writer, o Options) (*Log, error) {
	if !(o.Sample >= 0 && o.Sample <= 1) {
		return nil, fmt.Errorf("a sample of %v is not in 0..1", o.Sample)
	}
	l := &Log{options: o, w: bufio.NewWriterSize(w, 1<<20)}
	h := header{FileSchema: fileSchema, SerializationFormat: serializationFormat, Title: o.Title}
	h.Trace.EventSchemas = []string{eventSchema}
	h.Trace.CommonFields = common{timeFormat, referenceTime{"monotonic", "unknown"}, o.Sample}
	if !o.Reference.IsZero() {
		h.Trace.CommonFields.ReferenceTime = referenceTime{"system",
			o.Reference.UTC().Format(time.RFC3339Nano)}
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	l.write(append(append([]byte{recordSeparator}, text...), lineFeed))
	if !o.Virtual {
		l.stop, l.done = make(chan struct{}), make(chan struct{})
		go l.run()
	}
	return l, l.err
}

// Ring implements trace.Log. A nil Log has no rings.
func (l *Log) Ring(name string) *trace.Ring {
	if l == nil {
		return nil
	}
	c := trace.Config{Name: name, Sample: l.options.Sample, Size: l.options.Size}
	if l.options.Virtual {
		c.Full = l.Flush
	}
	r := trace.NewRing(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rings = append(l.rings, &source{encoder: encoder{host: strconv.Quote(name), ring: r}})
	return r
}

// run empties the rings until Close.
func (l *Log) run() {
	defer close(l.done)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.Flush()
		case <-l.stop:
			return
		}
	}
}

// Flush takes out and writes what the rings have.
func (l *Log) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.rings {
		s.b = s.b[:0]
		var at trace.Event
		s.ring.Take(func(ev *trace.Event) {
			at.At = ev.At
			if s.event(ev); len(s.b) > 1<<16 {
				l.write(s.b)
				s.b = s.b[:0]
			}
		})
		if lost := s.ring.Lost(); lost != s.reported {
			s.reported = lost
			s.event(&trace.Event{At: at.At, Kind: trace.EventsLost, Packets: lost})
		}
		l.write(s.b)
	}
}

// write writes records, unless an earlier write failed.
func (l *Log) write(b []byte) {
	if l.err == nil && len(b) > 0 {
		_, l.err = l.w.Write(b)
	}
}

// Lost returns how many events found their ring full.
func (l *Log) Lost() (n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.rings {
		n += s.ring.Lost()
	}
	return n
}

// Close writes what is left, after the recorders have ended, and closes the file. It returns the
// first error of writing. A nil Log does nothing.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	if l.stop != nil {
		close(l.stop)
		<-l.done
		l.stop = nil
	}
	l.Flush()
	err := l.err
	if err == nil {
		err = l.w.Flush()
	}
	if l.file != nil {
		err = errors.Join(err, l.file.Close())
	}
	if err != nil {
		return fmt.Errorf("event log %s: %w", l.name, err)
	}
	return nil
}
