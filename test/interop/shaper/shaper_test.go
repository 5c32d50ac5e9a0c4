package shaper

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// packet is a RoCEv2 frame with a number in its UDP payload.
func packet(ipv6 bool, n uint32) []byte {
	const payload = 64
	header := []byte{0x45, 9: protocolUDP, 19: 0}
	etherType := uint16(etherTypeIPv4)
	if ipv6 {
		header = []byte{0x60, 6: protocolUDP, 39: 0}
		etherType = etherTypeIPv6
	}
	f := make([]byte, ethernetSize-2, 200)
	f = binary.BigEndian.AppendUint16(f, etherType)
	f = append(f, header...)
	f = binary.BigEndian.AppendUint16(f, 0xc000)
	f = binary.BigEndian.AppendUint16(f, rocePort)
	f = binary.BigEndian.AppendUint32(f, (udpSize+payload)<<16)
	f = binary.BigEndian.AppendUint32(f, n)
	return append(f, make([]byte, payload-4)...)
}

func arp() []byte {
	f := make([]byte, 60)
	copy(f, []byte{255, 255, 255, 255, 255, 255, 12: 8, 13: 6})
	return f
}

func number(t *testing.T, frame []byte) uint32 {
	payload, ok := roce(frame)
	require.True(t, ok)
	return binary.BigEndian.Uint32(payload)
}

func TestRoCE(t *testing.T) {
	tcp, dns, short, lies := packet(false, 1), packet(false, 1), packet(false, 1), packet(true, 1)
	tcp[ethernetSize+9] = 6
	dns[ethernetSize+ipv4Size+3] = 53
	lies[ethernetSize+ipv6Size+5] = 255
	for name, c := range map[string]struct {
		frame []byte
		want  bool
	}{
		"IPv4": {packet(false, 1), true}, "IPv6": {packet(true, 1), true},
		"TCP": {tcp, false}, "another port": {dns, false}, "ARP": {arp(), false},
		"cut": {short[:ethernetSize+ipv4Size+udpSize-1], false}, "nothing": {nil, false},
		"a length that lies": {lies, false},
	} {
		payload, ok := roce(c.frame)
		require.Equal(t, c.want, ok, name)
		require.Equal(t, c.want, len(payload) == 64, name)
	}
}

func FuzzRoCE(f *testing.F) {
	f.Add(packet(false, 1))
	f.Add(packet(true, 1))
	f.Add(captured(f, "rc-dscp26-ect0")[1])
	f.Add(captured(f, "v6-send-multi")[1])
	f.Fuzz(func(t *testing.T, frame []byte) {
		d := newDirection(Faults{Corruption: 1, Duplication: 1, Congestion: Congestion{Marks: 1}},
			1, 0)
		d.tell = new(notice)
		d.told = d.tell
		was := bytes.Clone(frame)
		d.pass(frame, time.Time{}, func([]byte) {})
		require.Len(t, frame, len(was))
		if d.counts.RoCE == 0 {
			require.Equal(t, was, frame)
		}
	})
}

// send passes n packets through a direction and answers the numbers of those that leave, in order.
func send(t *testing.T, d *direction, n uint32) (left []uint32) {
	emit := func(frame []byte) { left = append(left, number(t, frame)) }
	now := time.Unix(0, 0)
	for i := range n {
		d.pass(packet(i%2 == 1, i), now, emit)
	}
	next := d.expire(now, emit)
	if len(d.late) > 0 {
		require.Equal(t, now.Add(patience), next)
	}
	require.Zero(t, d.expire(now.Add(patience), emit))
	return left
}

func TestWithoutFaultsAllPassInOrder(t *testing.T) {
	d := newDirection(Faults{}, 1, 0)
	left := send(t, d, 1000)
	require.Len(t, left, 1000)
	for i, n := range left {
		require.EqualValues(t, i, n)
	}
	require.Equal(t, Counts{Forwarded: 1000, RoCE: 1000}, d.counts)
}

