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

	// DefaultSnapLen is the default number of bytes recorded of a frame: all of a jumbo frame.
	DefaultSnapLen = 16 << 10
)

// Option configures a File.
type Option func(*File)

// SnapLen limits the recording to the first n bytes of each frame; n ≤ 0 means DefaultSnapLen.
func SnapLen(n int) Option {
	return func(f *File) {
		if n > 0 {
			f.snap = n
		}
	}
}

// Epoch sets the Unix time, in nanoseconds, at which the clock reads 0. By default it is 0.
func Epoch(unixNanoseconds int64) Option {
	return func(f *File) { f.epoch = unixNanoseconds }
}

// File is a recording. It is safe for concurrent use.
type File struct {
	now   func() units.Time
	snap  int
	epoch int64

	mu  sync.Mutex
	w   io.Writer
	err error
}

// New starts a recording on w with timestamps from now, and writes the file header.
func New(w io.Writer, now func() units.Time, options ...Option) (*File, error) {
	f := &File{now: now, snap: DefaultSnapLen, w: w}
	for _, o := range options {
		o(f)
	}
	h := make([]byte, fileHeaderLen) // time zone and accuracy are 0
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

// Err returns the error that stopped the recording, if any. The ports continue to work without it.
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

// appendRecord appends the record of a frame to b (draft-ietf-opsawg-pcap section 5).
func (f *File) appendRecord(b, frame []byte, now units.Time) []byte {
	ns := max(f.epoch+int64(now)/int64(units.Nanosecond), 0)
	kept := min(len(frame), f.snap)
	b = binary.LittleEndian.AppendUint32(b, uint32(ns/1e9))
	b = binary.LittleEndian.AppendUint32(b, uint32(ns%1e9))
	b = binary.LittleEndian.AppendUint32(b, uint32(kept))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(frame)))
	return append(b, frame[:kept]...)
}
