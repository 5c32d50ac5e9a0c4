package pingpong

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/internal/connect/lockstep"
)

// Errors of a handshake.
var (
	ErrNotPingpong = errors.New("the peer does not speak ibv_rc_pingpong's handshake")
	ErrMalformed   = errors.New("malformed destination")
	ErrMismatch    = errors.New("the two sides are incompatible")
	ErrGone        = lockstep.ErrGone
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("pingpong: %s: %w", fmt.Sprintf(format, args...), ErrMalformed)
}
