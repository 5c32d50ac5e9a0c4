package goroce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/internal/connect"
	"github.com/goroce/goroce/internal/hugepage"
	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/nicoffload/driver"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/packet/bottleneck"
	"github.com/goroce/goroce/packet/pcap"
	"github.com/goroce/goroce/packet/steering"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// ErrClosed is returned by the methods of a closed Host, listener or connection.
var ErrClosed = errors.New("goroce: closed")

// Options configure a Host. The zero value is valid for loop: and memif: ports.
type Options struct {
	// Addrs are the host's addresses with their prefix lengths. The default is the IPv6 link-local
	// address of the port's MAC.
	Addrs []netip.Prefix
	// LinkLocal adds the IPv6 link-local address of the port's MAC to Addrs, as the last one.
	LinkLocal bool
	// Gateways are the next hops for destinations outside all prefixes.
	Gateways []netip.Addr
	// VLAN is the tag of every frame; 0 means untagged.
	VLAN uint16
	// Queues is the number of endpoints, each with its own core; 0 means 1. Each has a queue of the
	// port, or shares one if the port has fewer.
	Queues int
	// Cores are the processors to pin the endpoints to, in turn. Without any, the scheduler places
	// them.
	Cores []int
	// Idle selects what a core does without work.
	Idle Idle
	// Buffers is the number of frame buffers of each port; 0 means a default that fits the cache,
	// and grows with Queues.
	Buffers int
	// EAL holds additional command line arguments for DPDK's EAL.
	EAL string
	// Pcap is the name of a file to which every frame of the port is written.
	Pcap string
	// Trace is the log for events of the endpoints (package trace), such as a sqlog.Log. It must
	// stay open until the Host is closed. nil records nothing.
	Trace trace.Log
	// Wrap adds decorators to the port of each endpoint.
	Wrap func(queue int, p packet.Port) packet.Port
	// Seed makes keys, PSNs, extension tags, queue pair numbers and connection IDs the same in
	// every run, and predictable for any peer. Use it for simulation only. 0 draws unpredictable
	// numbers.
	Seed uint64
	// Offload names a driver of nicoffload/driver, behind which congestion control runs; "" and
	// "off" run it inline. A program that uses "process" must call process.BeChild first in main.
	Offload string
	// AgentCores are the processors to pin the agents of Offload to, in the order of the endpoints;
	// -1 leaves the placement to the scheduler. Endpoints with the same entry share a thread.
	// Without any, each endpoint's core polls its agent.
	AgentCores []int
	// AgentSilence is how long an agent may be silent before its flows are controlled inline until
	// it responds again; 0 is nicoffload's default, negative is unlimited.
	AgentSilence units.Duration
	// HandshakeTimeout limits the handshake of a Conn at either end, without the TCP connect; 0
	// means 5 s.
	HandshakeTimeout units.Duration
	// Linger is how long Conn.Close waits for acknowledgements before it aborts; 0 means 2 s,
	// negative is unlimited.
	Linger units.Duration
	// KeepAlive is how long nothing may be heard on a Conn or Stream before its peer is probed with
	// a zero-length WRITE; 0 means 15 s, negative never. If the peer does not acknowledge a probe
	// and its repetitions, the connection ends, so that a program that only waits notices it.
	KeepAlive units.Duration
	// Retries is how often a Conn or Stream repeats a packet that is not acknowledged, 1 to 7
	// times, each after 134 ms, before the connection ends; 0 means 7, negative means never. The
	// RDMA CM negotiates a longer time, for instance 2.1 s with Linux.
	Retries int
	// Spin is how long a call of a Conn that waits for its peer spins before its goroutine waits in
	// the Go scheduler, which costs some microseconds. 0 means 20 µs if the process has more
	// processors than polling cores, and otherwise not at all; negative means not at all.
	Spin units.Duration
	// StreamBuffer is the size of a stream's receive buffer, and of its send buffer, 4 KiB to
	// 256 MiB; 0 means 1 MiB.
	StreamBuffer units.Bytes
	// CM starts the RDMA connection manager with the port. Before the manager runs, connection
	// requests are lost, and their senders repeat them only after seconds; afterwards a request to
	// a port that nobody listens on is rejected at once. Without CM the first ListenCM or DialCM
	// starts the manager.
	CM bool
	// NewAlgorithm makes the congestion control of queue pairs that set none; nil means cc.Fixed.
	NewAlgorithm func() cc.Algorithm
	// Asleep is a word in memory that other processes share. The core of endpoint 0 sets it to 1
	// when it sleeps (IdleSleep). A thread that has then made work for a Waker sets it to 0 and
	// wakes one waiter of the futex; without that the core may sleep for some 50 µs more.
	Asleep *atomic.Uint32
	// Log receives messages for the operator; nil discards them.
	Log *slog.Logger
}

