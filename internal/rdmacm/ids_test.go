package rdmacm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func firstIDs(t *testing.T, seed uint64) (ids [4]CommID) {
	t.Helper()
	m, err := New(Config{Seed: seed})
	require.NoError(t, err)
	for i := range ids {
		c, err := m.Connect(clientDial(), 0)
		require.NoError(t, err)
		ids[i] = c.id
	}
	return ids
}

// Without a seed nobody knows the next ID: two machines have none in common (by chance: 2^-128).
// With a seed the IDs never change.
func TestConnectionIDs(t *testing.T) {
	require.NotEqual(t, firstIDs(t, 0), firstIDs(t, 0))
	rng := rand.New(rand.NewPCG(5, 0))
	require.Equal(t, [4]CommID{CommID(rng.Uint32()), CommID(rng.Uint32()), CommID(rng.Uint32()),
		CommID(rng.Uint32())}, firstIDs(t, 5))
}
