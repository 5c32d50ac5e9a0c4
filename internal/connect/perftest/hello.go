package perftest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/goroce/goroce/units"
)

// Version is the version of perftest that we announce, whose protocol this is.
const Version = "6.06"

// minVersion is the oldest version that perftest itself accepts.
const minVersion = 5.70

// maxBuffer limits the page size, and with it the memory that a peer can make us allocate per queue
// pair.
const maxBuffer = 16 * units.MiB

// Lengths on the wire, bytes: of the version, and of a Hello.
const (
	versionLen = 16
	helloLen   = versionLen + 4 + 4 + 2
)

// helloParts are the messages that carry a Hello.
var helloParts = [...]struct {
	name   string
	len    int
	decode func(*Hello, []byte) error
}{
	{"version", versionLen, (*Hello).decodeVersion},
	{"page size", 4, func(h *Hello, b []byte) (err error) {
		h.Page, err = decodeBytes("page size", b)
		return err
	}},
	{"cache line", 4, func(h *Hello, b []byte) (err error) {
		h.CacheLine, err = decodeBytes("cache line", b)
		return err
	}},
	{"MTU", 2, (*Hello).decodeMTU},
}

// Hello holds the first messages of each side.
type Hello struct {
	Version   string      // "" means Version
	Mark      string      // after the version's zero byte, ignored by perftest: see Session.Native
	Page      units.Bytes // perftest's cycle buffer, which small messages cycle through
	CacheLine units.Bytes // alignment of small messages
	PathMTU   units.Bytes // 256, 512, 1024, 2048 or 4096
}

// merge returns the parameters that both sides use: the larger buffers, the smaller path MTU.
// Version and mark are the peer's.
func (h Hello) merge(peer Hello) Hello {
	return Hello{
		Version: peer.Version, Mark: peer.Mark, Page: max(h.Page, peer.Page),
		CacheLine: max(h.CacheLine, peer.CacheLine),
		PathMTU:   min(h.PathMTU, peer.PathMTU),
	}
}

// Encode returns the four messages that carry h, concatenated.
func (h Hello) Encode() ([]byte, error) {
	if h.Version == "" {
		h.Version = Version
	}
	b := make([]byte, helloLen)
	copy(b[:versionLen], h.Version+"\x00"+h.Mark)
	binary.BigEndian.PutUint32(b[16:], uint32(h.Page))
	binary.BigEndian.PutUint32(b[20:], uint32(h.CacheLine))
	for code := '1'; code <= '5'; code++ {
		if h.PathMTU == mtuOf(byte(code)) {
			b[24] = byte(code)
		}
	}
	if again, err := DecodeHello(b); err != nil {
		return nil, err
	} else if again != h {
		return nil, malformed(
			"version %q, mark %q, page of %d bytes, cache line of %d: want values that fit the "+
				"message",
			h.Version, h.Mark, h.Page, h.CacheLine)
	}
	return b, nil
}

// DecodeHello decodes the four messages of a Hello, helloLen bytes in all.
func DecodeHello(b []byte) (Hello, error) {
	var h Hello
	if len(b) != helloLen {
		return h, malformed("hello of %d bytes: want %d", len(b), helloLen)
	}
	for _, part := range helloParts {
		if err := part.decode(&h, b[:part.len]); err != nil {
			return Hello{}, err
		}
		b = b[part.len:]
	}
	return h, nil
}

func (h *Hello) decodeVersion(b []byte) error {
	text, rest, found := bytes.Cut(b, []byte{0})
	number, err := strconv.ParseFloat(string(text), 64)
	switch {
	case !found || err != nil || len(bytes.Trim(text, "0123456789.")) > 0:
		return fmt.Errorf("perftest: first message %q: want a version such as %q: %w", b, Version,
			ErrNotPerftest)
	case number < minVersion:
		return fmt.Errorf("perftest: version %s: want %.2f or later: %w", text, minVersion,
			ErrVersion)
	}
	h.Version, h.Mark = string(text), string(bytes.TrimRight(rest, "\x00"))
	return nil
}

func decodeBytes(name string, b []byte) (units.Bytes, error) {
	n := units.Bytes(int32(binary.BigEndian.Uint32(b)))
	if n < 1 || n > maxBuffer {
		return 0, malformed("%s of %d bytes (%x): want 1 to %d", name, n, b, maxBuffer)
	}
	return n, nil
}

// decodeMTU decodes the MTU code of the verbs API, a digit.
func (h *Hello) decodeMTU(b []byte) error {
	if h.PathMTU = mtuOf(b[0]); h.PathMTU == 0 || b[1] != 0 {
		return malformed(`MTU code %q: want "1\x00" to "5\x00"`, b)
	}
	return nil
}

// mtuOf returns the path MTU of a code, from '1' for 256 to '5' for 4096, or 0 for other codes.
func mtuOf(code byte) units.Bytes {
	if code < '1' || code > '5' {
		return 0
	}
	return 128 << (code - '0')
}
