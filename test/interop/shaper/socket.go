package shaper

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// receiveBuffer holds what comes while the process waits for a core.
const receiveBuffer = 32 << 20

// Open answers an End at a Linux interface: every frame that comes there, whoever it is for, and
// none that leaves. It needs CAP_NET_RAW and CAP_NET_ADMIN.
func Open(iface string) (*os.File, net.HardwareAddr, error) {
	i, err := net.InterfaceByName(iface)
	if err != nil {
		return nil, nil, fmt.Errorf("shaper: %s: %w", iface, err)
	}
	fail := func(err error) (*os.File, net.HardwareAddr, error) {
		return nil, nil, fmt.Errorf("shaper: a packet socket at %s: %w", iface, err)
	}
	// Without a protocol nothing comes before it is bound.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	file := os.NewFile(uintptr(fd), iface)
	everyone := unix.PacketMreq{Ifindex: int32(i.Index), Type: unix.PACKET_MR_PROMISC}
	for _, err := range []error{
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &everyone),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL),
			Ifindex: i.Index}),
	} {
		if err != nil {
			_ = file.Close()
			return fail(err)
		}
	}
	return file, i.HardwareAddr, nil
}

func networkOrder(n uint16) uint16 { return n<<8 | n>>8 }
