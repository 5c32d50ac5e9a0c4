package perftest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/goroce/goroce/units"
)

// Version is what we say we are: the perftest whose messages these are.
const Version = "6.06"

// oldest is the version that perftest itself refuses to go below.
const oldest = 5.70

// largestBuffer bounds what a peer may make us allocate, for each queue pair, by its page size.
const largestBuffer = 16 * units.MiB

// Lengths on the wire, bytes: of the version, and of a Hello.
const (
	versionLen = 16
	helloLen   = versionLen + 4 + 4 + 2
)

// helloParts are the messages that a Hello is sent in.
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

// Hello is what each side says of itself first.
type Hello struct {
	Version   string      // "" means Version
	Mark      string      // behind the version's end, where perftest does not look: see Session.Kin
	Page      units.Bytes // perftest's cycle buffer: what a test with small messages goes round in
	CacheLine units.Bytes // what the addresses of small messages are rounded up to
	PathMTU   units.Bytes // 256, 512, 1024, 2048 or 4096
}

// agree is what two Hellos make: the larger buffers, the smaller path MTU. The version is the
// peer's.
func (h Hello) agree(peer Hello) Hello {
	return Hello{
		Version: peer.Version, Mark: peer.Mark, Page: max(h.Page, peer.Page),
		CacheLine: max(h.CacheLine, peer.CacheLine),
		PathMTU:   min(h.PathMTU, peer.PathMTU),
	}
}

// Encode makes the four messages that carry h, one after the other.
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
			"version %q with mark %q, page of %d bytes, cache line of %d: no message holds that",
			h.Version, h.Mark, h.Page, h.CacheLine)
	}
	return b, nil
}

// DecodeHello reads the four messages of a Hello, all helloLen bytes.
func DecodeHello(b []byte) (Hello, error) {
	var h Hello
	if len(b) != helloLen {
		return h, malformed("%d bytes, not the %d of a hello", len(b), helloLen)
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
		return fmt.Errorf("perftest: it began with %q, not with a version like %q: %w", b, Version,
			ErrNotPerftest)
	case number < oldest:
		return fmt.Errorf("perftest: version %s, %.2f is the oldest that will do: %w", text, oldest,
			ErrVersion)
	}
	h.Version, h.Mark = string(text), string(bytes.TrimRight(rest, "\x00"))
	return nil
}

func decodeBytes(name string, b []byte) (units.Bytes, error) {
	n := units.Bytes(int32(binary.BigEndian.Uint32(b)))
	if n < 1 || n > largestBuffer {
		return 0, malformed("a %s of %d bytes (%x), not 1 to %d", name, n, b, largestBuffer)
	}
	return n, nil
}

// decodeMTU reads the code of the verbs API as a digit.
func (h *Hello) decodeMTU(b []byte) error {
	if h.PathMTU = mtuOf(b[0]); h.PathMTU == 0 || b[1] != 0 {
		return malformed(`MTU code %q, not one of "1\x00" to "5\x00"`, b)
	}
	return nil
}

// mtuOf answers the path MTU of a code: '1' is 256, '5' is 4096, anything else 0.
func mtuOf(code byte) units.Bytes {
	if code < '1' || code > '5' {
		return 0
	}
	return 128 << (code - '0')
}
