package transport

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A message that finds no receive asks the program for one, and uses it: nothing is repeated.
func TestOnNoReceive(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	require.Positive(t, b.qp.RecvRoom())
	asked := 0
	b.qp.OnNoReceive(func() {
		if asked++; asked <= 3 {
			b.recv(t, uint64(asked), 0, 100)
		}
	})
	room := b.qp.RecvRoom()
	for i := range 3 {
		a.post(t, WorkRequest{ID: uint64(i), Op: OpSend, Signaled: true, Solicited: i == 1,
			SGList: []SGE{a.mr.SGE(0, 10)}})
	}
	got := p.await(b, 3)
	for i, wc := range got {
		require.EqualValues(t, i+1, wc.ID)
		require.Equal(t, StatusSuccess, wc.Status)
		require.Equal(t, i == 1, wc.Solicited)
	}
	require.Equal(t, 3, asked)
	require.Equal(t, room, b.qp.RecvRoom())
	require.Zero(t, p.b.Stats().RNRSent)

	a.post(t, WorkRequest{Op: OpSend, SGList: []SGE{a.mr.SGE(0, 10)}})
	p.settle(100 * us)
	require.Positive(t, p.b.Stats().RNRSent, "the function posts none")
	b.recv(t, 9, 0, 100)
	require.EqualValues(t, 9, p.await(b, 1)[0].ID)
}

// Attributes that may change at any time.
func TestSetAttributes(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	b.qp.SetAccess(0)
	a.post(t, WorkRequest{Op: OpWrite, SGList: []SGE{a.mr.SGE(0, 8)}, RemoteAddr: b.mr.Addr,
		RKey: b.mr.RKey})
	require.Equal(t, StatusRemInvReqErr, p.await(a, 1)[0].Status)
	b.qp.SetQKey(5)
	require.EqualValues(t, 5, b.qp.Query().QKey)
	require.NoError(t, b.qp.SetMinRNRTimer(31))
	require.ErrorIs(t, b.qp.SetMinRNRTimer(32), ErrInvalid)
}
