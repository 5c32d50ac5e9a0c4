package goroce

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// mailbox is a Waker whose work is a number that other threads raise.
type mailbox struct{ posted, done atomic.Int64 }

func (m *mailbox) HasWork() bool { return m.posted.Load() != m.done.Load() }

func (m *mailbox) Step(*transport.Endpoint, units.Time) (busy, done bool) {
	n := m.posted.Load()
	busy = n != m.done.Load()
	m.done.Store(n)
	return busy, false
}

// A core that sleeps finds what a thread left in memory: at once if the thread wakes it, and after
// its nap otherwise.
func TestWaker(t *testing.T) {
	var asleep atomic.Uint32
	h, err := Open("loop:"+t.Name(), Options{Asleep: &asleep})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	m := &mailbox{}
	_, err = h.Run(0, m)
	require.NoError(t, err)
	slept := false
	for i := range int64(200) {
		time.Sleep(500 * time.Microsecond)
		slept = slept || asleep.Load() == 1
		m.posted.Add(1)
		if i%2 == 0 {
			h.workers[0].doze.wake()
		}
		require.Eventually(t, func() bool { return m.done.Load() == i+1 }, 10*time.Second,
			10*time.Microsecond)
	}
	require.True(t, slept, "a core without work announces that it sleeps")
}