func TestEachFault(t *testing.T) {
	const n, p = 10000, 0.02
	about := func(count uint64) { require.InDelta(t, n*p, count, 60) } // 4 sigma
	in := func(left []uint32) map[uint32]int {
		m := map[uint32]int{}
		for _, x := range left {
			m[x]++
		}
		return m
	}
	d := newDirection(Faults{Loss: p}, 1, 0)
	left := send(t, d, n)
	about(d.counts.Lost)
	require.Len(t, left, n-int(d.counts.Lost))
	require.Len(t, in(left), len(left))

	d = newDirection(Faults{Duplication: p}, 2, 0)
	left = send(t, d, n)
	about(d.counts.Duplicated)
	require.Len(t, left, n+int(d.counts.Duplicated))
	require.Len(t, in(left), n)

	d = newDirection(Faults{Reordering: p}, 3, 0)
	left = send(t, d, n)
	about(d.counts.Reordered)
	require.Len(t, in(left), n)
	require.Len(t, left, n)
	overtaken, highest := 0, uint32(0)
	for i, x := range left {
		if x < highest {
			overtaken++
		}
		highest = max(highest, x)
		require.InDelta(t, i, x, 3*maxBehind)
	}
	require.EqualValues(t, d.counts.Reordered, overtaken)
}

// Corruption flips one bit of the UDP payload and nothing else.
func TestCorruption(t *testing.T) {
	d := newDirection(Faults{Corruption: 1}, 4, 0)
	for i := range uint32(1000) {
		is := packet(i%2 == 0, i)
		was := bytes.Clone(is)
		d.pass(is, time.Time{}, func([]byte) {})
		flipped := 0
		for j := range is {
			flipped += bits.OnesCount8(is[j] ^ was[j])
		}
		require.Equal(t, 1, flipped)
		a, _ := roce(is)
		b, _ := roce(was)
		require.NotEqual(t, a, b)
	}
}

func TestSameSeedSameFate(t *testing.T) {
	all := Faults{Loss: 0.1, Duplication: 0.1, Reordering: 0.1}
	require.Equal(t, send(t, newDirection(all, 7, 0), 1000), send(t, newDirection(all, 7, 0), 1000))
	require.NotEqual(t, send(t, newDirection(all, 7, 0), 1000),
		send(t, newDirection(all, 7, 1), 1000))
	require.NotEqual(t, send(t, newDirection(all, 7, 0), 1000),
		send(t, newDirection(all, 8, 0), 1000))
}

// link is a socket pair in the place of an interface: ours, and the shaper's end.
func link(t *testing.T) (near, far *os.File) {
	fds, err := unix.Socketpair(unix.AF_UNIX,
		unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	near, far = os.NewFile(uintptr(fds[0]), "near"), os.NewFile(uintptr(fds[1]), "far")
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

func TestShaper(t *testing.T) {
	nearA, farA := link(t)
	nearB, farB := link(t)
	kernels := net.HardwareAddr{2, 0, 0, 0, 0, 9}
	s := New(farA, farB, kernels, Faults{Reordering: 1}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()

	read := func(f *os.File) []byte {
		require.NoError(t, f.SetReadDeadline(time.Now().Add(10*time.Second)))
		b := make([]byte, 2000)
		n, err := f.Read(b)
		require.NoError(t, err)
		return b[:n]
	}
	for name, ends := range map[string][2]*os.File{"there": {nearA, nearB},
		"back": {nearB, nearA}} {
		t.Run(name, func(t *testing.T) {
			mine := append(bytes.Clone(kernels), arp()[6:]...)
			for _, frame := range [][]byte{packet(false, 5), mine, arp()} {
				_, err := ends[0].Write(frame)
				require.NoError(t, err)
			}
			require.Equal(t, arp(), read(ends[1]), "what is not RoCEv2 is not kept back")
			require.Equal(t, packet(false, 5), read(ends[1]),
				"after patience, though nothing overtakes it")
		})
	}
	cancel()
	require.NoError(t, <-done)
	want := Counts{Forwarded: 2, RoCE: 1, Reordered: 1}
	require.Equal(t, [2]Counts{want, want}, s.Counts())
	require.Equal(t, "of 2 packets 2 reordered", fmt.Sprint(want.Plus(want)))
	require.EqualValues(t, 1, want.Faults())
}

// An end that breaks ends the run with its error.
func TestBrokenEnd(t *testing.T) {
	_, farA := link(t)
	_, farB := link(t)
	require.NoError(t, farB.Close())
	require.ErrorContains(t, New(farA, farB, nil, Faults{}, 1).Run(t.Context()), "closed file")
}

func TestNoInterface(t *testing.T) {
	_, _, err := Open("no-such-if0")
	require.ErrorContains(t, err, "no-such-if0")
}
