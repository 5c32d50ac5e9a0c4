package connect

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/transport/wire"
)

// Version is the version of the handshake. Other versions are refused.
const Version = 1

// magic starts every message, so that other protocols on the port are recognised at once.
const magic = "GRCE"

// headerLen is the magic and the length of the body, a big endian uint32.
const headerLen = len(magic) + 4

// MaxBody is the maximum length of a body in bytes: 16 384 queue pairs fit.
const MaxBody = 4 << 20

// Errors of a handshake.
var (
	ErrNotGoroce = errors.New("the peer does not speak goroce's handshake")
	ErrVersion   = errors.New("the peer speaks another version of goroce's handshake")
	ErrMalformed = errors.New("malformed handshake message")
	ErrRefused   = errors.New("refused by the peer")
)

// QP is one queue pair of the peer.
type QP struct {
	Num uint32 `json:"qpn"`
	PSN uint32 `json:"psn"` // of the first packet that it sends
}

// Region is a memory region of the peer that remote operations may access.
type Region struct {
	Addr uint64 `json:"addr"`
	Len  uint64 `json:"len"`
	RKey uint32 `json:"rkey"`
}

// Hello is the handshake message of each side.
type Hello struct {
	Version int `json:"version"`
	// Error, unless empty, is the reason why the connection is refused.
	Error    string     `json:"error,omitempty"`
	Addr     netip.Addr `json:"addr"`
	PathMTU  int64      `json:"path_mtu"` // maximum of this side, bytes
	RdAtomic int        `json:"rd_atomic"`
	QPs      []QP       `json:"qps"`
	Regions  []Region   `json:"regions,omitempty"`
	// Extension is what this side supports beyond RoCEv2 (docs/wire.md); the zero value means
	// nothing. Both sides use wire.Agree of the two offers.
	Extension wire.Offer `json:"extension,omitzero"`
	// Settings are parameters of the program: those that must be equal, and information for the
	// peer.
	Settings map[string]string `json:"settings,omitempty"`
}

// Validate returns an error if h refuses the connection, has another version, or is malformed.
func (h *Hello) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("connect: %s: %w", fmt.Sprintf(format, args...), ErrMalformed)
	}
	switch {
	case h.Version != Version:
		return fmt.Errorf("connect: version %d: want %d: %w", h.Version, Version, ErrVersion)
	case h.Error != "":
		return fmt.Errorf("connect: %s: %w", h.Error, ErrRefused)
	case !h.Addr.IsValid():
		return bad("no address")
	case h.PathMTU < 256:
		return bad("path MTU %d: want 256 or more", h.PathMTU)
	case h.RdAtomic < 0 || h.RdAtomic > 255:
		return bad("%d outstanding READs: want 0 to 255", h.RdAtomic)
	}
	for _, q := range h.QPs {
		if q.Num > 0xffffff || q.PSN > 0xffffff {
			return bad("QPN %#x, PSN %#x: want 24 bits each", q.Num, q.PSN)
		}
	}
	for _, r := range h.Regions {
		if r.Addr+r.Len < r.Addr {
			return bad("%d bytes at %#x exceed the address space", r.Len, r.Addr)
		}
	}
	return nil
}

// Encode returns the message that carries h.
func (h *Hello) Encode() ([]byte, error) { return encode(h) }

// Decode decodes and validates the body of a message.
func Decode(body []byte) (*Hello, error) {
	h := &Hello{}
	if err := decode(body, h); err != nil {
		return nil, err
	}
	return h, h.Validate()
}

func encode(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("connect: encode: %w", err)
	}
	if len(body) > MaxBody {
		return nil, fmt.Errorf("connect: message of %d bytes: want at most %d: %w", len(body),
			MaxBody, ErrMalformed)
	}
	message := append([]byte(magic), 0, 0, 0, 0)
	binary.BigEndian.PutUint32(message[len(magic):], uint32(len(body)))
	return append(message, body...), nil
}

func decode(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("connect: %w: %w", ErrMalformed, err)
	}
	return nil
}

// bodyLen returns the body length in a message's header, at most limit.
func bodyLen(header []byte, limit int) (int, error) {
	if len(header) < headerLen || string(header[:len(magic)]) != magic {
		return 0, fmt.Errorf("connect: the message starts with %q: %w", header, ErrNotGoroce)
	}
	n := binary.BigEndian.Uint32(header[len(magic):])
	if uint64(n) > uint64(limit) {
		return 0, fmt.Errorf("connect: message of %d bytes: want at most %d: %w", n, limit,
			ErrMalformed)
	}
	return int(n), nil
}
