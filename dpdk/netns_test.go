package dpdk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/internal/dpdktest"
	"github.com/goroce/goroce/packet"
)

func TestInNamespace(t *testing.T) {
	dpdktest.InNamespace(t,
		dpdktest.Test{Name: "AFPacketOverVeth", Run: testAFPacketOverVeth},
		dpdktest.Test{Name: "PromiscuousModeIsUndone", Run: testPromiscuousModeIsUndone},
		dpdktest.Test{Name: "TapConnectsToKernel", Run: testTapConnectsToKernel},
		dpdktest.Test{Name: "AFXDPOverVeth", Run: testAFXDPOverVeth})
}

// ip runs the command ip. It skips the test if the kernel lacks what the command needs.
func ip(t *testing.T, format string, args ...any) string {
	t.Helper()
	out, err := exec.Command("ip", strings.Fields(fmt.Sprintf(format, args...))...).CombinedOutput()
	if err != nil {
		t.Skipf("ip %s: %v: %s", fmt.Sprintf(format, args...), err, out)
	}
	return string(out)
}

// patience is the time limit of a frame on a busy machine, also with AddressSanitizer.
const patience = 30 * time.Second

// hello returns a frame that the kernel ignores, with a payload of size bytes.
func hello(to, from packet.MAC, size int) []byte {
	frame := append(append([]byte{}, to[:]...), from[:]...)
	frame = append(frame, 0x88, 0xb5)
	for i := range size {
		frame = append(frame, byte(i))
	}
	return frame
}

// isHello reports whether a frame is ours, not one that the kernel sends by itself.
func isHello(b *packet.Buf) bool {
	return b.Len() > 14 && b.Data()[12] == 0x88 && b.Data()[13] == 0xb5
}

func send(t *testing.T, q *dpdk.Queue, frame []byte) {
	t.Helper()
	bufs := make([]packet.Buf, 1)
	require.Equal(t, 1, q.Alloc(bufs))
	bufs[0].SetLen(copy(bufs[0].Room(), frame))
	// A memif server has no slot to send into before the first poll of its client.
	require.Eventually(t, func() bool { return q.Send(packet.ClassData, bufs) == 1 },
		patience, 100*time.Microsecond)
}

// await polls until a frame satisfies want; it frees the others.
func await(t *testing.T, q *dpdk.Queue, want func(*packet.Buf) bool) []byte {
	t.Helper()
	bufs := make([]packet.Buf, packet.Burst)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		n := q.Recv(bufs)
		for i := range bufs[:n] {
			if want(&bufs[i]) {
				frame := append([]byte{}, bufs[i].Data()...)
				q.Free(bufs[:n])
				return frame
			}
		}
		q.Free(bufs[:n])
		time.Sleep(100 * time.Microsecond)
	}
	t.Fatal("no such frame came")
	return nil
}

func testAFPacketOverVeth(t *testing.T) {
	for _, mtu := range []int{1500, 4200, 9000} {
		t.Run(fmt.Sprint(mtu), func(t *testing.T) {
			ip(t, "link add veth%d mtu %d type veth peer name peer%d mtu %d", mtu, mtu, mtu, mtu)
			ip(t, "link set veth%d up", mtu)
			ip(t, "link set peer%d up", mtu)
			a := dpdktest.Open(t, fmt.Sprintf("af_packet:veth%d", mtu), dpdk.Options{})
			b := dpdktest.Open(t, fmt.Sprintf("af_packet:peer%d", mtu), dpdk.Options{Queues: 2})
			nic, err := net.InterfaceByName(fmt.Sprintf("veth%d", mtu))
			require.NoError(t, err)
			require.Equal(t, packet.MAC(nic.HardwareAddr), a.Info().MAC)
			require.EqualValues(t, mtu, a.Info().MTU)

			frame := hello(b.Info().MAC, a.Info().MAC, mtu)
			send(t, a.Queue(0), frame)
			require.Equal(t, frame, awaitAny(t, b))
			frame = hello(a.Info().MAC, b.Info().MAC, mtu)
			send(t, b.Queue(1), frame)
			require.Equal(t, frame, await(t, a.Queue(0), isHello))
		})
	}
}

