package dpdk

import (
	"fmt"
	"strconv"
	"strings"
)

// MTUs of ports without one of their own.
const (
	jumboMTU = 9000

	// A memif frame must fit one slot of shared memory. The slots are used round robin, so they are
	// only as long as the longest RoCE frame: 4096 bytes, headers, and a margin.
	memifMTU = 4352 - frameOverhead
)

// defaultDepth is the length of the queues whose length we choose: a share of DefaultBuffers.
const defaultDepth = 512

// vdev is the name and the arguments that EAL's hot-plug takes.
type vdev struct{ bus, name, args string }

// af_packet locks its rings in memory. If ulimit -l does not allow that, it takes few frames.
const (
	packetFrames    = 1024
	packetFramesFew = 128
)

// want are the parameters of a vdev.
type want struct {
	queues, mtu int
	few         bool // af_packet: use short rings
}

// vdev returns the device that u names, number n of its kind. It is pure. loop: is made in another
// way.
func (u *URL) vdev(n int, w want) vdev {
	switch u.Scheme {
	case PCI:
		return vdev{"pci", u.Name, join(u.Options)}
	case EAL:
		name, args, _ := strings.Cut(u.Name, ",")
		return vdev{"vdev", name, args}
	}
	var ours []KV
	switch u.Scheme {
	case Memif:
		role := "server"
		if u.Client {
			role = "client"
		}
		ours = []KV{{"role", role}, {"socket", u.socket()}, {"socket-abstract", "no"},
			{"bsize", strconv.Itoa(roundUp(w.mtu+frameOverhead, 64))},
			{"rsize", "9"}, {"mac", u.mac(u.Client).String()}}
	case AFPacket:
		frame, block := packetRing(w.mtu)
		frames := packetFrames
		if w.few {
			frames = packetFramesFew
		}
		ours = []KV{{"iface", u.Name}, {"qpairs", strconv.Itoa(w.queues)},
			{"framesz", strconv.Itoa(frame)}, {"blocksz", strconv.Itoa(block)},
			{"framecnt", strconv.Itoa(frames)}}
	case AFXDP:
		ours = []KV{{"iface", u.Name}, {"start_queue", "0"},
			{"queue_count", strconv.Itoa(w.queues)}}
	case Tap:
		ours = []KV{{"iface", u.Name}}
	case Pcap:
		if u.RxFile != "" {
			ours = append(ours, KV{"rx_pcap", u.RxFile})
		}
		if u.TxFile != "" {
			ours = append(ours, KV{"tx_pcap", u.TxFile})
		}
	}
	return vdev{"vdev", fmt.Sprintf("net_%s%d", u.Scheme, n), join(merge(ours, u.Options))}
}

// socket returns the path of a memif's socket. The driver keeps one socket per path and process,
// and the first device on it determines whether the socket listens; a server that opens after a
// client would not. So clients spell the path differently.
func (u *URL) socket() string {
	if !u.Client || !u.inFileSystem() {
		return u.Name
	}
	other := "./" + u.Name
	if strings.HasPrefix(u.Name, "/") {
		other = "/" + u.Name
	}
	if len(other) > maxSocketPath {
		return u.Name
	}
	return other
}

// packetRing returns the size of the ring that af_packet shares with the kernel: frames with room
// for the kernel's header, 16 to a block, so that a block is whole pages without a gap.
func packetRing(mtu int) (frame, block int) {
	const kernelHeader = 80
	frame = roundUp(mtu+frameOverhead+kernelHeader, 256)
	return frame, 16 * frame
}

// merge returns ours with the options of theirs taking precedence, in a stable order.
func merge(ours, theirs []KV) []KV {
	var all []KV
	given := map[string]bool{}
	for _, kv := range theirs {
		given[kv.Key] = true
	}
	for _, kv := range ours {
		if !given[kv.Key] {
			all = append(all, kv)
		}
	}
	return append(all, theirs...)
}

func join(options []KV) string {
	words := make([]string, len(options))
	for i, kv := range options {
		words[i] = kv.Key + "=" + kv.Value
	}
	return strings.Join(words, ",")
}

// depth returns the length of each ring of a loop, in frames.
func (u *URL) depth() (int, error) {
	s := u.option("depth")
	if s == "" {
		return defaultDepth, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 1<<16 {
		return 0, fmt.Errorf("depth=%s is not a number from 1 to 65536", s)
	}
	return n, nil
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }
