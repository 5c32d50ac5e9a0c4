package pcap

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/goroce/goroce/units"
)

const (
	magicNanoseconds = 0xa1b23c4d // draft-ietf-opsawg-pcap section 4
	versionMajor     = 2
	versionMinor     = 4
	linkEthernet     = 1
	fileHeaderLen    = 24
	recordHeaderLen  = 16

	// DefaultSnapLen is how much of a frame is recorded when nobody says: all of a jumbo frame.
	DefaultSnapLen = 16 << 10
)

// Option changes how a File records.
type Option func(*File)

// SnapLen records no more than n bytes of each frame; n ≤ 0 means DefaultSnapLen.
func SnapLen(n int) Option {
	return func(f *File) {
		if n > 0 {
			f.snap = n
		}
	}
}

// Epoch says which moment the clock calls 0, in nanoseconds since 1970. Without it, the records
// count from 1970.
func Epoch(unixNanoseconds int64) Option {
	return func(f *File) { f.epoch = unixNanoseconds }
}

// File is a recording. It may be used by several goroutines.
type File struct {
	now   func() units.Time
	snap  int
	epoch int64

	mu  sync.Mutex
	w   io.Writer
	err error
}

// New begins a recording on w, with the times that now tells. It writes the header of the file.
func New(w io.Writer, now func() units.Time, options ...Option) (*File, error) {
	f := &File{now: now, snap: DefaultSnapLen, w: w}
	for _, o := range options {
		o(f)
	}
	h := make([]byte, fileHeaderLen) // time zone and accuracy stay 0
	binary.LittleEndian.PutUint32(h, magicNanoseconds)
	binary.LittleEndian.PutUint16(h[4:], versionMajor)
	binary.LittleEndian.PutUint16(h[6:], versionMinor)
	binary.LittleEndian.PutUint32(h[16:], uint32(f.snap))
	binary.LittleEndian.PutUint32(h[20:], linkEthernet)
	if f.write(h); f.err != nil {
		return nil, f.err
	}
	return f, nil
}

// Err answers what stopped the recording, if anything did. The ports go on without it.
func (f *File) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *File) write(records []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil || len(records) == 0 {
		return
	}
	if _, err := f.w.Write(records); err != nil {
		f.err = fmt.Errorf("pcap: write: %w", err)
	}
}

// appendRecord adds a frame's record to b (draft-ietf-opsawg-pcap section 5).
func (f *File) appendRecord(b, frame []byte, now units.Time) []byte {
	ns := max(f.epoch+int64(now)/int64(units.Nanosecond), 0)
	kept := min(len(frame), f.snap)
	b = binary.LittleEndian.AppendUint32(b, uint32(ns/1e9))
	b = binary.LittleEndian.AppendUint32(b, uint32(ns%1e9))
	b = binary.LittleEndian.AppendUint32(b, uint32(kept))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(frame)))
	return append(b, frame[:kept]...)
}
