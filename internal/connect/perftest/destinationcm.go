package perftest

import (
	"encoding/binary"
	"net/netip"
)

// With -R a Destination is not text but perftest's struct pingpong_dest as it lies in memory, each
// field in network order. These are the fields' offsets; the bytes at 20 are padding, in which
// perftest leaves what was there.
const (
	cmLID      = 0
	cmOutReads = 4
	cmQPN      = 8
	cmPSN      = 12
	cmRKey     = 16
	cmAddr     = 24
	cmGID      = 32
	cmSRQN     = 48
	cmGIDIndex = 52

	cmDestinationLen = 56 // bytes
)

// EncodeCM makes the message that carries d with -R.
func (d Destination) EncodeCM() ([]byte, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	b := make([]byte, cmDestinationLen)
	for at, v := range map[int]uint32{
		cmLID: uint32(d.LID), cmOutReads: uint32(d.OutReads), cmQPN: d.QPN, cmPSN: d.PSN,
		cmRKey: d.RKey, cmSRQN: d.SRQN, cmGIDIndex: d.GIDIndex,
	} {
		binary.BigEndian.PutUint32(b[at:], v)
	}
	binary.BigEndian.PutUint64(b[cmAddr:], d.Addr)
	gid := d.GID.As16()
	copy(b[cmGID:], gid[:])
	return b, nil
}

// DecodeDestinationCM reads a message of cmDestinationLen bytes.
func DecodeDestinationCM(b []byte) (Destination, error) {
	if len(b) != cmDestinationLen {
		return Destination{}, malformed("%d bytes, not the %d of keys", len(b), cmDestinationLen)
	}
	word := func(at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }
	lid, reads := word(cmLID), word(cmOutReads)
	if lid > 0xffff || reads > 0xffff {
		return Destination{},
			malformed("keys with LID %#x and %#x outstanding READs, not 16 bits each", lid, reads)
	}
	d := Destination{
		LID: uint16(lid), OutReads: uint16(reads), QPN: word(cmQPN), PSN: word(cmPSN),
		RKey: word(cmRKey),
		Addr: binary.BigEndian.Uint64(b[cmAddr:]),
		GID:  netip.AddrFrom16([16]byte(b[cmGID:])).Unmap(), SRQN: word(cmSRQN),
		GIDIndex: word(cmGIDIndex),
	}
	return d, d.check()
}
