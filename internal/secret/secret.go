package secret

import (
	crand "crypto/rand"
	"math/rand/v2"
)

// Stream returns a new generator, independent of every other one: ChaCha8 with a key of 32 bytes
// from the operating system.
func Stream() rand.Source {
	var key [32]byte
	_, _ = crand.Read(key[:]) // never fails (crypto/rand, since Go 1.24)
	return rand.NewChaCha8(key)
}
