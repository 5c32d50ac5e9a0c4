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

// Version is that of the handshake. Another one is refused.
const Version = 1

// magic begins every message: whatever else connects to the port by mistake is told apart at once.
const magic = "GRCE"

// headerLen is the magic and the length of the body, a big endian uint32.
const headerLen = len(magic) + 4

// MaxBody is the longest body that is read, in bytes: 16 384 queue pairs fit.
const MaxBody = 4 << 20

// What a handshake can fail with.
var (
	ErrNotGoroce = errors.New("the peer does not speak goroce's handshake")
	ErrVersion   = errors.New("the peer speaks another version of goroce's handshake")
	ErrMalformed = errors.New("malformed handshake message")
	ErrRefused   = errors.New("refused by the peer")
)

// QP is one queue pair of the peer.
type QP struct {
	Num uint32 `json:"qpn"`
	PSN uint32 `json:"psn"` // of the first packet it will send
}

// Region is memory of the peer that it lets us reach.
type Region struct {
	Addr uint64 `json:"addr"`
	Len  uint64 `json:"len"`
	RKey uint32 `json:"rkey"`
}

// Hello is what each side tells the other.
type Hello struct {
	Version int `json:"version"`
	// Error, when not empty, says why there will be no connection.
	Error    string     `json:"error,omitempty"`
	Addr     netip.Addr `json:"addr"`
	PathMTU  int64      `json:"path_mtu"` // the largest this side can do, bytes
	RdAtomic int        `json:"rd_atomic"`
	QPs      []QP       `json:"qps"`
	Regions  []Region   `json:"regions,omitempty"`
	// Extension is what this side can do beyond RoCEv2 (docs/wire.md). A side that sends none does
	// without: what both do is wire.Agree of the two.
	Extension wire.Offer `json:"extension,omitzero"`
	// Settings are the program's own: what must be equal, and what the peer should know.
	Settings map[string]string `json:"settings,omitempty"`
}

// Validate says what is impossible about a Hello.
func (h *Hello) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("connect: %s: %w", fmt.Sprintf(format, args...), ErrMalformed)
	}
	switch {
	case h.Version != Version:
		return fmt.Errorf("connect: version %d, ours is %d: %w", h.Version, Version, ErrVersion)
	case h.Error != "":
		return fmt.Errorf("connect: %s: %w", h.Error, ErrRefused)
	case !h.Addr.IsValid():
		return bad("no address")
	case h.PathMTU < 256:
		return bad("path MTU %d is less than 256", h.PathMTU)
	case h.RdAtomic < 0 || h.RdAtomic > 255:
		return bad("%d outstanding READs are not in 0..255", h.RdAtomic)
	}
	for _, q := range h.QPs {
		if q.Num > 0xffffff || q.PSN > 0xffffff {
			return bad("QPN %#x or PSN %#x has more than 24 bits", q.Num, q.PSN)
		}
	}
	for _, r := range h.Regions {
		if r.Addr+r.Len < r.Addr {
			return bad("%d bytes at %#x pass the end of the address space", r.Len, r.Addr)
		}
	}
	return nil
}

// Encode makes the message that carries h.
func (h *Hello) Encode() ([]byte, error) { return encode(h) }

// Decode reads the body of a message.
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
		return nil, fmt.Errorf("connect: a message of %d bytes is longer than %d: %w", len(body),
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

// bodyLen reads the header of a message whose body may have limit bytes.
func bodyLen(header []byte, limit int) (int, error) {
	if len(header) < headerLen || string(header[:len(magic)]) != magic {
		return 0, fmt.Errorf("connect: it began with %q: %w", header, ErrNotGoroce)
	}
	n := binary.BigEndian.Uint32(header[len(magic):])
	if uint64(n) > uint64(limit) {
		return 0, fmt.Errorf("connect: a message of %d bytes is longer than %d: %w", n, limit,
			ErrMalformed)
	}
	return int(n), nil
}
