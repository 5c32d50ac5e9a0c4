package packet

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// numbered allocates n frames that carry the numbers from from on.
func numbered(t require.TestingT, p Port, from, n int) []Buf {
	bufs := make([]Buf, n)
	require.Equal(t, n, p.Alloc(bufs))
	for i := range bufs {
		bufs[i].SetLen(64)
		clear(bufs[i].Data())
		binary.BigEndian.PutUint32(bufs[i].Data(), uint32(from+i))
	}
	return bufs
}

func number(b *Buf) int { return int(binary.BigEndian.Uint32(b.Data())) }

// received drains a port, frees the frames and returns their numbers in order.
func received(p Port) (numbers []int) {
	var bufs [Burst]Buf
	for n := p.Recv(bufs[:]); n > 0; n = p.Recv(bufs[:]) {
		for i := range n {
			numbers = append(numbers, number(&bufs[i]))
		}
		p.Free(bufs[:n])
	}
	return numbers
}

func upTo(n int) (numbers []int) {
	for i := range n {
		numbers = append(numbers, i)
	}
	return numbers
}

func noLeak(t require.TestingT, ends ...*PipeEnd) {
	for _, e := range ends {
		require.Zero(t, e.Outstanding(), "%s leaks", e.Info().Name)
	}
}

func newFaults(t testing.TB, p Port, o FaultOptions) *Faults {
	t.Helper()
	f, err := NewFaults(p, o)
	require.NoError(t, err)
	return f
}

func putNumber(b *Buf, n int) { binary.BigEndian.PutUint32(b.Data(), uint32(n)) }
