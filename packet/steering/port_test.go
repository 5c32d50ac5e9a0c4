package steering

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
)

const frameLen = wire.EthernetLen + wire.IPv4Len + wire.UDPLen + wire.BTHLen + wire.ICRCLen

// roce writes a RoCEv2 frame for a queue pair, with a number in place of the ICRC.
func roce(room []byte, qpn, number uint32) []byte {
	f := room[:frameLen]
	clear(f)
	binary.BigEndian.PutUint16(f[12:], wire.EtherTypeIPv4)
	f[14], f[23] = 0x45, wire.ProtocolUDP
	binary.BigEndian.PutUint16(f[36:], wire.UDPPort)
	binary.BigEndian.PutUint32(f[46:], qpn)
	binary.BigEndian.PutUint32(f[54:], number)
	return f
}

func number(b *packet.Buf) uint32 { return binary.BigEndian.Uint32(b.Data()[54:]) }

// arp returns an ARP packet (RFC 826).
func arp(operation uint16) []byte {
	f := make([]byte, 60)
	binary.BigEndian.PutUint16(f[12:], 0x0806)
	binary.BigEndian.PutUint64(f[14:], 0x0001_0800_06_04<<16|uint64(operation))
	f[14+17], f[14+27] = 1, 2
	return f
}

// neighbour returns an ICMPv6 message.
func neighbour(kind byte) []byte {
	f := make([]byte, 100)
	binary.BigEndian.PutUint16(f[12:], wire.EtherTypeIPv6)
	f[14], f[20], f[54] = 0x60, 58, kind
	return f
}

func send(t *testing.T, p packet.Port, frames ...[]byte) {
	t.Helper()
	for _, f := range frames {
		var b [1]packet.Buf
		require.Equal(t, 1, p.Alloc(b[:]))
		b[0].SetLen(copy(b[0].Room(), f))
		require.Equal(t, 1, p.Send(packet.ClassData, b[:]))
	}
}

// receive returns the frames that a port has, and frees them.
func receive(p packet.Port) (frames [][]byte) {
	var bufs [4]packet.Buf
	for n := p.Recv(bufs[:]); n > 0; n = p.Recv(bufs[:]) {
		for i := range n {
			frames = append(frames, append([]byte(nil), bufs[i].Data()...))
		}
		p.Free(bufs[:n])
	}
	return frames
}

// shared returns n ports of one pipe's end, and the other end.
func shared(n int, o packet.PipeOptions) (steered []*Port, peer *packet.PipeEnd) {
	end, peer := packet.Pipe(o)
	ports := make([]packet.Port, n)
	for i := range ports {
		ports[i] = end
	}
	return New(ports, 1), peer
}

func TestOwners(t *testing.T) {
	room := make([]byte, 128)
	for _, c := range []struct {
		name  string
		frame []byte
		owner int
	}{
		{"general services", roce(make([]byte, 128), 1, 0), 0},
		{"queue pair 0x101 of 3", roce(make([]byte, 128), 0x101, 0), 2},
		{"queue pair 0xfffffe of 3", roce(make([]byte, 128), 0xfffffe, 0), 2},
		{"ARP request", arp(1), 0},
		{"ARP reply", arp(2), everyone},
		{"neighbour solicitation", neighbour(135), 0},
		{"neighbour advertisement", neighbour(136), everyone},
		{"another UDP port", append([]byte(nil), roce(room, 0x101, 0)...), 0},
		{"nothing", nil, 0},
		{"a header", make([]byte, 14), 0},
	} {
		if c.name == "another UDP port" {
			c.frame[37]++
		}
		assert.Equal(t, c.owner, ownerOf(c.frame, 3), c.name)
	}
}

// Whichever port polls, each frame reaches its owner, in order, and every port learns of
// neighbours.
func TestSharedQueue(t *testing.T) {
	ports, peer := shared(3, packet.PipeOptions{})
	room := make([]byte, 128)
	for i := range uint32(12) {
		send(t, peer, append([]byte(nil), roce(room, 0x300+i%6, i)...))
	}
	send(t, peer, arp(2), arp(1))
	for i, want := range [][]uint32{{0, 3, 6, 9}, {1, 4, 7, 10}, {2, 5, 8, 11}} {
		var got []uint32
		others := 0
		for _, f := range receive(ports[i]) {
			if len(f) == frameLen {
				got = append(got, binary.BigEndian.Uint32(f[54:]))
			} else {
				others++
			}
		}
		assert.Equal(t, want, got)
		assert.Equal(t, []int{2, 1, 1}[i], others, "ARP packets")
		assert.Zero(t, ports[i].Dropped())
	}
}

