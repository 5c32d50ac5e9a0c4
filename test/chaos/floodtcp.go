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
		about: "clients connect by TCP while others, of many addresses, say nothing or half a " +
			"Hello",
		rounds: 120,
		full:   700,
		run:    func(r *run) error { return runFlood(r, new(halfOpen).attack(), callByTCP) },
		peer:   floodPeer,
	})
}

// halfOpen is TCP clients that do not go on.
type halfOpen struct {
	to    unix.SockaddrInet4
	hello []byte
	held  []int // sockets, the oldest first
	most  int
}

func (f *halfOpen) attack() attack {
	return attack{begin: f.begin, step: f.step, calm: f.calm}
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
	f.most = int(min(files.Cur/2, 2*floodRate))
	f.to = unix.SockaddrInet4{Port: int(tcp.Port()), Addr: tcp.Addr().As4()}
	hello, err := (&connect.Hello{Version: connect.Version, Addr: attacked4.Addr(), PathMTU: 1024,
		QPs: []connect.QP{{Num: 17}}}).Encode()
	f.hello = hello[:len(hello)/2]
	return err
}

// step is one client: of three, one says nothing, one half a header and one half a Hello. The
// oldest one leaves when there are too many.
func (f *halfOpen) step(i int) error {
	if len(f.held) >= f.most {
		f.leave(f.held[0])
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
	// The port is chosen when it connects, since only the addresses of both ends together must be
	// unique.
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
		// fails where the connection is not there yet: a client that says nothing
		_, _ = unix.Write(s, f.hello[:say])
	}
	return nil
}

// leave closes a socket by a reset, so that the kernel keeps nothing of it.
func (f *halfOpen) leave(s int) {
	_ = unix.SetsockoptLinger(s, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	_ = unix.Close(s)
}

func (f *halfOpen) calm() {
	for _, s := range f.held {
		f.leave(s)
	}
	f.held = nil
}
