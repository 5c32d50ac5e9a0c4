package dpdk_test

import (
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/internal/dpdktest"
)

// Messages of memif's control channel, all of one length.
const (
	memifMessage   = 128
	memifAck       = 1
	memifHello     = 2
	memifInit      = 3
	memifAddRegion = 4
)

// say sends a message with descriptors.
func say(t *testing.T, c *net.UnixConn, kind uint16, body []byte, fds ...int) {
	t.Helper()
	message := make([]byte, memifMessage)
	binary.LittleEndian.PutUint16(message, kind)
	copy(message[2:], body)
	var rights []byte
	if len(fds) > 0 {
		rights = syscall.UnixRights(fds...)
	}
	_, _, err := c.WriteMsgUnix(message, rights, nil)
	require.NoError(t, err)
}

// rights is n times the right to a descriptor.
func rights(fd, n int) []byte {
	if n == 0 {
		return nil
	}
	fds := make([]int, n)
	for i := range fds {
		fds[i] = fd
	}
	return syscall.UnixRights(fds...)
}

// hear receives a message of that kind.
func hear(t *testing.T, c *net.UnixConn, kind uint16) {
	t.Helper()
	message := make([]byte, memifMessage)
	c.SetReadDeadline(time.Now().Add(time.Minute))
	n, err := c.Read(message)
	require.NoError(t, err)
	require.Equal(t, memifMessage, n)
	require.Equal(t, kind, binary.LittleEndian.Uint16(message))
}

// TestMemifClientGoneAfterItsRegion: a client that dies in the middle of the handshake leaves no
// descriptor of its memory with the server, nor any that it sent without need.
func TestMemifClientGoneAfterItsRegion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	d := dpdktest.Open(t, "memif:"+path, dpdk.Options{})
	memory, err := os.Create(filepath.Join(t.TempDir(), "memory"))
	require.NoError(t, err)
	defer memory.Close()
	require.NoError(t, memory.Truncate(4096))
	fd := int(memory.Fd())
	before := openDescriptors(t)
	for range 50 {
		c := connect(t, path)
		hear(t, c, memifHello)
		say(t, c, memifInit, []byte{0, 2}, fd, fd) // version 2.0, id 0, Ethernet
		hear(t, c, memifAck)
		say(t, c, memifAddRegion, []byte{0, 0, 0, 0x10}, fd, fd) // region 0 of 4096 bytes
		hear(t, c, memifAck)
		require.NoError(t, c.Close())
	}
	// The next connection is accepted after the last one is gone.
	_, _ = echo(t, "memif:"+path+",client")
	awaitLink(t, d, true)
	require.LessOrEqual(t, openDescriptors(t), before+10, "a connection has some of its own")
}

// TestMemifClientGoneBeforeHello: the server's first message fails.
func TestMemifClientGoneBeforeHello(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	d := dpdktest.Open(t, "memif:"+path, dpdk.Options{})
	before := openDescriptors(t)
	for range 500 {
		c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
		if err == nil { // else the backlog is full
			require.NoError(t, c.Close())
		}
	}
	_, _ = echo(t, "memif:"+path+",client")
	awaitLink(t, d, true)
	require.LessOrEqual(t, openDescriptors(t), before+10, "a connection has some of its own")
}