// kept is a port that frees nothing: a pipe refuses the buffers of another.
type kept struct{ packet.Port }

func (kept) Free([]packet.Buf) {}

// A device with a queue for each endpoint may put a frame into any of them.
func TestWrongQueue(t *testing.T) {
	var ports []packet.Port
	var peers []*packet.PipeEnd
	for range 2 {
		end, peer := packet.Pipe(packet.PipeOptions{})
		ports, peers = append(ports, kept{end}), append(peers, peer)
	}
	steered := New(ports, 2)
	room := make([]byte, 128)
	for i := range uint32(6) {
		send(t, peers[1], append([]byte(nil), roce(room, 0x100+i%2, i)...))
	}
	assert.Len(t, receive(steered[1]), 3)
	assert.Len(t, receive(steered[0]), 3)
	send(t, steered[0], room[:frameLen])
	assert.Len(t, receive(peers[0]), 1)
}

// A device that loses nothing is not polled while a port's lane is full; another drops frames.
func TestFullLane(t *testing.T) {
	for _, lossless := range []bool{true, false} {
		ports, peer := shared(2, packet.PipeOptions{Buffers: 2048, Depth: 2048})
		ports[0].lossless = lossless
		room := make([]byte, 128)
		const frames = 1000
		for i := range uint32(frames) {
			send(t, peer, roce(room, 0x101, i))
		}
		send(t, peer, roce(room, 0x100, frames))
		if lossless {
			assert.Empty(t, receive(ports[0]))
			assert.Len(t, receive(ports[1]), frames)
			assert.Len(t, receive(ports[0]), 1)
			assert.Zero(t, ports[0].Dropped())
			continue
		}
		polls := 0
		for len(receive(ports[0])) == 0 {
			polls++
		}
		assert.Less(t, polls, frames)
		assert.Len(t, receive(ports[1]), laneDepth)
		assert.EqualValues(t, frames-laneDepth, ports[0].Dropped())
	}
}

// exclusive is a port that fails the test when two goroutines are in it at once.
type exclusive struct {
	packet.Port
	t                  *testing.T
	receiving, sending *atomic.Int32
}

func (e exclusive) Recv(bufs []packet.Buf) int {
	assert.EqualValues(e.t, 1, e.receiving.Add(1))
	defer e.receiving.Add(-1)
	return e.Port.Recv(bufs)
}

func (e exclusive) Send(c packet.Class, bufs []packet.Buf) int {
	assert.EqualValues(e.t, 1, e.sending.Add(1))
	defer e.sending.Add(-1)
	return e.Port.Send(c, bufs)
}

// source is a port that receives numbered frames for flows in turn, and counts what is sent.
type source struct {
	next, flows uint32
	first       uint32 // queue pair number
	sent        atomic.Uint32
}

func (s *source) Alloc([]packet.Buf) int { return 0 }
func (s *source) Free([]packet.Buf)      {}
func (s *source) Info() packet.Info      { return packet.Info{Reliable: true} }

func (s *source) Recv(bufs []packet.Buf) int {
	for i := range bufs {
		bufs[i] = packet.MakeBuf(0, roce(make([]byte, frameLen), s.first+s.next%s.flows, s.next))
		s.next++
	}
	return len(bufs)
}

func (s *source) Send(_ packet.Class, bufs []packet.Buf) int {
	s.sent.Add(uint32(len(bufs)))
	return len(bufs)
}

// Cores that share a queue receive the frames of each flow in order and without a gap, and use the
// queue one at a time.
func TestConcurrentPorts(t *testing.T) {
	const n = 4
	src := &source{flows: 2 * n, first: 0x200}
	ports := make([]packet.Port, n)
	var receiving, sending atomic.Int32
	for i := range ports {
		ports[i] = exclusive{src, t, &receiving, &sending}
	}
	var all sync.WaitGroup
	var sent atomic.Uint32
	end := time.Now().Add(300 * time.Millisecond)
	for i, p := range New(ports, 1) {
		all.Go(func() {
			bufs := make([]packet.Buf, 48)
			next := map[uint32]uint32{uint32(i): uint32(i), uint32(i + n): uint32(i + n)}
			for time.Now().Before(end) {
				got := p.Recv(bufs)
				for j := range got {
					k := number(&bufs[j])
					if next[k%src.flows] != k {
						t.Errorf("port %d: frame %d, want %d", i, k, next[k%src.flows])
						return
					}
					next[k%src.flows] += src.flows
				}
				sent.Add(uint32(p.Send(packet.ClassData, bufs[:got])))
			}
		})
	}
	all.Wait()
	assert.Equal(t, sent.Load(), src.sent.Load())
	assert.NotZero(t, src.next)
}

