package packet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// addressed makes numbered frames with a destination: ours or another.
func addressed(t *testing.T, p Port, to ...bool) []Buf {
	bufs := numbered(t, p, 0, len(to))
	for i, ours := range to {
		b := bufs[i].Data()
		copy(b[8:12], b[:4])
		clear(b[:6])
		if ours {
			mac := p.Info().MAC
			copy(b, mac[:])
		}
	}
	return bufs
}

func places(p Port) (numbers []int) {
	var bufs [4]Buf
	for n := p.Recv(bufs[:]); n > 0; n = p.Recv(bufs[:]) {
		for i := range n {
			numbers = append(numbers, int(bufs[i].Data()[11]))
		}
		p.Free(bufs[:n])
	}
	return numbers
}

func TestHairpin(t *testing.T) {
	a, b := Pipe(PipeOptions{Depth: 4})
	require.NotZero(t, a.Info().MAC)
	h := NewHairpin(a, false)
	require.Equal(t, 5, h.Send(ClassData, addressed(t, h, true, false, true, false, true)))
	require.Equal(t, []int{0, 2, 4}, places(h))
	require.Equal(t, []int{1, 3}, places(b))

	bufs := addressed(t, h, false, false, false, false, false, true)
	require.Equal(t, 4, h.Send(ClassData, bufs), "the port has room for four, and order is kept")
	h.Free(bufs[4:])
	require.Empty(t, places(h))
	require.Len(t, places(b), 4)
	for range hairpinDepth {
		require.Equal(t, 1, h.Send(ClassAck, addressed(t, h, true)))
	}
	bufs = addressed(t, h, true)
	require.Zero(t, h.Send(ClassAck, bufs))
	h.Free(bufs)
	require.Len(t, places(h), hairpinDepth)
	noLeak(t, a, b)
}

// Both our own frames and those of others get their share of a burst.
func TestHairpinShares(t *testing.T) {
	a, b := Pipe(PipeOptions{})
	h := NewHairpin(a, false)
	h.Send(ClassData, addressed(t, h, true, true, true, true, true))
	b.Send(ClassData, numbered(t, b, 100, 5))
	var bufs [4]Buf
	require.Equal(t, 4, h.Recv(bufs[:]))
	require.True(t, h.isOurs(&bufs[0]) && h.isOurs(&bufs[1]))
	require.False(t, h.isOurs(&bufs[2]) || h.isOurs(&bufs[3]))
	h.Free(bufs[:])
	require.Len(t, places(h), 6)
	noLeak(t, a, b)
}

func TestHairpinAlone(t *testing.T) {
	a, b := Pipe(PipeOptions{Depth: 1})
	h := NewHairpin(a, true)
	require.Equal(t, 4, h.Send(ClassData, addressed(t, h, false, false, true, false)))
	require.Equal(t, []int{2}, places(h))
	require.Empty(t, places(b))
	noLeak(t, a, b)
}
