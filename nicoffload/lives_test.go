package nicoffload

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
)

// What is told of flows that begin and end is what happened, in order, less the flows that ended
// before their beginning was told.
func TestLives(t *testing.T) {
	a, b, c := NewHandle(1, 0), NewHandle(2, 0), NewHandle(1, 1)
	start, stop := func(h Handle) life {
		return life{h, Started, 1}
	}, func(h Handle) life { return life{h, Stopped, 2} }
	for _, x := range []struct {
		name          string
		happens, told []life
	}{
		{"nothing", nil, nil},
		{"in order", []life{start(a), start(b)}, []life{start(a), start(b)}},
		{"a flow that is over", []life{start(a), stop(a)}, nil},
		{"a flow that is over, among others", []life{start(a), start(b), stop(a)},
			[]life{start(b)}},
		{"one that was known", []life{stop(a)}, []life{stop(a)}},
		{"its number again", []life{stop(a), start(c)}, []life{stop(a), start(c)}},
		{"and again", []life{stop(a), start(c), stop(c), start(a)}, []life{stop(a), start(a)}},
	} {
		t.Run(x.name, func(t *testing.T) {
			var w lives
			for _, l := range x.happens {
				w.add(l)
			}
			require.Equal(t, len(x.told), w.waiting())
			var told []life
			for l, some := w.next(); some; l, some = w.next() {
				told = append(told, l)
				w.told()
			}
			require.Equal(t, x.told, told)
			require.Zero(t, w.waiting())
		})
	}
}

// Whatever happens, and whoever listens when: the flows that were told to have begun and not ended
// are those that are open, and what waits takes no more room than twice all flows.
func TestLivesAgainstAModel(t *testing.T) {
	const flows = 16
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var w lives
		open, known := map[uint32]Handle{}, map[uint32]Handle{}
		listen := func(n int) {
			for l, some := w.next(); some && n > 0; l, some = w.next() {
				if l.t == Started {
					require.NotContains(t, known, l.flow.Index(), "seed %d", seed)
					known[l.flow.Index()] = l.flow
				} else {
					require.Equal(t, l.flow, known[l.flow.Index()], "seed %d", seed)
					delete(known, l.flow.Index())
				}
				w.told()
				n--
			}
		}
		for step := range uint32(5000) {
			i := rng.Uint32N(flows)
			if h, some := open[i]; some {
				w.add(life{h, Stopped, 1})
				delete(open, i)
			} else {
				open[i] = NewHandle(i, step)
				w.add(life{open[i], Started, 1})
			}
			if rng.IntN(100) == 0 {
				listen(rng.IntN(20))
			}
			require.LessOrEqual(t, w.waiting(), 2*flows, "seed %d", seed)
			require.LessOrEqual(t, len(w.queue), 4*flows+2, "seed %d", seed)
			require.LessOrEqual(t, len(w.starts), flows, "seed %d", seed)
		}
		listen(1 << 20)
		require.Equal(t, open, known, "seed %d", seed)
	}
}

// While nobody polls the NIC's process, flows that come and go leave nothing behind.
func TestFlowsWhileTheNICIsStopped(t *testing.T) {
	a, err := MakeApart(AlignedMemory(ApartBytes), false)
	require.NoError(t, err)
	remote, err := a.Remote(0)
	require.NoError(t, err)
	for i := range uint32(100_000) {
		h := NewHandle(i%8, i/8)
		remote.Open(h, cc.Decision{Window: 1}, at(int(i)))
		remote.Close(h, at(int(i)))
		remote.Poll(at(int(i)))
	}
	assert.LessOrEqual(t, remote.untold.waiting(), 8)
	assert.LessOrEqual(t, len(remote.untold.queue), 32)
}
