package main

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/internal/connect"
	"github.com/goroce/goroce/packet"
)

func init() {
	register(campaign{
		name: "flood-tcp",
		about: "clients connect by TCP while others, from many addresses, send nothing or half a " +
			"Hello",
		rounds: 120,
		full:   700,
		run:    func(r *run) error { return runFlood(r, new(halfOpen).attack(), connectTCP) },
		peer:   floodPeer,
	})
}

// halfOpen opens TCP connections that never complete the handshake.
type halfOpen struct {
	to      unix.SockaddrInet4
	hello   []byte
	held    []int // sockets, oldest first
	maxHeld int
}

func (f *halfOpen) attack() attack {
	return attack{init: f.begin, attempt: f.attempt, release: f.release}
}

func (f *halfOpen) begin(_ packet.MAC, tcp netip.AddrPort) error {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return err
	}
	files.Cur = files.Max
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return err
	}
	f.maxHeld = int(min(files.Cur/2, 2*floodRate))
	f.to = unix.SockaddrInet4{Port: int(tcp.Port()), Addr: tcp.Addr().As4()}
	hello, err := (&connect.Hello{Version: connect.Version, Addr: attacked4.Addr(), PathMTU: 1024,
		QPs: []connect.QP{{Num: 17}}}).Encode()
	f.hello = hello[:len(hello)/2]
	return err
}

// attempt opens one connection: of three, one sends nothing, one half a header and one half a
// Hello. Beyond the limit the oldest one is reset.
func (f *halfOpen) attempt(i int) error {
	if len(f.held) >= f.maxHeld {
		f.reset(f.held[0])
		f.held = f.held[1:]
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f.held = append(f.held, s)
	from := unix.SockaddrInet4{Addr: [4]byte{127}}
	binary.BigEndian.PutUint16(from.Addr[1:], uint16(1+i%50000))
	from.Addr[3] = byte(2 + i/50000%250)
	// The port is chosen at connect, since only the pair of both addresses must be unique.
	err = unix.SetsockoptInt(s, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	if err == nil {
		err = unix.Bind(s, &from)
	}
	if err == nil {
		err = unix.Connect(s, &f.to)
	}
	if err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	if say := [3]int{0, 5, len(f.hello)}[i%3]; say > 0 {
		// A failed write, before the connection is established, is a client that sends nothing.
		_, _ = unix.Write(s, f.hello[:say])
	}
	return nil
}

// reset closes a socket with a reset, so that the kernel keeps no state.
func (f *halfOpen) reset(s int) {
	_ = unix.SetsockoptLinger(s, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	_ = unix.Close(s)
}

func (f *halfOpen) release() {
	for _, s := range f.held {
		f.reset(s)
	}
	f.held = nil
}
