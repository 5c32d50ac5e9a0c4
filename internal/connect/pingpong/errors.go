package pingpong

import (
	"errors"
	"fmt"
)

// What a handshake can fail with.
var (
	ErrNotPingpong = errors.New("the peer does not speak ibv_rc_pingpong's handshake")
	ErrMalformed   = errors.New("malformed destination")
	ErrMismatch    = errors.New("the two sides do not fit together")
	ErrGone        = errors.New("the peer is gone")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("pingpong: %s: %w", fmt.Sprintf(format, args...), ErrMalformed)
}
