package pingpong

import (
	"fmt"
	"os"
)

// filler is the byte that fills ibv_rc_pingpong's buffer.
const filler = 0x7b

// newMessage returns a client's message: filler, and with -c a zero at the start of each page, the
// only byte that ibv_rc_pingpong checks. The page size is this machine's, as there.
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

// compare returns an error with the first byte that differs.
func compare(got, want []byte) error {
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf(
				"byte %d of %d: got %#02x, want %#02x; does the client use -c, and pages of %d "+
					"bytes?",
				i, len(want), got[i], want[i], os.Getpagesize())
		}
	}
	return nil
}
