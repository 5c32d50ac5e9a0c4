package engine

import (
	"errors"
	"math"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/transport"
)

// awaitMessage waits for a message or the end of the socket. It reports false when the process has
// ended: another one may have inherited the socket.
func awaitMessage(socket, pidfd int) bool {
	fds := []unix.PollFd{{Fd: int32(socket), Events: unix.POLLIN},
		{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return false
		default:
			return fds[0].Revents != 0 && fds[1].Revents == 0
		}
	}
}

// receive waits for a message and the descriptors that come with it.
func receive(socket int, message []byte) (n int, fds []int, err error) {
	control := make([]byte, unix.CmsgSpace(4*4))
	for {
		var got int
		n, got, _, _, err = unix.Recvmsg(socket, message, control, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			control = control[:max(got, 0)]
			break
		}
	}
	if err != nil {
		return 0, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return n, nil, nil
	}
	for i := range messages {
		if more, err := unix.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, more...)
		}
	}
	return n, fds, nil
}

// send sends a message with descriptors.
func send(socket int, message []byte, fds []int) error {
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	for {
		err := unix.Sendmsg(socket, message, rights, nil, unix.MSG_NOSIGNAL)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// notify sends an event without waiting, and reports whether there was room for it. An event for
// which nobody listens any more is done.
func notify(socket int, event []byte) bool {
	err := unix.Sendto(socket, event, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil)
	return !errors.Is(err, unix.EAGAIN)
}

func closeAll(fds []int) {
	for _, fd := range fds {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

func descriptors(memory []*shared) (fds []int) {
	for _, m := range memory {
		fds = append(fds, m.fd)
	}
	return fds
}

// errnoOf returns the errno for an error of the verbs.
func errnoOf(err error) uint32 {
	var errno unix.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &errno) && errno > 0 && errno < math.MaxInt16:
		return uint32(errno)
	case errors.Is(err, transport.ErrBusy):
		return uint32(unix.EBUSY)
	case errors.Is(err, transport.ErrLimit), errors.Is(err, transport.ErrQueueFull):
		return uint32(unix.ENOMEM)
	case errors.Is(err, errors.ErrUnsupported):
		return uint32(unix.EOPNOTSUPP)
	}
	return uint32(unix.EINVAL)
}
