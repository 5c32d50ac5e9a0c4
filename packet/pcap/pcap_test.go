package pcap

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

type record struct {
	at   time.Time
	long int
	data string
}

// read parses a recording with gopacket.
func read(t *testing.T, file []byte) (records []record) {
	t.Helper()
	r, err := pcapgo.NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	require.Equal(t, layers.LinkTypeEthernet, r.LinkType())
	for {
		data, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return records
		}
		require.NoError(t, err)
		require.Equal(t, gopacket.CaptureInfo{Timestamp: info.Timestamp, CaptureLength: len(data),
			Length: info.Length}, info)
		records = append(records, record{info.Timestamp.UTC(), info.Length, string(data)})
	}
}

// fill allocates a frame of n bytes b.
func fill(t *testing.T, p packet.Port, b byte, n int) packet.Buf {
	t.Helper()
	var one [1]packet.Buf
	require.Equal(t, 1, p.Alloc(one[:]))
	one[0].SetLen(n)
	copy(one[0].Data(), bytes.Repeat([]byte{b}, n))
	return one[0]
}

func TestRecordsBothWays(t *testing.T) {
	var file bytes.Buffer
	var now units.Time
	const epoch = 1_700_000_000_000_000_000
	f, err := New(&file, func() units.Time { return now }, SnapLen(100), Epoch(epoch))
	require.NoError(t, err)
	a, b := packet.Pipe(packet.PipeOptions{Depth: 2})
	p := f.Wrap(a)
	assert.Equal(t, a.Info(), p.Info())

	now = now.Add(3*units.Second + 7*units.Nanosecond + 999)
	bufs := []packet.Buf{fill(t, p, 1, 60), fill(t, p, 2, 300), fill(t, p, 3, 60)}
	require.Equal(t, 2, p.Send(packet.ClassData, bufs), "the third is refused")
	p.Free(bufs[2:])
	require.Zero(t, p.Send(packet.ClassData, nil))
	b.Send(packet.ClassAck, []packet.Buf{fill(t, b, 4, 61)})
	now = now.Add(units.Second)
	require.Equal(t, 1, p.Recv(bufs))
	require.Zero(t, p.Recv(bufs[1:]))
	p.Free(bufs[:1])
	require.Equal(t, 2, b.Recv(bufs))
	b.Free(bufs[:2])
	assert.Zero(t, a.Outstanding()+b.Outstanding())

	at := time.Unix(0, epoch+3_000_000_007).UTC()
	assert.Equal(t, []record{
		{at, 60, string(bytes.Repeat([]byte{1}, 60))},
		{at, 300, string(bytes.Repeat([]byte{2}, 100))},
		{at.Add(time.Second), 61, string(bytes.Repeat([]byte{4}, 61))},
	}, read(t, file.Bytes()))
	assert.NoError(t, f.Err())
}

func TestDefaultsAndNegativeTime(t *testing.T) {
	var file bytes.Buffer
	f, err := New(&file, func() units.Time { return -1 << 60 }, SnapLen(0))
	require.NoError(t, err)
	a, _ := packet.Pipe(packet.PipeOptions{MTU: 9000})
	f.Wrap(a).Send(packet.ClassData, []packet.Buf{fill(t, a, 1, 9000)})
	got := read(t, file.Bytes())
	require.Len(t, got, 1)
	assert.Len(t, got[0].data, 9000)
	assert.Equal(t, time.Unix(0, 0).UTC(), got[0].at)
}

// broken accepts left writes and then fails.
type broken struct{ left, calls int }

func (w *broken) Write(b []byte) (int, error) {
	w.calls++
	if w.left == 0 {
		return 0, io.ErrShortWrite
	}
	w.left--
	return len(b), nil
}

func TestErrorsAreRemembered(t *testing.T) {
	clock := func() units.Time { return 0 }
	_, err := New(&broken{}, clock)
	require.ErrorIs(t, err, io.ErrShortWrite)

	w := &broken{left: 1}
	f, err := New(w, clock)
	require.NoError(t, err)
	a, b := packet.Pipe(packet.PipeOptions{})
	p := f.Wrap(a)
	for range 3 {
		require.Equal(t, 1, p.Send(packet.ClassData, []packet.Buf{fill(t, p, 1, 60)}),
			"the port still works")
	}
	assert.ErrorIs(t, f.Err(), io.ErrShortWrite)
	assert.Equal(t, 2, w.calls, "nothing is written after an error")
	assert.Equal(t, 3, b.Recv(make([]packet.Buf, 8)))
}

func TestPortsOfSeveralCoresShareAFile(t *testing.T) {
	var file bytes.Buffer
	f, err := New(&file, func() units.Time { return 0 })
	require.NoError(t, err)
	var cores sync.WaitGroup
	for range 4 {
		a, b := packet.Pipe(packet.PipeOptions{})
		p := f.Wrap(a)
		cores.Go(func() {
			bufs := make([]packet.Buf, 1)
			for range 100 {
				p.Alloc(bufs)
				bufs[0].SetLen(60)
				p.Send(packet.ClassData, bufs)
				b.Recv(bufs)
				b.Free(bufs)
			}
		})
	}
	cores.Wait()
	assert.Len(t, read(t, file.Bytes()), 400)
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	f, err := New(io.Discard, func() units.Time { return 0 })
	require.NoError(t, err)
	a, b := packet.Pipe(packet.PipeOptions{})
	p := packet.Port(f.Wrap(a))
	bufs := make([]packet.Buf, packet.Burst)
	round := func() {
		p.Alloc(bufs)
		p.Send(packet.ClassData, bufs)
		b.Recv(bufs)
		b.Free(bufs)
	}
	round()
	assert.Zero(t, testing.AllocsPerRun(100, round))
}
