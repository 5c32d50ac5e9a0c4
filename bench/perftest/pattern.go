package perftest

import (
	"encoding/binary"
	"fmt"
)

// What --data_validation fills messages with: eight byte words, of which the first is the number of
// the message and every other follows from queue pair, message and place. A message that is stale,
// misplaced, torn or of another queue pair does not match.

const golden = 0x9e3779b97f4a7c15

func patternBase(qp, message uint64) uint64 {
	x := message*golden ^ (qp+1)<<40
	x ^= x >> 29
	return x * 0xbf58476d1ce4e5b9
}

func patternWord(base, message uint64, i int) uint64 {
	if i == 0 {
		return message
	}
	return base + uint64(i)*golden
}

// fillPattern writes a message.
func fillPattern(b []byte, qp, message uint64) {
	base := patternBase(qp, message)
	i := 0
	for ; len(b) >= 8; i++ {
		binary.LittleEndian.PutUint64(b, patternWord(base, message, i))
		b = b[8:]
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], patternWord(base, message, i))
	copy(b, last[:])
}

// errPattern says where a message is not what was sent.
type errPattern struct {
	qp, message uint64
	offset      int
	got, want   byte
}

func (e *errPattern) Error() string {
	return fmt.Sprintf("data validation: queue pair %d, message %d, byte %d is %#02x, not %#02x",
		e.qp, e.message, e.offset, e.got, e.want)
}

// checkPattern compares a message with what it must be.
func checkPattern(b []byte, qp, message uint64) error {
	base := patternBase(qp, message)
	for i := 0; i*8 < len(b); i++ {
		var want [8]byte
		binary.LittleEndian.PutUint64(want[:], patternWord(base, message, i))
		piece := b[i*8 : min(len(b), i*8+8)]
		if len(piece) == 8 &&
			binary.LittleEndian.Uint64(piece) == binary.LittleEndian.Uint64(want[:]) {
			continue
		}
		for j, got := range piece {
			if got != want[j] {
				return &errPattern{qp, message, i*8 + j, got, want[j]}
			}
		}
	}
	return nil
}

// messageOf answers which message this one says it is; only long ones can.
func messageOf(b []byte) (uint64, bool) {
	if len(b) < 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}
