package matrix

import (
	"fmt"
	"strconv"

	"github.com/goroce/goroce/units"
)

// Addresses of all ends, as set up by scripts/interop/lan.sh. GIDs are given by index.
const (
	OurTCP   = "198.18.0.254" // the kernel's address beside our port
	OurIPv4  = "198.18.0.101"
	OurIPv6  = "fd18::101"
	PeerIPv4 = "198.18.0.1"
	PeerIPv6 = "fd18::1"
)

// Port is the default port of perftest and ibv_*_pingpong. It is given to both ends explicitly.
const Port = 18515

// Ours returns the command line of our end on a Linux interface. bin is the directory of the
// programs, and json, if not empty, the file for the end's JSON document.
func (c Cell) Ours(bin, iface, json string) []string {
	line := []string{bin + "/roce_" + string(c.Test), "-d", "af_packet:" + iface,
		"--ip", OurIPv4 + "/24", "--ip", OurIPv6 + "/64"}
	gid := 0
	if c.IP == IPv6 {
		gid = 1
	}
	if c.Test == Rping {
		line = append(line, c.rping(c.Role)...)
		if c.Control != Unconcerned {
			line = append(line, "--cc", c.congestion())
		}
		return line
	}
	switch {
	case c.CM:
		line = append(line, "-R")
	case c.Test == RCPingpong:
		line = append(line, "-g", strconv.Itoa(gid))
	default:
		line = append(line, "-x", strconv.Itoa(gid+1)) // 0 is the link-local address
	}
	line = append(line, c.shared()...)
	if json != "" && c.Test.Perftest() {
		line = append(line, "--out_json_file", json)
		if c.Watched() {
			line = append(line, "--watch_json", Watch(json))
		}
	}
	if c.Test.Perftest() && 2*c.Size*units.Bytes(c.QPs) > largeBuffers {
		line = append(line, "--connect-timeout", "60s")
	}
	// A server uses it for what it sends.
	if c.Role == Client && c.Test.Perftest() || c.Control != Unconcerned {
		line = append(line, "--cc", c.congestion())
	}
	if c.Control == Tokens {
		line = append(line, "--tocc", "unsch=0,k=4096")
	}
	if c.Role == Client {
		line = append(line, PeerIPv4)
	}
	return line
}

// Watch returns the file, beside our JSON document, for the state that a watched cell prints each
// second.
func Watch(json string) string { return json + "l" }

// largeBuffers is the size of buffers that perftest in an emulated guest takes seconds to fill with
// random bytes, while its peer waits for the connection.
const largeBuffers = 64 * units.MiB

// Limits of an emulated guest. Its queue, QEMU's tap, drops frames silently when full, and rxe
// sends no CNPs; soft-RoCE's own requester has at most 64 packets of a queue pair in flight.
const (
	packetsInFlight  = 128  // of all queue pairs: some 10 ms' worth
	unreliablePerSec = 6000 // packets, where nothing is acknowledged
)

// congestion returns our congestion control toward an emulated guest.
func (c Cell) congestion() string {
	switch c.Control {
	case Swift:
		return swift
	case DCQCN:
		return dcqcn
	}
	return c.fixed()
}

// Congestion control toward an emulated guest. The base target is long enough for a busy machine:
// at 12 000 packets per second, 10 ms are 120 packets. DCQCN's line rate is one that the guest can
// handle; in proportion to it, the periods are longer and the steps smaller than for 40 Gb/s.
const (
	swift = "swift:base_target=10ms,init_cwnd=16,max_cwnd=256"
	dcqcn = "dcqcn:max_rate=100Mb/s,ai=1Mb/s,hai=1Mb/s,period=10ms,alpha_period=10ms," +
		"byte_counter=125KB,window=1MB"
)

