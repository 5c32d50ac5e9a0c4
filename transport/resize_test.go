package transport

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/endpoint"
)

// A queue that is resized keeps its completions, in order, and has room for as many as asked.
func TestResizeCQ(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	for i := range 6 {
		b.recv(t, uint64(i), 0, 100)
	}
	send := func(from, n int) {
		for i := range n {
			a.post(t, WorkRequest{ID: uint64(from + i), Op: OpSend, Signaled: true,
				SGList: []SGE{a.mr.SGE(0, 10)}})
		}
		p.settle(100 * us)
	}
	cq := a.qp.snd.cold().cq
	send(0, 3)
	require.Equal(t, 3, cq.Len())
	require.ErrorContains(t, cq.Resize(2), "depth 2, but 3 completions are in it; poll them first")
	require.ErrorIs(t, cq.Resize(0), ErrInvalid)
	require.ErrorIs(t, cq.Resize(endpoint.MaxCQDepth+1), ErrInvalid)
	require.NoError(t, cq.Resize(3))
	require.True(t, cq.isFull())
	require.NoError(t, cq.Resize(100))
	send(3, 3)
	var wcs [10]WorkCompletion
	require.Equal(t, 6, cq.Poll(wcs[:]))
	for i := range 6 {
		require.EqualValues(t, i, wcs[i].ID)
	}
	require.NoError(t, cq.Resize(1))
	require.Zero(t, p.a.counters.CQOverruns)

	other, err := p.a.CreateCQ(1)
	require.NoError(t, err)
	require.NoError(t, other.Destroy())
	require.ErrorContains(t, other.Resize(2), "it is destroyed")
}

func TestResizeSRQ(t *testing.T) {
	p := newPair(t)
	pd := p.a.AllocPD()
	s, err := p.a.CreateSRQ(pd, 2, 0)
	require.NoError(t, err)
	post := func(id uint64) error { return s.PostRecv(&RecvRequest{ID: id}) }
	require.NoError(t, post(1))
	require.NoError(t, post(2))
	require.ErrorIs(t, post(3), ErrQueueFull)
	require.NoError(t, s.Resize(50))
	for i := range uint64(48) {
		require.NoError(t, post(3+i))
	}
	require.ErrorIs(t, post(99), ErrQueueFull)
	require.ErrorContains(t, s.Resize(49), "depth 49, but 50 receives are posted")
	for i := range uint64(50) {
		require.Equal(t, i+1, s.queue.pop().id)
	}
	require.NoError(t, s.Resize(1))
	require.NoError(t, post(1))
	require.ErrorIs(t, post(2), ErrQueueFull)
	require.ErrorIs(t, s.Resize(0), ErrInvalid)
	require.ErrorIs(t, s.Resize(endpoint.MaxQueueDepth+1), ErrInvalid)
	require.NoError(t, s.Destroy())
	require.ErrorContains(t, s.Resize(2), "it is destroyed")
}

// A region that is changed keeps its keys: a peer's access is that of the new memory and rights.
func TestReregister(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	write := func() Status {
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 8)},
			RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
		return p.await(a, 1)[0].Status
	}
	fill(a.mr.Bytes()[:8], 3)
	key, addr, memory := b.mr.RKey, b.mr.Addr, make([]byte, 100)
	require.NoError(t, b.mr.Reregister(ReregTranslation, nil, memory, 0))
	require.Equal(t, key, b.mr.RKey)
	require.NotEqual(t, addr, b.mr.Addr)
	require.Equal(t, StatusSuccess, write())
	require.Equal(t, a.mr.Bytes()[:8], memory[:8])

	other := b.ep.AllocPD()
	require.NoError(t, b.mr.Reregister(ReregPD, other, nil, 0))
	require.ErrorIs(t, other.Dealloc(), ErrBusy)
	require.NoError(t, b.mr.Reregister(ReregPD|ReregAccess, b.pd, nil, LocalWrite|RemoteRead))
	require.NoError(t, other.Dealloc())
	require.Equal(t, StatusRemAccessErr, write())

	for _, err := range []error{
		b.mr.Reregister(0, nil, nil, 0),
		b.mr.Reregister(8, nil, nil, 0),
		b.mr.Reregister(ReregPD, nil, nil, 0),
		b.mr.Reregister(ReregPD, other, nil, 0),
		b.mr.Reregister(ReregAccess, nil, nil, RemoteWrite),
	} {
		require.ErrorIs(t, err, ErrInvalid)
	}
	require.Equal(t, LocalWrite|RemoteRead, b.mr.access)
	b.mr.Deregister()
	require.ErrorContains(t, b.mr.Reregister(ReregAccess, nil, nil, 0), "its keys are not valid")
}
