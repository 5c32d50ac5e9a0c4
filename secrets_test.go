package goroce

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport"
)

// A host without a seed has nothing from which its keys could be computed, and queue pairs with
// numbers that do not tell the next one. One with a seed warns.
func TestSeedsAreForSimulation(t *testing.T) {
	open := func(name string, seed uint64) (h *Host, log string) {
		var b bytes.Buffer
		h, err := Open("loop:"+t.Name()+name,
			Options{Seed: seed, Log: slog.New(slog.NewTextHandler(&b, nil))})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, h.Close()) })
		return h, b.String()
	}
	numbers := func(h *Host) (keys, qpns [4]uint32) {
		require.NoError(t, h.Do(0, func(ep *transport.Endpoint) {
			pd := ep.AllocPD()
			cq, err := ep.CreateCQ(1)
			require.NoError(t, err)
			for i := range keys {
				mr, err := ep.RegisterMemory(pd, make([]byte, 1), 0)
				require.NoError(t, err)
				qp, err := ep.CreateQP(transport.QPInit{PD: pd, SendCQ: cq, RecvCQ: cq})
				require.NoError(t, err)
				keys[i], qpns[i] = mr.RKey, uint32(qp.Num)
			}
		}))
		return keys, qpns
	}

	h, log := open("none", 0)
	require.Zero(t, h.Seed())
	require.NotContains(t, log, "level=WARN")
	_, qpns := numbers(h)
	require.NotEqual(t, [4]uint32{qpns[0], qpns[0] + 1, qpns[0] + 2, qpns[0] + 3}, qpns)

	h, log = open("seven", 7)
	require.EqualValues(t, 7, h.Seed())
	require.Contains(t, log, "level=WARN")
	keys, qpns := numbers(h)
	require.Equal(t, [4]uint32{qpns[0], qpns[0] + 1, qpns[0] + 2, qpns[0] + 3}, qpns)
	h, _ = open("again", 7)
	again, _ := numbers(h)
	require.Equal(t, keys, again)
}

// The seeds that endpoints and the connection manager derive from one that was given never become
// 0, which means none.
func TestDerivedSeedsAreSeeds(t *testing.T) {
	require.Zero(t, endpointSeed(0, 3))
	require.EqualValues(t, 10, endpointSeed(7, 3))
	require.NotZero(t, endpointSeed(1<<64-3, 3))
}