// What others pass on does not keep a port from its own queue, nor the other way around.
func TestNoQueueStarves(t *testing.T) {
	var ports []packet.Port
	var sources [2]*source
	for i := range sources { // all frames are for port 1
		sources[i] = &source{flows: 1, first: 0x201}
		ports = append(ports, sources[i])
	}
	steered := New(ports, 2)
	var bufs [packet.Burst]packet.Buf
	const rounds = 100
	for range rounds {
		assert.Zero(t, steered[0].Recv(bufs[:]))
		assert.Equal(t, packet.Burst, steered[1].Recv(bufs[:]))
	}
	assert.InDelta(t, rounds/2*packet.Burst, sources[1].next, packet.Burst)
	assert.GreaterOrEqual(t, steered[0].Passed(), uint64(rounds/2*packet.Burst))
	assert.Zero(t, steered[1].Passed())
	assert.Zero(t, steered[0].Dropped())
}

// Frames that wait for a port return to their pool.
func TestDrain(t *testing.T) {
	ports, peer := shared(2, packet.PipeOptions{Buffers: 64})
	for range 10 {
		for i := range uint32(packet.Burst + 8) {
			send(t, peer, roce(make([]byte, 128), 0x101, i))
		}
		for range packet.Burst {
			assert.Empty(t, receive(ports[0]))
		}
		ports[1].Drain()
	}
	assert.Empty(t, receive(ports[1]))
}

func TestNoAllocations(t *testing.T) {
	ports, peer := shared(2, packet.PipeOptions{})
	room := roce(make([]byte, 128), 0x101, 0)
	var bufs [1]packet.Buf
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		peer.Alloc(bufs[:])
		bufs[0].SetLen(copy(bufs[0].Room(), room))
		peer.Send(packet.ClassData, bufs[:])
		ports[0].Recv(bufs[:])
		if ports[1].Recv(bufs[:]) == 1 {
			ports[1].Free(bufs[:])
		}
	}))
}

// FuzzOwner: any frame has an owner, and a frame that an endpoint parses has that of its queue
// pair.
func FuzzOwner(f *testing.F) {
	f.Add(roce(make([]byte, 128), 0x101, 0), uint8(3))
	f.Add(arp(2), uint8(2))
	f.Add(neighbour(136), uint8(2))
	f.Fuzz(func(t *testing.T, frame []byte, n uint8) {
		ports := int(n)%64 + 1
		owner := ownerOf(frame, ports)
		require.True(t, owner == everyone || owner >= 0 && owner < ports)
		var p wire.Packet
		if p.Parse(frame) != nil {
			return
		}
		want := 0
		if p.DestQP >= firstOwned {
			want = int(p.DestQP) % ports
		}
		require.Equal(t, want, owner)
	})
}

// BenchmarkSharedQueue measures what sharing a queue adds to a frame.
func BenchmarkSharedQueue(b *testing.B) {
	for _, name := range []string{"unshared", "own", "other"} {
		b.Run(name, func(b *testing.B) {
			end, peer := packet.Pipe(packet.PipeOptions{})
			port := packet.Port(end)
			ports := New([]packet.Port{end, end}, 1)
			if name != "unshared" {
				port = ports[0]
			}
			qpn := map[string]uint32{"other": 0x101}[name]
			room := roce(make([]byte, 128), qpn, 0)
			var bufs [packet.Burst]packet.Buf
			for range b.N / packet.Burst {
				peer.Alloc(bufs[:])
				for i := range bufs {
					bufs[i].SetLen(copy(bufs[i].Room(), room))
				}
				peer.Send(packet.ClassData, bufs[:])
				n := port.Recv(bufs[:])
				if name == "other" {
					n = ports[1].Recv(bufs[:])
				}
				port.Free(bufs[:n])
			}
		})
	}
}