// awaitAny polls both queues: the kernel chooses one by a hash.
func awaitAny(t *testing.T, d *dpdk.Device) []byte {
	t.Helper()
	bufs := make([]packet.Buf, 1)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		for i := range d.Queues() {
			if q := d.Queue(i); q.Recv(bufs) == 1 {
				frame := append([]byte{}, bufs[0].Data()...)
				match := isHello(&bufs[0])
				q.Free(bufs)
				if match {
					return frame
				}
			}
		}
	}
	t.Fatal("no frame came")
	return nil
}

func testPromiscuousModeIsUndone(t *testing.T) {
	ip(t, "link add promisc0 type veth peer name promisc1")
	d := dpdktest.Open(t, "af_packet:promisc0,mac=02:00:00:00:00:05", dpdk.Options{})
	require.Equal(t, packet.MAC{2, 0, 0, 0, 0, 5}, d.Info().MAC)
	require.Contains(t, ip(t, "link show promisc0"), "PROMISC")
	require.NoError(t, d.Close())
	require.NotContains(t, ip(t, "link show promisc0"), "PROMISC")
}

func testTapConnectsToKernel(t *testing.T) {
	d := dpdktest.Open(t, "tap:tap0", dpdk.Options{MTU: 1300})
	nic, err := net.InterfaceByName("tap0")
	require.NoError(t, err)
	require.Equal(t, 1300, nic.MTU)
	mac := d.Info().MAC
	require.NotEqual(t, nic.HardwareAddr.String(), mac.String(),
		"the endpoint is a host at the other end")
	ip(t, "addr add 10.9.0.1/24 dev tap0")
	ip(t, "link set tap0 up")

	conn, err := net.Dial("udp", "10.9.0.2:9")
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("anybody?"))
	require.NoError(t, err)
	q := d.Queue(0)
	ask := await(t, q, func(b *packet.Buf) bool {
		return b.Len() >= 42 && b.Data()[12] == 8 && b.Data()[13] == 6 && b.Data()[41] == 2
	})
	answer := append(append(append([]byte{}, ask[6:12]...), mac[:]...), ask[12:20]...)
	answer = append(answer, 0, 2)
	answer = append(append(answer, mac[:]...), 10, 9, 0, 2)
	answer = append(answer, ask[22:32]...)
	send(t, q, answer)
	frame := await(t, q, func(b *packet.Buf) bool {
		return b.Len() > 42 && b.Data()[12] == 8 && b.Data()[13] == 0 && b.Data()[23] == 17
	})
	require.Equal(t, mac[:], frame[:6])
	require.Equal(t, "anybody?", string(frame[42:50]))
	require.Contains(t, ip(t, "neigh show dev tap0"), mac.String())
}

func testAFXDPOverVeth(t *testing.T) {
	ip(t, "link add xdp0 type veth peer name xdp1")
	ip(t, "link set xdp0 up")
	ip(t, "link set xdp1 up")
	a, err := dpdk.Open("af_xdp:xdp0", dpdk.Options{Queues: 4})
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		t.Skip("the system does not permit AF_XDP: ", err)
	}
	require.NoError(t, err)
	defer a.Close()
	require.Equal(t, 1, a.Queues(), "the interface has one channel")
	b := dpdktest.Open(t, "af_packet:xdp1", dpdk.Options{})
	frame := hello(a.Info().MAC, b.Info().MAC, 1000)
	send(t, b.Queue(0), frame)
	require.Equal(t, frame, await(t, a.Queue(0), isHello))
	// Only receiving: Linux 6.18 counts every descriptor that DPDK 22.11's driver sends in
	// tx_invalid_descs.
}
