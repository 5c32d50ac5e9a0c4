package packet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCounters(t *testing.T) {
	a, b := Pipe(PipeOptions{Depth: 4, Buffers: 8})
	ca, cb := NewCounters(a), NewCounters(b)
	assert.Equal(t, a.Info(), ca.Info())
	bufs := numbered(t, ca, 0, 8)
	require.Zero(t, ca.Alloc(make([]Buf, 3)))
	require.Equal(t, 4, ca.Send(ClassData, bufs[:6]))
	require.Equal(t, 1, ca.Send(ClassControl, bufs[4:5]))
	ca.Free(bufs[5:])
	require.Len(t, received(cb), 5)

	sent, got := ca.Counts(), cb.Counts()
	assert.Equal(t, Counts{
		Sent:       [Classes]Count{ClassData: {4, 256}, ClassControl: {1, 64}},
		ShortSends: 1, Unsent: 2, ShortAllocs: 1, Unallocated: 3,
	}, sent)
	assert.Equal(t, Counts{Received: Count{5, 320}}, got)
	assert.Equal(t, got.Received, sent.Total())
	noLeak(t, a, b)
}

func TestCountersDoNotAllocate(t *testing.T) {
	a, b := Pipe(PipeOptions{})
	from, to := Port(NewCounters(a)), Port(NewCounters(b))
	bufs := make([]Buf, Burst)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		from.Alloc(bufs)
		from.Send(ClassData, bufs)
		to.Recv(bufs)
		to.Free(bufs)
	}))
}
