package dpdk_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/internal/dpdktest"
)

const (
	memifAddRing    = 5
	memifConnect    = 6
	memifConnected  = 7
	memifDisconnect = 8
)

// memifSaid is a message of a hostile peer.
type memifSaid struct {
	kind uint16
	body any
	fds  int // number of descriptors that it carries
}

type memifRegion struct {
	Index uint16
	Size  uint32
}

type memifRing struct {
	Flags, Index, Region uint16
	Offset               uint32
	Log2Size             uint8
	PrivateHeader        uint16
}

// toServer marks a ring from the client to the server.
const toServer = 1

const hostileFile = 1 << 20 // bytes

// hostileClients are messages after INIT that a client must not send.
func hostileClients() map[string][]memifSaid {
	region := memifSaid{memifAddRegion, memifRegion{0, hostileFile}, 1}
	ring := func(r memifRing) memifSaid { return memifSaid{memifAddRing, r, 1} }
	good := ring(memifRing{Flags: toServer, Log2Size: 9})
	connect := memifSaid{memifConnect, [32]byte{}, 0}
	many := func(m memifSaid) (all []memifSaid) {
		for range 20 {
			all = append(all, m)
		}
		return all
	}
	var regions []memifSaid
	for i := range uint16(300) {
		regions = append(regions, memifSaid{memifAddRegion, memifRegion{i, 4096}, 1})
	}
	return map[string][]memifSaid{
		"the same ring again":     append(append([]memifSaid{region}, many(good)...), connect),
		"a ring it does not have": {region, ring(memifRing{Flags: toServer, Index: 5}), connect},
		"the second ring first":   {region, ring(memifRing{Index: 1, Log2Size: 9}), connect},
		"a ring in no region":     {region, ring(memifRing{Region: 200, Log2Size: 9}), connect},
		"region 65535":            {region, ring(memifRing{Region: 65535, Log2Size: 9}), connect},
		"a ring behind a region":  {region, ring(memifRing{Offset: 1 << 30, Log2Size: 9}), connect},
		"a ring too long":         {region, ring(memifRing{Log2Size: 31}), connect},
		"a region beyond its file": {{memifAddRegion, memifRegion{0, 1 << 30}, 1},
			ring(memifRing{Offset: 1 << 29, Log2Size: 9}), connect},
		"the same region again": many(region),
		"regions without end":   regions,
		"a ring without memory": {good, connect},
		"what a server says":    {{memifHello, [32]byte{}, 0}, {memifConnected, [32]byte{}, 0}},
		"nonsense":              {{999, [32]byte{}, 2}},
	}
}

// TestMemifHostileClient: the server hangs up on a client that violates the protocol, keeps none of
// its descriptors, and serves the next client.
func TestMemifHostileClient(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	d := dpdktest.Open(t, "memif:"+path, dpdk.Options{})
	file, err := os.Create(filepath.Join(t.TempDir(), "memory"))
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, file.Truncate(hostileFile))
	for name, messages := range hostileClients() {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			before := openDescriptors(t)
			for range 3 {
				c := connect(t, path)
				receiveMessage(t, c, memifHello)
				sendMessage(t, c, memifInit, []byte{0, 2})
				receiveMessage(t, c, memifAck)
				for _, m := range messages {
					if !trySend(t, c, m, int(file.Fd())) {
						break
					}
				}
				hungUp(t, c)
				require.NoError(t, c.Close())
			}
			require.Eventually(t, func() bool {
				return openDescriptors(t) <= before+2
			}, 5*time.Second,
				10*time.Millisecond, "descriptors of the client remain")
		})
	}
	_, _ = echo(t, "memif:"+path+",client")
	awaitLink(t, d, true)
}

// trySend sends a message and reports whether the other end was still connected.
func trySend(t *testing.T, c *net.UnixConn, m memifSaid, fd int) bool {
	t.Helper()
	var body bytes.Buffer
	require.NoError(t, binary.Write(&body, binary.LittleEndian, m.body))
	message := make([]byte, memifMessage)
	binary.LittleEndian.PutUint16(message, m.kind)
	copy(message[2:], body.Bytes())
	_, _, err := c.WriteMsgUnix(message, rights(fd, m.fds), nil)
	return err == nil
}

// hungUp waits until the other end hangs up. It fails the test if the connection stays open.
func hungUp(t *testing.T, c *net.UnixConn) {
	t.Helper()
	message := make([]byte, memifMessage)
	for {
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		n, err := c.Read(message)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("the server waits for more")
		}
		if n == 0 || err != nil {
			return
		}
		require.NotEqual(t, uint16(memifConnected), binary.LittleEndian.Uint16(message))
	}
}

// TestMemifHostileServer connects a client to servers that violate the protocol.
func TestMemifHostileServer(t *testing.T) {
	hello := memifSaid{memifHello, struct {
		Name     [32]byte
		Min, Max uint16
		Regions  uint16
		In, Out  uint16
		Log2Size uint8
	}{Min: 0x200, Max: 0x200, Regions: 255, In: 65535, Out: 65535, Log2Size: 255}, 0}
	connected := memifSaid{memifConnected, [32]byte{}, 0}
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	require.NoError(t, err)
	defer l.Close()
	d := dpdktest.Open(t, "memif:"+path+",client", dpdk.Options{})
	before := openDescriptors(t)
	for _, messages := range [][]memifSaid{
		{connected},
		{hello, hello, hello, connected},
		{hello, {memifAddRegion, memifRegion{1, 4096}, 1}, connected},
		{hello, {memifAddRing, memifRing{Region: 9}, 1}, connected},
		{{memifInit, [32]byte{0, 2}, 0}},
	} {
		l.SetDeadline(time.Now().Add(10 * time.Second))
		c, err := l.AcceptUnix()
		require.NoError(t, err)
		for _, m := range messages {
			trySend(t, c, m, 0)
		}
		_, err = io.Copy(io.Discard, c) // until the client hangs up
		_ = err
		link, err := d.Link()
		require.NoError(t, err)
		require.False(t, link.Up)
		c.Close()
	}
	require.Eventually(t, func() bool { return openDescriptors(t) <= before+4 }, 5*time.Second,
		10*time.Millisecond, "descriptors of the servers remain")
}
