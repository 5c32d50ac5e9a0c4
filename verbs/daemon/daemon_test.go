package daemon

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/verbs/engine"
)

func socketPath(t *testing.T) string { return filepath.Join(t.TempDir(), "roced.sock") }

func connect(t *testing.T, path string) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd, unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

// One daemon listens on a path at a time; the socket of one that has ended is replaced.
func TestListen(t *testing.T) {
	path := socketPath(t)
	l, err := Listen(path, Access{Group: -1})
	require.NoError(t, err)
	_, err = Listen(path, Access{Group: -1})
	require.ErrorContains(t, err, "another roced listens on it")
	_, err = connect(t, path)
	require.NoError(t, err, "the first one still listens")

	// as if its process were killed: the lock is gone, the files stay
	require.NoError(t, unix.Close(l.fd))
	require.NoError(t, l.lock.Close())
	_, err = connect(t, path)
	require.ErrorIs(t, err, unix.ECONNREFUSED)
	l, err = Listen(path, Access{Group: -1})
	require.NoError(t, err)
	_, err = connect(t, path)
	require.NoError(t, err)
	require.NoError(t, l.Close())
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestListenRefuses(t *testing.T) {
	path := socketPath(t)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err := Listen(path, Access{Group: -1})
	require.ErrorContains(t, err, "is not a socket")
	_, err = Listen(path+string(bytes.Repeat([]byte{'x'}, 108)), Access{Group: -1})
	require.ErrorContains(t, err, "want at most 107")
	_, err = Listen("/nowhere/roced.sock", Access{Group: -1})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestMode(t *testing.T) {
	for want, access := range map[os.FileMode]Access{0o600: {Group: -1},
		0o660: {Group: os.Getegid()}, 0o666: {Group: -1, Everyone: true}} {
		path := socketPath(t)
		l, err := Listen(path, access)
		require.NoError(t, err)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm())
		require.NoError(t, l.Close())
		require.NoError(t, unix.Close(l.fd))
	}
}

func TestPermits(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = unix.Close(pair[0]), unix.Close(pair[1]) })
	groups, err := peerGroups(pair[0])
	require.NoError(t, err)
	ours, err := unix.Getgroups()
	require.NoError(t, err)
	require.Len(t, groups, len(ours))

	const other, group = 12345, 54321
	for _, c := range []struct {
		access Access
		cred   unix.Ucred
		want   bool
	}{
		{Access{Group: -1}, unix.Ucred{Uid: uint32(os.Geteuid())}, true},
		{Access{Group: -1}, unix.Ucred{Uid: 0}, true},
		{Access{Group: -1}, unix.Ucred{Uid: other, Gid: group}, false},
		{Access{Group: group}, unix.Ucred{Uid: other, Gid: group}, true},
		{Access{Group: group}, unix.Ucred{Uid: other, Gid: group + 1}, false},
		{Access{Group: -1, Everyone: true}, unix.Ucred{Uid: other}, true},
	} {
		l := &Listener{access: c.access}
		require.Equal(t, c.want, l.permits(pair[0], &c.cred), "%+v", c)
	}
}

// Connections become sessions, which end with them; Close ends Serve.
func TestServe(t *testing.T) {
	e, err := engine.Open("loop:"+t.Name(), goroce.Options{})
	require.NoError(t, err)
	path := socketPath(t)
	l, err := Listen(path, Access{Group: -1})
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- l.Serve(e, slog.New(slog.DiscardHandler)) }()
	sessions := func(n int) {
		t.Helper()
		require.Eventually(t, func() bool { return e.Sessions() == n }, 5*time.Second,
			time.Millisecond)
	}
	a, err := connect(t, path)
	require.NoError(t, err)
	b, err := connect(t, path)
	require.NoError(t, err)
	sessions(2)
	require.NoError(t, unix.Shutdown(a, unix.SHUT_RDWR))
	sessions(1)
	_, err = unix.Write(b, []byte("not a message"))
	require.NoError(t, err)
	reply := make([]byte, 64)
	n, err := unix.Read(b, reply)
	require.NoError(t, err)
	require.Equal(t, 8, n, "a header with an error")
	require.NoError(t, l.Close())
	require.NoError(t, <-served)
	require.NoError(t, e.Close())
}
