package secret

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two streams have nothing in common: equal beginnings would be a matter of 2^-256.
func TestStreamsAreIndependent(t *testing.T) {
	draw := func() (numbers [4]uint64) {
		s := Stream()
		require.IsType(t, &rand.ChaCha8{}, s)
		for i := range numbers {
			numbers[i] = s.Uint64()
		}
		return numbers
	}
	require.NotEqual(t, draw(), draw())
}
