package extension

import (
	"encoding/binary"

	"github.com/goroce/goroce/units"
)

// CreditLen is the length of a Credit.
const CreditLen = 16

// MaxCreditLines is the most lines that a CREDIT may let be unconsumed: a cache of 4 GiB with lines
// of 64 bytes.
const MaxCreditLines = 1 << 26

// Credit is the TLV of a CREDIT or XACK that says how much of its sender's last-level cache the
// peer may have filled with what is not consumed, and what has been (CARC; docs/wire.md).
type Credit []byte

// CreditFlags say more.
type CreditFlags uint8

// The flags; others are ignored.
const (
	// the sender of data asks: of what is said, the lines that it knows are consumed
	CreditAsks        CreditFlags = 1
	CreditIdle        CreditFlags = 2 // the program waits for data
	CreditBeyondDDIO  CreditFlags = 4 // more is unconsumed than the ways that a NIC writes to hold
	CreditApproaching CreditFlags = 8 // reads are about to miss
	creditFlags                   = CreditAsks | CreditIdle | CreditBeyondDDIO | CreditApproaching
)

// Set writes the whole TLV.
func (t Credit) Set(f CreditFlags, epoch uint8, lines uint32, returned uint64) {
	binary.BigEndian.PutUint32(t, uint32(TLVCredit)<<24|CreditLen/4<<16|uint32(f)<<8|uint32(epoch))
	binary.BigEndian.PutUint32(t[4:], lines)
	binary.BigEndian.PutUint32(t[8:], uint32(returned>>32))
	binary.BigEndian.PutUint32(t[12:], uint32(returned))
}

// Flags are those of this version.
func (t Credit) Flags() CreditFlags { return CreditFlags(t[2]) & creditFlags }

// Epoch counts how often Lines changed.
func (t Credit) Epoch() uint8 { return t[3] }

// Lines is how many may be unconsumed at once.
func (t Credit) Lines() uint32 { return binary.BigEndian.Uint32(t[4:]) }

// Returned is how many lines have been consumed since the connection began.
func (t Credit) Returned() uint64 {
	return uint64(binary.BigEndian.Uint32(t[8:]))<<32 | uint64(binary.BigEndian.Uint32(t[12:]))
}

// IsCredit reports whether t is one Credit and nothing else, as in a CREDIT.
func (t TLVs) IsCredit() bool {
	return len(t) == CreditLen && TLVType(t[0]) == TLVCredit && int(t[1])*4 == CreditLen
}

// HostLen is the length of a Host.
const HostLen = 12

// hostResidence is the kind of a Host that this package knows.
const hostResidence = 1

// Host is the TLV of an XACK that says how long the newest message that was consumed was at the
// receiver's program.
type Host []byte

// Set writes the whole TLV: how long the message waited for the program, and how long the program
// took. More than 4.29 s is told as that.
func (t Host) Set(waited, served units.Duration) {
	binary.BigEndian.PutUint32(t, uint32(TLVHost)<<24|HostLen/4<<16|hostResidence)
	binary.BigEndian.PutUint32(t[4:], uint32(min(waited/units.Nanosecond, 1<<32-1)))
	binary.BigEndian.PutUint32(t[8:], uint32(min(served/units.Nanosecond, 1<<32-1)))
}

// Residence answers the two, and false for a Host of another kind.
func (t Host) Residence() (waited, served units.Duration, ok bool) {
	return units.Duration(binary.BigEndian.Uint32(t[4:])) * units.Nanosecond,
		units.Duration(binary.BigEndian.Uint32(t[8:])) * units.Nanosecond,
		binary.BigEndian.Uint16(t[2:]) == hostResidence
}

// When answers f if it is true, no flags otherwise.
func (f CreditFlags) When(b bool) CreditFlags {
	if b {
		return f
	}
	return 0
}
