package nicoffload

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
)

// Lifecycle events are reported in order, except for flows that ended before their beginning was
// reported.
func TestLifecycleQueue(t *testing.T) {
	a, b, c := NewHandle(1, 0), NewHandle(2, 0), NewHandle(1, 1)
	start, stop := func(h Handle) lifecycleEvent {
		return lifecycleEvent{h, Started, 1}
	}, func(h Handle) lifecycleEvent { return lifecycleEvent{h, Stopped, 2} }
	for _, x := range []struct {
		name          string
		happens, told []lifecycleEvent
	}{
		{"nothing", nil, nil},
		{"in order", []lifecycleEvent{start(a), start(b)}, []lifecycleEvent{start(a), start(b)}},
		{"a flow that is over", []lifecycleEvent{start(a), stop(a)}, nil},
		{"a flow that is over, among others", []lifecycleEvent{start(a), start(b), stop(a)},
			[]lifecycleEvent{start(b)}},
		{"one that was known", []lifecycleEvent{stop(a)}, []lifecycleEvent{stop(a)}},
		{"its number again", []lifecycleEvent{stop(a), start(c)},
			[]lifecycleEvent{stop(a), start(c)}},
		{"and again", []lifecycleEvent{stop(a), start(c), stop(c), start(a)},
			[]lifecycleEvent{stop(a), start(a)}},
	} {
		t.Run(x.name, func(t *testing.T) {
			var w lifecycleQueue
			for _, l := range x.happens {
				w.add(l)
			}
			require.Equal(t, len(x.told), w.waiting())
			var told []lifecycleEvent
			for l, some := w.peek(); some; l, some = w.peek() {
				told = append(told, l)
				w.pop()
			}
			require.Equal(t, x.told, told)
			require.Zero(t, w.waiting())
		})
	}
}

// Whatever happens and whenever the receiver polls, the flows that were reported as begun and not
// as ended are the open ones, and the queue takes no more than twice the number of flows.
func TestLifecycleQueueAgainstModel(t *testing.T) {
	const flows = 16
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var w lifecycleQueue
		open, known := map[uint32]Handle{}, map[uint32]Handle{}
		listen := func(n int) {
			for l, some := w.peek(); some && n > 0; l, some = w.peek() {
				if l.t == Started {
					require.NotContains(t, known, l.flow.Index(), "seed %d", seed)
					known[l.flow.Index()] = l.flow
				} else {
					require.Equal(t, l.flow, known[l.flow.Index()], "seed %d", seed)
					delete(known, l.flow.Index())
				}
				w.pop()
				n--
			}
		}
		for step := range uint32(5000) {
			i := rng.Uint32N(flows)
			if h, some := open[i]; some {
				w.add(lifecycleEvent{h, Stopped, 1})
				delete(open, i)
			} else {
				open[i] = NewHandle(i, step)
				w.add(lifecycleEvent{open[i], Started, 1})
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

// While the NIC's process is not polled, flows that begin and end leave nothing behind.
func TestFlowsWhileTheNICIsStopped(t *testing.T) {
	a, err := InitProcessLink(AlignedMemory(ProcessLinkBytes), false)
	require.NoError(t, err)
	remote, err := a.Remote(0)
	require.NoError(t, err)
	for i := range uint32(100_000) {
		h := NewHandle(i%8, i/8)
		remote.Open(h, cc.Decision{Window: 1}, at(int(i)))
		remote.Close(h, at(int(i)))
		remote.Poll(at(int(i)))
	}
	assert.LessOrEqual(t, remote.lifecycle.waiting(), 8)
	assert.LessOrEqual(t, len(remote.lifecycle.queue), 32)
}
