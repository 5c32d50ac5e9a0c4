package main

import (
	"fmt"
	"os"
)

// filler is what ibv_rc_pingpong's buffer is full of.
const filler = 0x7b

// newMessage makes what a client sends: filler, and with -c a zero at the beginning of each page,
// which is all that an ibv_rc_pingpong looks at. Pages are those of this machine, as there.
func newMessage(size int, check bool) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = filler
	}
	for i := 0; check && i < size; i += os.Getpagesize() {
		b[i] = 0
	}
	return b
}

// compare looks for the first byte that is not as it should be.
func compare(got, want []byte) error {
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf(
				"byte %d of %d is %#02x, not %#02x: has the client -c, and pages of %d bytes?",
				i, len(want), got[i], want[i], os.Getpagesize())
		}
	}
	return nil
}
