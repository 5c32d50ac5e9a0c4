package transport

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// otherProcess is memory of which some cannot be accessed.
type otherProcess struct {
	mem           []byte
	gone          uint64 // from this offset on, nothing is accessible
	reads, writes int
}

func (o *otherProcess) at(n int, offset uint64) []byte {
	if offset > uint64(len(o.mem)) || uint64(n) > uint64(len(o.mem))-offset ||
		o.gone != 0 && offset+uint64(n) > o.gone {
		return nil
	}
	return o.mem[offset:][:n]
}

func (o *otherProcess) Size() uint64 { return uint64(len(o.mem)) }

func (o *otherProcess) Read(p []byte, offset uint64) bool {
	o.reads++
	return copy(p, o.at(len(p), offset)) == len(p)
}

func (o *otherProcess) Write(p []byte, offset uint64) bool {
	o.writes++
	return copy(o.at(len(p), offset), p) == len(p)
}

// foreign moves a side's memory to another process.
func foreign(t testing.TB, s *side) *otherProcess {
	o := &otherProcess{mem: make([]byte, len(s.mem))}
	mr, err := s.ep.RegisterForeign(s.pd, o, 0x10000,
		LocalWrite|RemoteWrite|RemoteRead|RemoteAtomic)
	require.NoError(t, err)
	require.Nil(t, mr.Bytes())
	s.mr.Deregister()
	s.mr, s.mem = mr, o.mem
	return o
}

// All operations access memory of other processes, with one copy for up to 64 KiB.
func TestForeignMemory(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	ma, mb := foreign(t, a), foreign(t, b)
	fill(a.mem, 1)
	const n = 48 << 10
	require.NoError(t, b.qp.PostRecv(&RecvRequest{
		SGList: []SGE{b.mr.SGE(0, 100), b.mr.SGE(200, n)}}))
	require.NoError(t, a.qp.PostSend(&WorkRequest{Op: OpSend, Signaled: true,
		SGList: []SGE{a.mr.SGE(8, 1000), a.mr.SGE(5000, n-1000)}}))
	require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
	require.Equal(t, StatusSuccess, p.await(b, 1)[0].Status)
	want := append(append([]byte{}, a.mem[8:1008]...), a.mem[5000:5000+n-1000]...)
	got := append(append([]byte{}, b.mem[:100]...), b.mem[200:200+n-100]...)
	require.True(t, bytes.Equal(want, got))
	require.LessOrEqual(t, ma.reads, 4)

	ma.reads, mb.writes = 0, 0
	require.NoError(t, a.qp.PostSend(&WorkRequest{Op: OpWrite, Signaled: true,
		SGList: []SGE{a.mr.SGE(0, n)}, RemoteAddr: b.mr.Addr + 16, RKey: b.mr.RKey}))
	require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
	require.True(t, bytes.Equal(a.mem[:n], b.mem[16:16+n]))
	require.Equal(t, 1, ma.reads)

	fill(b.mem, 2)
	require.NoError(t, a.qp.PostSend(&WorkRequest{Op: OpRead, Signaled: true,
		SGList: []SGE{a.mr.SGE(0, n)}, RemoteAddr: b.mr.Addr + 8, RKey: b.mr.RKey}))
	require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
	require.True(t, bytes.Equal(a.mem[:n], b.mem[8:8+n]))

	clear(b.mem[:8])
	require.NoError(t, a.qp.PostSend(&WorkRequest{Op: OpFetchAdd, Signaled: true, CompareAdd: 7,
		SGList: []SGE{a.mr.SGE(0, 8)}, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey}))
	require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
	require.EqualValues(t, 7, b.mem[0])
	require.Zero(t, a.mem[0])
}

// A message that reads memory again does not get what an earlier one has read.
func TestForeignMemoryIsReadAgain(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	foreign(t, a)
	for round := range 3 {
		fill(a.mem, byte(round))
		for _, n := range []int{100, 20000} {
			require.NoError(t, a.qp.PostSend(&WorkRequest{Op: OpWrite, Signaled: true,
				SGList: []SGE{a.mr.SGE(0, n)}, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey}))
			require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
			require.True(t, bytes.Equal(a.mem[:n], b.mem[:n]))
		}
	}
}

// What cannot be accessed ends requests as a region that is too short does.
func TestForeignMemoryIsGone(t *testing.T) {
	const n = 20000
	run := func(op Op, gone func(a, b *otherProcess)) (at Status, peer *side, p *pair) {
		p = newPair(t)
		a, b := p.connected(defaults())
		gone(foreign(t, a), foreign(t, b))
		require.NoError(t, b.qp.PostRecv(&RecvRequest{SGList: []SGE{b.mr.SGE(0, n)}}))
		require.NoError(t, a.qp.PostSend(&WorkRequest{Op: op, Signaled: true,
			SGList: []SGE{a.mr.SGE(0, n)}, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey}))
		return p.await(a, 1)[0].Status, b, p
	}
	ours := func(a, _ *otherProcess) { a.gone = 10000 }
	theirs := func(_, b *otherProcess) { b.gone = 10000 }
	for _, op := range []Op{OpSend, OpWrite, OpRead} {
		status, _, _ := run(op, ours)
		require.Equal(t, StatusLocProtErr, status, op)
	}
	status, b, p := run(OpSend, theirs)
	require.Equal(t, StatusRemOpErr, status)
	require.Equal(t, StatusLocProtErr, p.await(b, 1)[0].Status)
	for _, op := range []Op{OpWrite, OpRead} {
		status, _, _ := run(op, theirs)
		require.Equal(t, StatusRemAccessErr, status, op)
	}
}

// Two messages that arrive in turns are both placed.
func TestForeignMemoryOfTwoMessages(t *testing.T) {
	p := newPair(t)
	var sides [2][2]*side
	for i := range sides {
		a, b := p.connected(defaults())
		foreign(t, a)
		foreign(t, b)
		fill(a.mem, byte(i))
		a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, len(a.mem))},
			RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
		sides[i] = [2]*side{a, b}
	}
	for _, s := range sides {
		require.Equal(t, StatusSuccess, p.await(s[0], 1)[0].Status)
		require.True(t, bytes.Equal(s[0].mem, s[1].mem))
	}
}
