package daemon

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Access decides which processes may connect, besides those of this user and of root.
type Access struct {
	Group    int  // members of this group; -1: none
	Everyone bool // all
}

// mode returns the permissions of the socket.
func (a Access) mode() os.FileMode {
	switch {
	case a.Everyone:
		return 0o666
	case a.Group >= 0:
		return 0o660
	}
	return 0o600
}

// Listener is a socket on which programs connect.
type Listener struct {
	fd     int
	lock   *os.File // held while we listen
	path   string
	access Access
}

// Listen makes a socket. It replaces one whose daemon has ended, and fails if one listens there.
func Listen(path string, access Access) (*Listener, error) {
	if len(path) >= len(unix.RawSockaddrUnix{}.Path) {
		return nil, fmt.Errorf("socket %s: the path has %d bytes, want at most %d", path, len(path),
			len(unix.RawSockaddrUnix{}.Path)-1)
	}
	l := &Listener{fd: -1, path: path, access: access}
	if err := l.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("socket %s: %w", path, err), l.release())
	}
	return l, nil
}

func (l *Listener) open() error {
	err := l.takeLock()
	if err != nil {
		return err
	}
	if info, err := os.Lstat(l.path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return errors.New("the file exists and is not a socket")
		}
		if err := os.Remove(l.path); err != nil {
			return err
		}
	}
	if l.fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	old := unix.Umask(0o177) // nobody may connect before the permissions are set
	err = unix.Bind(l.fd, &unix.SockaddrUnix{Name: l.path})
	unix.Umask(old)
	if err != nil {
		return err
	}
	if l.access.Group >= 0 {
		if err := os.Chown(l.path, -1, l.access.Group); err != nil {
			return err
		}
	}
	if err := os.Chmod(l.path, l.access.mode()); err != nil {
		return err
	}
	return unix.Listen(l.fd, unix.SOMAXCONN)
}

// takeLock takes the lock of the path. It is of this process, and ends with it however that ends.
func (l *Listener) takeLock() error {
	for {
		file, err := os.OpenFile(l.path+".lock", os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return err
		}
		if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			return errors.Join(errors.New(
				"another roced listens on it; end that one, or take another --socket"),
				file.Close())
		}
		locked, err := file.Stat()
		if named, err2 := os.Stat(file.Name()); err == nil && err2 == nil &&
			os.SameFile(locked, named) {
			l.lock = file
			return nil
		}
		_ = file.Close() // the daemon before us has removed it meanwhile
	}
}

// Close stops to listen, and removes the socket. Accept returns an error.
func (l *Listener) Close() error {
	_ = unix.Shutdown(l.fd, unix.SHUT_RDWR)
	return errors.Join(os.Remove(l.path), l.unlock())
}

// unlock lets another daemon listen. The lock's file is removed while it is held.
func (l *Listener) unlock() error {
	return errors.Join(os.Remove(l.lock.Name()), l.lock.Close())
}

// release closes what open has opened before it failed.
func (l *Listener) release() error {
	var errs []error
	if l.fd >= 0 {
		errs = append(errs, unix.Close(l.fd))
	}
	if l.lock != nil {
		errs = append(errs, l.lock.Close())
	}
	return errors.Join(errs...)
}
