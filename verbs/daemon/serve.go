package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/verbs/engine"
)

// Serve makes a session of each connection that the access permits, until Close.
func (l *Listener) Serve(e *engine.Engine, log *slog.Logger) error {
	defer func() { _ = unix.Close(l.fd) }()
	for {
		fd, _, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNABORTED):
			continue
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOMEM):
			log.Error("no descriptors for another program", "error", err)
			time.Sleep(100 * time.Millisecond)
			continue
		case errors.Is(err, unix.EINVAL): // by Close
			return nil
		case err != nil:
			return fmt.Errorf("accept a program: %w", err)
		}
		if err := l.admit(fd, e, log); err != nil {
			log.Warn("refused a program", "error", err)
			_ = unix.Close(fd)
		}
	}
}

// admit checks who has connected, and begins the session.
func (l *Listener) admit(fd int, e *engine.Engine, log *slog.Logger) error {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	if !l.permits(fd, cred) {
		return fmt.Errorf("user %d, process %d: no permission for %s", cred.Uid, cred.Pid, l.path)
	}
	process := -1
	if cred.Pid > 0 { // otherwise it is in another namespace, and its socket is all that we know
		if process, err = unix.PidfdOpen(int(cred.Pid), 0); err != nil {
			return fmt.Errorf("process %d: %w", cred.Pid, err)
		}
	}
	log.Debug("a program has connected", "process", cred.Pid, "user", cred.Uid)
	return e.ServeProcess(fd, process)
}

func (l *Listener) permits(fd int, cred *unix.Ucred) bool {
	uid := int(cred.Uid)
	if l.access.Everyone || uid == 0 || uid == unix.Geteuid() {
		return true
	}
	if l.access.Group < 0 {
		return false
	}
	groups, err := peerGroups(fd)
	return int(cred.Gid) == l.access.Group ||
		err == nil && slices.Contains(groups, uint32(l.access.Group))
}
