package goroce

import (
	"bytes"
	"context"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/dpdktest"
	"github.com/goroce/goroce/transport"
)

func TestBesideLinux(t *testing.T) {
	dpdktest.InNamespace(t,
		dpdktest.Test{Name: "PingsAnEndpoint", Run: testLinuxPingsAnEndpoint},
		dpdktest.Test{Name: "VethBetweenTwoHosts", Run: testLinuxVethBetweenTwoHosts})
}

func command(t *testing.T, line string) string {
	words := strings.Fields(line)
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	require.NoError(t, err, "%s: %s", line, out)
	return string(out)
}

func testLinuxPingsAnEndpoint(t *testing.T) {
	dpdktest.Requires(t, "ping")
	h, err := Open("tap:gr0",
		Options{Addrs: []netip.Prefix{netip.MustParsePrefix("10.9.0.2/24"),
			netip.MustParsePrefix("fd09::2/64")}})
	require.NoError(t, err)
	defer h.Close()
	command(t, "ip addr add 10.9.0.1/24 dev gr0")
	command(t, "ip addr add fd09::1/64 dev gr0 nodad")
	command(t, "ip link set gr0 up")
	for _, addr := range []string{"10.9.0.2", "fd09::2"} {
		require.Contains(t, command(t, "ping -c 3 -i 0.05 -w 5 "+addr), " 0% packet loss")
		require.Contains(t, command(t, "ping -c 2 -i 0.05 -w 5 -s 1400 "+addr), " 0% packet loss")
	}
	require.Regexp(t, "10.9.0.2.*lladdr", command(t, "ip neigh show dev gr0"))
}

func testLinuxVethBetweenTwoHosts(t *testing.T) {
	command(t, "ip link add va mtu 9000 type veth peer name vb mtu 9000")
	for _, v := range []string{"va", "vb"} {
		command(t, "ip link set "+v+" up")
	}
	// With veth a frame may be dropped after Send; retransmission handles that.
	var hosts [2]*Host
	for i, name := range []string{"va", "vb"} {
		h, err := Open("af_packet:"+name,
			Options{Addrs: []netip.Prefix{netip.MustParsePrefix([]string{"10.8.0.101/24",
				"10.8.0.102/24"}[i])}})
		require.NoError(t, err)
		defer h.Close()
		hosts[i] = h
	}
	command(t, "ip link set lo up")
	client, server := dialed(t, hosts[0], hosts[1])
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	go func() {
		for i := range 200 {
			_ = client.Send(ctx, bytes.Repeat([]byte{byte(i)}, 20000))
		}
	}()
	buf := make([]byte, MaxMessage)
	for i := range 200 {
		n, err := server.Recv(ctx, buf)
		require.NoError(t, err)
		require.True(t, bytes.Equal(bytes.Repeat([]byte{byte(i)}, 20000), buf[:n]), "message %d", i)
	}
	require.NoError(t, hosts[0].Do(0, func(ep *transport.Endpoint) {
		t.Logf("retransmitted %d of %d frames", ep.Stats().Retransmitted, ep.Stats().TxFrames)
	}))
	require.NoError(t, client.Close())
	require.NoError(t, server.Close())
}