// Bounds of our congestion control's decisions in a watched cell.
const (
	SwiftMost = 256 // packets
	// minimum final window in packets: fs_min, at which flow scaling is at its maximum
	SwiftLeast = 0.1
	LineRate   = 100 * units.Mbps // of DCQCN
)

// fixed returns a window or a rate that an emulated guest can handle.
func (c Cell) fixed() string {
	if c.Service == RC {
		window := c.MTU * units.Bytes(max(1, packetsInFlight/c.QPs))
		return fmt.Sprintf("fixed:window=%d", int64(min(window, defaultWindow)))
	}
	const headers = 80 // Ethernet, IPv6, UDP, BTH, ICRC
	packet := min(c.Size, c.MTU) + headers
	return fmt.Sprintf("fixed:rate=%d", packet.Bits()*unreliablePerSec/int64(c.QPs))
}

// defaultWindow is the default window of our programs.
const defaultWindow = 512 * units.KiB

// Theirs returns the command line of the peer's end, in the guest.
func (c Cell) Theirs() []string {
	gid := 1
	if c.IP == IPv6 {
		gid = 2
	}
	var line []string
	switch c.Test {
	case Rping:
		return append([]string{"rping"}, c.rping(c.Role.other())...)
	case RCPingpong:
		line = []string{"ibv_rc_pingpong", "-d", "rxe0", "-g", strconv.Itoa(gid)}
	default:
		line = []string{"ib_" + string(c.Test), "-d", "rxe0", "-x", strconv.Itoa(gid)}
		if c.CM {
			line = append(line[:3], "-R")
		}
	}
	line = append(line, c.shared()...)
	if c.Control == DCQCN && c.Test.Perftest() {
		line = append(line, "--tclass", ECTCapable)
	}
	switch {
	case c.Role == Server && c.CM:
		line = append(line, OurIPv4)
	case c.Role == Server:
		line = append(line, OurTCP)
	}
	return line
}

// ECTCapable is the traffic class of packets that a switch may mark: ECT(0). Our end sets it by
// itself if its congestion control uses marks.
const ECTCapable = "2"

// shared returns the options that both ends have in common.
func (c Cell) shared() []string {
	line := []string{"-p", strconv.Itoa(Port), "-m", fmt.Sprint(int64(c.MTU))}
	if n := c.Duration(); n > 0 {
		line = append(line, "-D", strconv.Itoa(n), "-f", "1")
	} else {
		line = append(line, "-n", strconv.Itoa(c.Iterations()))
	}
	if c.Test.verb() != "atomic" {
		line = append(line, "-s", fmt.Sprint(int64(c.Size)))
	}
	if !c.Test.Perftest() {
		return append(line, "-c")
	}
	line = append(line, "-F")
	if c.Service == RC {
		line = append(line, "-u", patientTimeout)
	}
	if !c.Test.oneSided() {
		line = append(line, "-c", string(c.Service))
	}
	if !c.Test.Latency() {
		line = append(line, "-q", strconv.Itoa(c.QPs))
	}
	if c.Both {
		line = append(line, "-b")
	}
	return line
}

// patientTimeout is the exponent of an ACK timeout of 4.096 us * 2^16 = 0.27 s. On a busy machine
// an emulated guest can be silent for longer than the seven retries of the default timeout, 67 ms,
// take.
const patientTimeout = "16"

// rping returns rping's options in a role: both ends have the server's address, by which the RDMA
// CM finds it, and a count, without which a server does not end.
func (c Cell) rping(role Role) []string {
	addresses := map[Role]map[IP]string{
		Client: {IPv4: PeerIPv4, IPv6: PeerIPv6}, // our role: the peer is the server
		Server: {IPv4: OurIPv4, IPv6: OurIPv6},
	}
	side := "-s"
	if role == Client {
		side = "-c"
	}
	return []string{side, "-a", addresses[c.Role][c.IP], "-C", strconv.Itoa(c.Iterations()),
		"-S", fmt.Sprint(int64(c.Size)), "-V", "-v"}
}
