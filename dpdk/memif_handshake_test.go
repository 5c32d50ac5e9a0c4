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

// Messages of memif's control channel, all of the same length.
const (
	memifMessage   = 128
	memifAck       = 1
	memifHello     = 2
	memifInit      = 3
	memifAddRegion = 4
)

// sendMessage sends a message with descriptors.
func sendMessage(t *testing.T, c *net.UnixConn, kind uint16, body []byte, fds ...int) {
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

// rights returns control data that passes a descriptor n times.
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

// receiveMessage reads a message of a kind.
func receiveMessage(t *testing.T, c *net.UnixConn, kind uint16) {
	t.Helper()
	message := make([]byte, memifMessage)
	c.SetReadDeadline(time.Now().Add(time.Minute))
	n, err := c.Read(message)
	require.NoError(t, err)
	require.Equal(t, memifMessage, n)
	require.Equal(t, kind, binary.LittleEndian.Uint16(message))
}

// TestMemifClientGoneAfterItsRegion: when a client dies in the middle of the handshake, the server
// keeps no descriptor of its memory, nor any superfluous one that it sent.
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
		receiveMessage(t, c, memifHello)
		sendMessage(t, c, memifInit, []byte{0, 2}, fd, fd) // version 2.0, id 0, Ethernet
		receiveMessage(t, c, memifAck)
		sendMessage(t, c, memifAddRegion, []byte{0, 0, 0, 0x10}, fd, fd) // region 0 of 4096 bytes
		receiveMessage(t, c, memifAck)
		require.NoError(t, c.Close())
	}
	// The next connection is accepted after the last one has been closed.
	_, _ = echo(t, "memif:"+path+",client")
	awaitLink(t, d, true)
	require.LessOrEqual(t, openDescriptors(t), before+10, "a connection has some of its own")
}

// TestMemifClientGoneBeforeHello: sending the server's first message fails.
func TestMemifClientGoneBeforeHello(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	d := dpdktest.Open(t, "memif:"+path, dpdk.Options{})
	before := openDescriptors(t)
	for range 500 {
		c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
		if err == nil { // otherwise the backlog is full
			require.NoError(t, c.Close())
		}
	}
	_, _ = echo(t, "memif:"+path+",client")
	awaitLink(t, d, true)
	require.LessOrEqual(t, openDescriptors(t), before+10, "a connection has some of its own")
}
