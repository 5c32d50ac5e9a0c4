package perftest

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/internal/connect/lockstep"
)

// Errors of a handshake.
var (
	ErrNotPerftest = errors.New("the peer does not speak perftest's handshake")
	ErrVersion     = errors.New("the peer's perftest is too old")
	ErrMalformed   = errors.New("malformed handshake message")
	ErrMismatch    = errors.New("the two sides do not run the same test with the same options")
	ErrGone        = lockstep.ErrGone
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("perftest: %s: %w", fmt.Sprintf(format, args...), ErrMalformed)
}
