// Package secret draws the numbers that a peer must not predict: keys, PSNs, extension tags, queue pair numbers,
// connection IDs.
//
// Each purpose has a [Stream] of its own. Peers are told some of these numbers; those of one stream say nothing about
// another's, and ChaCha8's say nothing about its next ones.
package secret

import (
	crand "crypto/rand"
	"math/rand/v2"
)

// Stream returns a new generator, independent of every other one: ChaCha8 with a key of 32 bytes from the operating
// system.
func Stream() rand.Source {
	var key [32]byte
	_, _ = crand.Read(key[:]) // never fails (crypto/rand, since Go 1.24)
	return rand.NewChaCha8(key)
}
