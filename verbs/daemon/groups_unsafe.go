package daemon

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// peerGroups returns the supplementary groups of the process at the other end of a socket.
func peerGroups(fd int) ([]uint32, error) {
	const most = 1 << 16 // NGROUPS_MAX
	groups := make([]uint32, 64)
	for {
		size := uint32(4 * len(groups))
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET,
			unix.SO_PEERGROUPS, uintptr(unsafe.Pointer(unsafe.SliceData(groups))),
			uintptr(unsafe.Pointer(&size)), 0)
		switch {
		case errno == 0:
			return groups[:size/4], nil
		case errno == unix.ERANGE && len(groups) < most:
			groups = make([]uint32, 2*len(groups))
		default:
			return nil, errno
		}
	}
}
