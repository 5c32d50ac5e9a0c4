package transport

import (
	"math/rand/v2"

	"github.com/goroce/goroce/internal/secret"
)

// secrets draws the numbers that a peer must not predict, each kind from a stream of its own: the
// numbers of one kind reveal nothing about those of another.
type secrets struct {
	keys, psns, tags rand.Source
	numbers          rand.Source // of queue pairs; nil: they are assigned in order
}

func newSecrets(c *Config) secrets {
	if c.Seed != 0 || c.Repeatable {
		all := rand.NewPCG(c.Seed, 0x726f6365) // any second word will do
		return secrets{keys: all, psns: all, tags: all}
	}
	return secrets{keys: secret.Stream(), psns: secret.Stream(), tags: secret.Stream(),
		numbers: secret.Stream()}
}
