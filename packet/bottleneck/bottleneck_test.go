package bottleneck

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// frame returns an IPv4 frame with a valid header checksum, an ECN field, and length n.
func frame(n int, ecn byte) []byte {
	f := make([]byte, n)
	binary.BigEndian.PutUint16(f[typeAt:], typeIPv4)
	ip := f[ethernet:]
	ip[0], ip[tosAt], ip[8], ip[9] = 0x45, 26<<2|ecn, 64, 17
	binary.BigEndian.PutUint16(ip[2:], uint16(n-ethernet))
	binary.BigEndian.PutUint16(ip[checksumAt:], ^sum(ip[:ipv4Header]))
	return f
}

func sum(b []byte) uint16 {
	var s uint32
	for i := 0; i < len(b); i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}

func TestMarkCE(t *testing.T) {
	for ecn, marked := range []bool{false, true, true, true} {
		f := frame(100, byte(ecn))
		require.Equal(t, marked, MarkCE(f), ecn)
		require.Equal(t, uint16(0xffff), sum(f[ethernet:][:ipv4Header]), "checksum, ECN %d", ecn)
		if marked {
			require.Equal(t, byte(26<<2|3), f[ethernet+tosAt])
		}
		tagged := append(append(append([]byte{}, f[:typeAt]...), 0x81, 0, 0, 5), f[typeAt:]...)
		require.Equal(t, marked, MarkCE(tagged), "tagged, ECN %d", ecn)
	}
	six := make([]byte, 60)
	binary.BigEndian.PutUint16(six[typeAt:], typeIPv6)
	binary.BigEndian.PutUint16(six[ethernet:], 0x6000|uint16(26<<2|2)<<4)
	require.True(t, MarkCE(six))
	require.Equal(t, uint16(0x6000|uint16(26<<2|3)<<4), binary.BigEndian.Uint16(six[ethernet:]))
	for n := range 40 {
		MarkCE(frame(60, 2)[:n]) // does not panic
	}
}

func FuzzMarkCE(f *testing.F) {
	f.Add(frame(60, 2))
	f.Add(frame(60, 0)[:20])
	f.Fuzz(func(t *testing.T, b []byte) {
		if MarkCE(b) {
			require.True(t, MarkCE(b), "marked, it stays so")
		}
	})
}

// wire is a port with a queue without limits: what is sent is received.
type wire struct {
	packet.Port
	queue []packet.Buf
	freed int
}

func (w *wire) Info() packet.Info   { return packet.Info{} }
func (w *wire) Free(b []packet.Buf) { w.freed += len(b) }
func (w *wire) Send(_ packet.Class, b []packet.Buf) int {
	w.queue = append(w.queue, b...)
	return len(b)
}
func (w *wire) Recv(b []packet.Buf) int {
	n := copy(b, w.queue)
	w.queue = w.queue[n:]
	return n
}

// send sends n frames of 1000 bytes.
func send(p *Port, n int) {
	for range n {
		p.Send(packet.ClassData, []packet.Buf{packet.MakeBuf(0, frame(1000, 2))})
	}
}

func TestRate(t *testing.T) {
	var now units.Time
	link := &Link{Config: Config{Rate: 8 * units.Gbps}}
	w := &wire{}
	p := New(w, link, link, func() units.Time { return now })
	require.Equal(t, 8*units.Gbps, p.Info().LinkRate)
	send(p, 3)
	bufs := make([]packet.Buf, packet.Burst)
	each := (8 * units.Gbps).Duration(1000 + overhead)
	require.Zero(t, p.Recv(bufs))
	for i := 1; i <= 3; i++ {
		now = units.Time(0).Add(units.Duration(i) * each)
		require.Equal(t, 1, p.Recv(bufs))
		require.Equal(t, now, bufs[0].Time)
		require.Equal(t, units.Bytes(3-i)*1000, link.Queued())
	}
	send(p, 2000) // more than it holds: the others wait in the port
	require.Zero(t, p.Recv(bufs))
	require.Equal(t, holds, p.n)
	p.Drain()
	require.Equal(t, holds, w.freed)
	require.Equal(t, units.Bytes(2000-holds)*1000, link.Queued())
}

func TestMarks(t *testing.T) {
	link := &Link{Config: Config{Kmin: 10000, Kmax: 20000}}
	p := New(&wire{}, link, link, nil)
	bufs := make([]packet.Buf, 1)
	marks := map[int]int{}
	for range 1000 {
		send(p, 25)
		for queue := 25; queue > 0; queue-- {
			require.Equal(t, 1, p.Recv(bufs))
			if bufs[0].Data()[ethernet+tosAt]&ecnMask == 3 {
				marks[queue]++
			}
		}
	}
	for queue := 1; queue <= 25; queue++ {
		share := min(max(float64(queue-10)/10, 0), 1)
		require.InDelta(t, share*1000, marks[queue], 60, "queue of %d frames", queue)
	}
	require.NotZero(t, link.Marked())
}
