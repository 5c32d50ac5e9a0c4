package differ

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// receiveBuffer is large enough for frames that arrive while the process waits for a core.
const receiveBuffer = 32 << 20

// openSocket returns a packet socket of a Linux interface. It receives every arriving frame, to any
// address, and no outgoing ones. It requires CAP_NET_RAW and CAP_NET_ADMIN.
func openSocket(iface string) (*os.File, error) {
	i, err := net.InterfaceByName(iface)
	if err != nil {
		return nil, fmt.Errorf("differ: %s: %w", iface, err)
	}
	fail := func(err error) (*os.File, error) {
		return nil, fmt.Errorf("differ: a packet socket at %s: %w", iface, err)
	}
	// With protocol 0 the socket receives nothing before it is bound.
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
	return file, nil
}

func networkOrder(n uint16) uint16 { return n<<8 | n>>8 }