// Host is an open port with its endpoints and the cores that poll them.
type Host struct {
	device    *dpdk.Device
	addrs     []netip.Prefix
	workers   []*worker
	steered   []*steering.Port   // the ports of several workers, else nil
	rules     *flowRules         // nil unless the port has several queues
	offloads  []*driver.Offload  // of the endpoints; empty if inline
	narrowed  []*bottleneck.Port // of a loop that is a bottleneck, else nil
	agents    []*agentCore
	log       *slog.Logger
	seed      uint64
	pcap      io.Closer
	recording *pcap.File

	conns atomic.Uint32 // ever begun: they take the endpoints in turn

	cmMu sync.Mutex
	cm   *cm // nil until first used

	linger, handshakeTimeout time.Duration
	spin                     units.Duration // Options.Spin
	streamBuffer             units.Bytes
	keepAlive                units.Duration
	retries                  uint8
	events                   *events
	dialTCP                  func(ctx context.Context, addr string) (net.Conn, error)

	life    context.Context // ends when Close begins, or when the port is removed
	die     context.CancelCauseFunc
	closing atomic.Bool
	closed  chan struct{} // closed when err is set
	err     error
}

// Open opens a port and starts its endpoints.
func Open(url string, o Options) (*Host, error) {
	streamBuffer, err := checkStreamBuffer(o.StreamBuffer)
	if err != nil {
		return nil, fmt.Errorf("goroce: open %s: %w", url, err)
	}
	o.StreamBuffer = streamBuffer
	if o.Retries > connRetries {
		return nil, fmt.Errorf("goroce: open %s: Retries of %d, want at most %d: %w", url,
			o.Retries, connRetries, transport.ErrInvalid)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Seed != 0 {
		o.Log.Warn("fixed seed: peers can predict every key, PSN and extension tag; use a seed "+
			"for simulation only", "port", url)
	}
	o.Queues = max(o.Queues, 1)
	if o.Buffers == 0 && o.Queues > 2 { // each core keeps up to 1.5*255 free buffers in a cache
		o.Buffers = (dpdk.DefaultBuffers+1)*((o.Queues+1)/2) - 1
	}
	device, err := dpdk.Open(url, dpdk.Options{Queues: o.Queues, Buffers: o.Buffers,
		ExtraEAL: o.EAL, Logger: o.Log, Clock: processClock().Now})
	if err != nil {
		return nil, fmt.Errorf("goroce: open: %w", err)
	}
	h := &Host{device: device, addrs: o.Addrs, log: o.Log, seed: o.Seed}
	h.begin(o)
	go h.outlast(device)
	if err := h.start(o); err != nil {
		return nil, errors.Join(fmt.Errorf("goroce: open %s: %w", url, err), h.Close())
	}
	h.announce()
	go h.monitor()
	return h, nil
}

// begin sets the defaults that Dial and Listen need, before the port is open.
func (h *Host) begin(o Options) {
	h.linger, h.handshakeTimeout = 2*time.Second, 5*time.Second
	if o.Linger > 0 {
		h.linger = o.Linger.Std()
	} else if o.Linger < 0 {
		h.linger = -1
	}
	if o.HandshakeTimeout > 0 {
		h.handshakeTimeout = o.HandshakeTimeout.Std()
	}
	h.spin, h.streamBuffer = o.Spin, cmp.Or(o.StreamBuffer, defaultStreamBuffer)
	h.keepAlive = max(cmp.Or(o.KeepAlive, defaultKeepAlive), 0)
	h.retries = uint8(max(cmp.Or(o.Retries, connRetries), 0))
	h.events = newEvents(h.log)
	h.dialTCP, h.closed = connect.Dial, make(chan struct{})
	h.life, h.die = context.WithCancelCause(context.Background())
}

// outlast ends what waits for peers when the port is removed. Connections end by their retry
// limits.
func (h *Host) outlast(device *dpdk.Device) {
	select {
	case <-device.Removed():
		h.die(dpdk.ErrRemoved)
	case <-h.life.Done():
	}
}

// alive returns dpdk.ErrRemoved when the port has been removed.
func (h *Host) alive() error {
	if h.device != nil {
		if _, err := h.device.Link(); errors.Is(err, dpdk.ErrRemoved) {
			return err
		}
	}
	return nil
}

func (h *Host) start(o Options) error {
	var sink *pcap.File
	if o.Pcap != "" {
		file, err := os.Create(o.Pcap)
		if err != nil {
			return err
		}
		h.pcap = file
		clock := processClock()
		epoch := Epoch().UnixNano()
		if sink, err = pcap.New(file, clock.Now, pcap.Epoch(epoch)); err != nil {
			return err
		}
		h.recording = sink
	}
	if err := h.offload(o); err != nil {
		return err
	}
	stats, _ := h.device.Stats() // pool size is valid even if the driver has no counters
	for i, port := range h.ports(o) {
		if o.Wrap != nil {
			port = o.Wrap(i, port)
		}
		if sink != nil {
			port = sink.Wrap(port)
		}
		if len(h.addrs) == 0 || o.LinkLocal && i == 0 {
			h.addrs = append(slices.Clone(h.addrs), neigh.LinkLocal(port.Info().MAC))
		}
		ep, err := transport.New(transport.Config{
			Port: port, Addrs: h.addrs, Gateways: o.Gateways, VLAN: o.VLAN,
			Seed:     endpointSeed(o.Seed, i),
			FirstQPN: firstQPN(i, o.Queues, o.Seed), QPNStep: uint32(o.Queues),
			NewAlgorithm: o.NewAlgorithm, Trace: h.ring(o.Trace, i, o.Queues),
			MaxHeld: max(1, stats.Buffers/2/o.Queues), Controller: h.controller(i),
			HugePages: hugepage.Advise,
		}, processClock().Now())
		if err != nil {
			return err
		}
		core := -1
		if len(o.Cores) > 0 {
			core = o.Cores[i%len(o.Cores)]
		}
		manager, err := h.manageFromStart(ep, o.CM && i == 0)
		if err != nil {
			return err
		}
		var steered *steering.Port
		if h.steered != nil {
			steered = h.steered[i]
		}
		w, err := startWorker(ep, steered, core, o.Idle, o.asleepOf(i))
		if err != nil {
			return err
		}
		w.index, h.workers = i, append(h.workers, w)
		if manager != nil {
			manager.worker = w
			if err := h.runManager(manager); err != nil {
				return err
			}
		}
	}
	return h.startAgents(o)
}

// ring returns the ring for the events of endpoint i of n; nil without a log.
func (h *Host) ring(log trace.Log, i, n int) *trace.Ring {
	if log == nil {
		return nil
	}
	name := h.device.Info().Name
	if n > 1 {
		name = fmt.Sprintf("%s/%d", name, i)
	}
	return log.Ring(name)
}

// ports returns the port of each endpoint. Several endpoints get the frames of their queue pairs
// from whichever queue these arrive in.
func (h *Host) ports(o Options) []packet.Port {
	queues := h.device.Queues()
	if o.Queues == 1 {
		return []packet.Port{h.narrow(h.device.Queue(0))}
	}
	if queues < o.Queues {
		o.Log.Info("endpoints share the port's queues", "port", h.device.Info().Name,
			"endpoints", o.Queues, "queues", queues)
	}
	ports := make([]packet.Port, o.Queues)
	for i := range ports {
		if i < queues {
			ports[i] = h.narrow(h.device.Queue(i))
		} else {
			ports[i] = h.narrow(h.device.Share(i % queues))
		}
	}
	h.steered = steering.New(ports, queues)
	h.rules = newFlowRules(h.device, o.Log)
	for i, p := range h.steered {
		ports[i] = p
	}
	return ports
}

// narrow returns the port behind the bottleneck that the URL of a loop describes, if it does.
func (h *Host) narrow(port packet.Port) packet.Port {
	in, out := h.device.Bottleneck()
	if in == nil {
		return port
	}
	p := bottleneck.New(port, in, out, processClock().Now)
	h.narrowed = append(h.narrowed, p)
	return p
}

// manageFromStart makes the connection manager of an endpoint that is not polled yet, if wanted.
func (h *Host) manageFromStart(ep *transport.Endpoint, wanted bool) (*cm, error) {
	if !wanted {
		return nil, nil
	}
	m, err := h.newManager(ep.Query().Port.MAC)
	if err != nil {
		return nil, err
	}
	return m, ep.Setup().Manage(m.machine)
}

// asleepOf returns the word of endpoint i, nil for none.
func (o *Options) asleepOf(i int) *atomic.Uint32 {
	if i > 0 {
		return nil
	}
	return o.Asleep
}

// endpointSeed returns the seed of endpoint i. It is 0 only without a seed.
func endpointSeed(seed uint64, i int) uint64 {
	if seed == 0 {
		return 0
	}
	return cmp.Or(seed+uint64(i), 1)
}

// firstQPN returns the first queue pair number of endpoint i of n; each endpoint has its own
// residue modulo n. Without a seed endpoints draw numbers at random. With one they count up from a
// number that depends on it, because Linux rejects a CM connection from a recently used number as
// stale (InfiniBand spec 12.9.8.3.1).
func firstQPN(i, n int, seed uint64) uint32 {
	const lowest, span = 0x100, 1 << 23 // leaves half of the numbers before they wrap
	base := lowest
	if seed != 0 {
		base += rand.New(rand.NewPCG(seed, 0x71706e)).IntN(span)
	}
	return uint32(base - base%n + n + i)
}

// Close stops the cores and the port. Listeners and connections end, blocked calls return, and
// unacknowledged messages are lost.
func (h *Host) Close() error {
	if onPollingCore() {
		return fmt.Errorf("goroce: close: %w", ErrOnCore)
	}
	if h.closing.CompareAndSwap(false, true) {
		h.err = h.close()
		close(h.closed)
	}
	<-h.closed
	return h.err
}

func (h *Host) close() error {
	h.die(ErrClosed)
	h.cmMu.Lock()
	manager := h.cm
	h.cmMu.Unlock()
	if manager != nil {
		manager.close()
	}
	for _, w := range h.workers {
		w.stop()
	}
	for _, p := range h.steered {
		p.Drain()
	}
	for _, p := range h.narrowed {
		p.Drain()
	}
	errs := h.stopAgents()
	if h.device != nil {
		errs = append(errs, h.device.Close())
	}
	if h.pcap != nil {
		if h.recording != nil {
			errs = append(errs, h.recording.Err())
		}
		errs = append(errs, h.pcap.Close())
	}
	return errors.Join(errs...)
}

// Endpoints returns the number of endpoints.
func (h *Host) Endpoints() int { return len(h.workers) }

// Undelivered returns how many frames one endpoint received for another and dropped, because that
// one did not poll (Options.Queues).
func (h *Host) Undelivered() (frames uint64) {
	for _, p := range h.steered {
		frames += p.Dropped()
	}
	return frames
}

// Info returns the properties of the port of endpoint i.
func (h *Host) Info(i int) packet.Info { return h.workers[i].ep.Query().Port }

// Addrs returns the host's addresses.
func (h *Host) Addrs() []netip.Prefix { return h.addrs }

// Device returns the port's device, for statistics and link state.
func (h *Host) Device() *dpdk.Device { return h.device }

// Now returns the time of the clock with which the endpoints are polled.
func (h *Host) Now() units.Time { return processClock().Now() }

// Seed returns Options.Seed, 0 without one.
func (h *Host) Seed() uint64 { return h.seed }

// Do runs f between two rounds on the core that polls endpoint i, and waits until f returns.
func (h *Host) Do(i int, f func(*transport.Endpoint)) error { return h.workers[i].do(f) }

// Program is code that runs on a polling core. Step is called with the round's time in every round,
// between receiving and sending, and must not block. It reports whether it did something, which
// keeps the core from idling, and whether the program is done.
type Program interface {
	Step(ep *transport.Endpoint, now units.Time) (busy, done bool)
}

// Waker is a Program with work that other threads make without a call of the Host, as in shared
// memory. The core calls HasWork before it sleeps.
type Waker interface {
	Program
	HasWork() bool
}

// Run adds a program to the core that polls endpoint i. The returned channel is closed when the
// program or the host has ended.
func (h *Host) Run(i int, p Program) (<-chan struct{}, error) { return h.workers[i].run(p) }
