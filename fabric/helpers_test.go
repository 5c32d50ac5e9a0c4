package fabric_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/units"
)

var seedFlag = flag.Uint64("seed", 0, "replay a randomized test with this seed")

// testSeed returns a new seed for each run and logs it, so that a failure can be replayed with
// -seed.
func testSeed(t *testing.T) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed=%d", seed)
	return seed
}

func generator(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// wireBytes returns the bytes on the wire of a frame of n bytes (without check sequence): with
// padding, check sequence, preamble and gap.
func wireBytes(n int) units.Bytes { return units.Bytes(max(n+4, 64) + 20) }

// stored returns the buffer space of a frame of n bytes.
func stored(n int) units.Bytes { return units.Bytes(max(n+4, 64)) }

// backlog returns count equal frames, to send as fast as the NIC accepts them; count 0 means no
// end.
func backlog(f openloop.Frame, count int) func() (openloop.Frame, bool) {
	sent := 0
	return func() (openloop.Frame, bool) {
		f.Tag = uint64(sent)
		sent++
		return f, count == 0 || sent <= count
	}
}

func run(t testing.TB, n *fabric.Network, d units.Duration) {
	t.Helper()
	require.NoError(t, n.Run(n.Now().Add(d)))
}
