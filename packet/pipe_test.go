package packet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/units"
)

func TestPipeCarriesInOrder(t *testing.T) {
	a, b := Pipe(PipeOptions{})
	bufs := numbered(t, a, 0, 100)
	require.Equal(t, 100, a.Send(ClassData, bufs))
	require.Equal(t, 100, a.Outstanding())
	assert.Equal(t, upTo(100), received(b))
	assert.Empty(t, received(a))
	noLeak(t, a, b)
}

func TestPipeHighestClassFirst(t *testing.T) {
	a, b := Pipe(PipeOptions{})
	a.Send(ClassData, numbered(t, a, 4, 2))
	a.Send(ClassAck, numbered(t, a, 2, 2))
	a.Send(ClassControl, numbered(t, a, 0, 2))
	assert.Equal(t, upTo(6), received(b))
}

func TestPipeFoldsClasses(t *testing.T) {
	a, b := Pipe(PipeOptions{Classes: 1})
	require.Equal(t, 1, a.Info().Classes)
	a.Send(ClassData, numbered(t, a, 0, 2))
	a.Send(ClassControl, numbered(t, a, 2, 2))
	assert.Equal(t, upTo(4), received(b))
}

func TestPipePushesBack(t *testing.T) {
	a, b := Pipe(PipeOptions{Depth: 8, Buffers: 16})
	bufs := numbered(t, a, 0, 16)
	require.Equal(t, 8, a.Send(ClassData, bufs))
	require.Zero(t, a.Send(ClassData, bufs[8:]))
	require.Equal(t, 8, a.Send(ClassAck, bufs[8:]), "another class has its own queue")
	require.Zero(t, a.Alloc(bufs[:1]), "exhausted")
	require.Len(t, received(b), 16)
	require.Equal(t, 16, a.Alloc(bufs))
	a.Free(bufs)
	noLeak(t, a, b)
}

// TestPipeForwardsByReference sends a received frame back: its buffer still belongs to the end that
// allocated it.
func TestPipeForwardsByReference(t *testing.T) {
	a, b := Pipe(PipeOptions{Buffers: 4})
	bufs := numbered(t, a, 7, 1)
	memory := &bufs[0].Data()[0]
	a.Send(ClassData, bufs)
	require.Equal(t, 1, b.Recv(bufs))
	assert.Same(t, memory, &bufs[0].Data()[0])
	require.Equal(t, 1, b.Send(ClassData, bufs))
	assert.Zero(t, b.Outstanding())
	assert.Equal(t, []int{7}, received(a))
	noLeak(t, a, b)
}

func TestPipePanicsOnBufferNotHeld(t *testing.T) {
	a, b := Pipe(PipeOptions{})
	one := numbered(t, a, 0, 1)
	a.Free(one)
	assert.Panics(t, func() { a.Free(one) }, "twice")
	assert.Panics(t, func() { a.Send(ClassData, one) }, "after Free")
	one = numbered(t, a, 0, 1)
	a.Send(ClassData, one)
	assert.Panics(t, func() { a.Free(one) }, "after Send")
	assert.Panics(t, func() { b.Free([]Buf{{Handle: 1 << 30}}) }, "unknown buffer")
}

func TestPipeInfo(t *testing.T) {
	a, b := Pipe(PipeOptions{MTU: 1500, LinkRate: 100 * units.Gbps, Depth: 5})
	for _, e := range []*PipeEnd{a, b} {
		i := e.Info()
		assert.Equal(t, "pipe", i.Driver)
		assert.Equal(t, units.Bytes(1500), i.MTU)
		assert.Equal(t, 100*units.Gbps, i.LinkRate)
		assert.Equal(t, 5, i.TxDepth)
		assert.True(t, i.Reliable)
		bufs := make([]Buf, 1)
		e.Alloc(bufs)
		assert.Zero(t, bufs[0].Len())
		assert.GreaterOrEqual(t, len(bufs[0].Room()), 1518)
		assert.Panics(t, func() { bufs[0].SetLen(len(bufs[0].Room()) + 1) })
	}
	assert.NotEqual(t, a.Info().MAC, b.Info().MAC)
}

// TestPipeConserves drives both ends at random and compares them with a model: no frame is lost,
// duplicated, or reordered within its class.
func TestPipeConserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := Pipe(PipeOptions{Buffers: 40, Depth: rapid.IntRange(1, 20).Draw(t, "depth")})
		ends := [2]*PipeEnd{a, b}
		var sent, got [2][Classes][]int
		next := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := rapid.IntRange(0, 1).Draw(t, "end")
			bufs := make([]Buf, rapid.IntRange(0, Burst).Draw(t, "burst"))
			if rapid.Bool().Draw(t, "send") {
				class := Class(rapid.IntRange(0, int(Classes)-1).Draw(t, "class"))
				bufs = bufs[:ends[i].Alloc(bufs)]
				for j := range bufs {
					bufs[j].SetLen(8)
					bufs[j].Data()[4] = byte(class)
					putNumber(&bufs[j], next+j)
				}
				n := ends[i].Send(class, bufs)
				ends[i].Free(bufs[n:])
				for j := range n {
					sent[i][class] = append(sent[i][class], next+j)
				}
				next += len(bufs)
			} else {
				n := ends[i].Recv(bufs)
				for j := range n {
					class := bufs[j].Data()[4]
					got[1-i][class] = append(got[1-i][class], number(&bufs[j]))
				}
				ends[i].Free(bufs[:n])
			}
		}
		var bufs [1]Buf
		for i, e := range ends {
			for e.Recv(bufs[:]) == 1 {
				class := bufs[0].Data()[4]
				got[1-i][class] = append(got[1-i][class], number(&bufs[0]))
				e.Free(bufs[:])
			}
		}
		require.Equal(t, sent, got)
		noLeak(t, a, b)
	})
}

func TestPipeDoesNotAllocate(t *testing.T) {
	a, b := Pipe(PipeOptions{})
	bufs := make([]Buf, Burst)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		a.Alloc(bufs)
		a.Send(ClassData, bufs)
		b.Recv(bufs)
		b.Free(bufs)
	}))
}

func BenchmarkPipe(b *testing.B) {
	from, to := Pipe(PipeOptions{})
	bufs := make([]Buf, Burst)
	b.ReportAllocs()
	for b.Loop() {
		from.Alloc(bufs)
		from.Send(ClassData, bufs)
		to.Recv(bufs)
		to.Free(bufs)
	}
}
