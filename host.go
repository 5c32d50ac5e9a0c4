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
	"sync"
	"sync/atomic"
	"time"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/internal/connect"
	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/nicoffload/driver"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/packet/pcap"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// ErrClosed is the error of everything on a closed host or connection.
var ErrClosed = errors.New("goroce: closed")

// Options say how to open a host. The zero value is good for loop: and memif: ports.
type Options struct {
	// Addrs are the host's addresses with their prefix lengths. Without any it takes the IPv6
	// link-local address of its MAC.
	Addrs []netip.Prefix
	// Gateways lead to what is on none of the prefixes.
	Gateways []netip.Addr
	// VLAN tags every frame when it is not 0.
	VLAN uint16
	// Queues is how many endpoints to run, each on a port queue and a core of its own; 0 means 1.
	// A port that has fewer queues gets fewer.
	Queues int
	// Cores are the processors to pin the endpoints to, in turn; none: wherever Linux puts them.
	Cores []int
	// Idle is what a core does without work.
	Idle Idle
	// Buffers is how many frame buffers each port has; 0 takes the default, sized to the cache.
	Buffers int
	// EAL are more arguments for DPDK's environment, as on its command line.
	EAL string
	// Pcap is a file that gets everything that crosses the port.
	Pcap string
	// Wrap puts decorators around the port of each endpoint.
	Wrap func(queue int, p packet.Port) packet.Port
	// Seed is for simulation: with it all keys, PSNs, extension tags, queue pair numbers and
	// connection IDs are the same in every run, and any peer can compute them. 0 draws them so that
	// nobody can.
	Seed uint64
	// Offload names the driver of nicoffload/driver behind which congestion control runs; "" and
	// "off" are in line. A program that says "process" begins its main with process.BeChild.
	Offload string
	// AgentCores are the processors to pin the agents of an Offload to, those of the endpoints in
	// turn; -1 is wherever Linux puts one. Endpoints with the same one share a thread. Without any
	// each agent is polled by its endpoint's core.
	AgentCores []int
	// AgentSilence is for how long an agent may not be heard of before flows are controlled in line
	// until it is; 0 is nicoffload's, less than 0 for ever.
	AgentSilence units.Duration
	// HandshakeTimeout is how long the handshake of a Conn may take at either end, without what
	// connecting by TCP takes; 0 is 5 s.
	HandshakeTimeout units.Duration
	// Linger is how long Conn.Close waits for acknowledgements before it aborts; 0 is 2 s, less
	// than 0 for ever.
	Linger units.Duration
	// NewAlgorithm makes the congestion control of a queue pair that names none; nil is cc.Fixed.
	NewAlgorithm func() cc.Algorithm
	// Log gets what an operator should know; nil discards it.
	Log *slog.Logger
}

// Host is a port with its endpoints and the cores that poll them.
type Host struct {
	device    *dpdk.Device
	addrs     []netip.Prefix
	workers   []*worker
	offloads  []*driver.Offload // of the endpoints; none is in line
	agents    []*agentCore
	log       *slog.Logger
	seed      uint64
	pcap      io.Closer
	recording *pcap.File

	cmMu sync.Mutex
	cm   *cm // once someone asked for it

	linger, handshakeTimeout time.Duration
	dialTCP                  func(ctx context.Context, addr string) (net.Conn, error)

	life    context.Context // ends when Close begins
	die     context.CancelFunc
	closing atomic.Bool
	closed  chan struct{} // closed when err is set
	err     error
}

// Open opens a port and starts its endpoints.
func Open(url string, o Options) (*Host, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Seed != 0 {
		o.Log.Warn("a seed was given: peers can predict every key, PSN and extension tag; it is "+
			"for simulation only", "port", url)
	}
	o.Queues = max(o.Queues, 1)
	device, err := dpdk.Open(url, dpdk.Options{Queues: o.Queues, Buffers: o.Buffers,
		ExtraEAL: o.EAL, Logger: o.Log, Clock: processClock().Now})
	if err != nil {
		return nil, fmt.Errorf("goroce: open: %w", err)
	}
	h := &Host{device: device, addrs: o.Addrs, log: o.Log, seed: o.Seed}
	h.begin(o)
	if err := h.start(o); err != nil {
		return nil, errors.Join(fmt.Errorf("goroce: open %s: %w", url, err), h.Close())
	}
	return h, nil
}

// begin prepares what Dial and Listen need, before there is a port.
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
	h.dialTCP, h.closed = connect.Dial, make(chan struct{})
	h.life, h.die = context.WithCancel(context.Background())
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
		epoch := time.Now().Add(-clock.Now().Sub(0).Std()).UnixNano()
		if sink, err = pcap.New(file, clock.Now, pcap.Epoch(epoch)); err != nil {
			return err
		}
		h.recording = sink
	}
	if n := h.device.Queues(); n < o.Queues {
		o.Log.Info("port has fewer queues than asked", "port", h.device.Info().Name, "asked",
			o.Queues, "has", n)
	}
	if err := h.offload(o); err != nil {
		return err
	}
	stats, _ := h.device.Stats() // the size of the pool is there also when a driver has no counters
	for i := range h.device.Queues() {
		var port packet.Port = h.device.Queue(i)
		if o.Wrap != nil {
			port = o.Wrap(i, port)
		}
		if sink != nil {
			port = sink.Wrap(port)
		}
		if len(h.addrs) == 0 {
			h.addrs = []netip.Prefix{neigh.LinkLocal(port.Info().MAC)}
		}
		ep, err := transport.New(transport.Config{
			Port: port, Addrs: h.addrs, Gateways: o.Gateways, VLAN: o.VLAN,
			Seed:     endpointSeed(o.Seed, i),
			FirstQPN: firstQPN(i, h.device.Queues(), o.Seed), QPNStep: uint32(h.device.Queues()),
			NewAlgorithm: o.NewAlgorithm,
			MaxHeld:      max(1, stats.Buffers/2/h.device.Queues()), Controller: h.controller(i),
		}, processClock().Now())
		if err != nil {
			return err
		}
		core := -1
		if len(o.Cores) > 0 {
			core = o.Cores[i%len(o.Cores)]
		}
		w, err := startWorker(ep, core, o.Idle)
		if err != nil {
			return err
		}
		h.workers = append(h.workers, w)
	}
	return h.startAgents(o)
}

// endpointSeed is the seed of endpoint i; only that of no seed is 0.
func endpointSeed(seed uint64, i int) uint64 {
	if seed == 0 {
		return 0
	}
	return cmp.Or(seed+uint64(i), 1)
}

// firstQPN gives each of n endpoints its own residue of the queue pair numbers. Without a seed the
// endpoints draw from there on. With one they count from a number that depends on it: Linux refuses
// a connection by the CM from a number that one has had lately (InfiniBand spec 12.9.8.3.1, stale
// connection).
func firstQPN(i, n int, seed uint64) uint32 {
	const lowest, span = 0x100, 1 << 23 // half of all numbers remain before they begin anew
	base := lowest
	if seed != 0 {
		base += rand.New(rand.NewPCG(seed, 0x71706e)).IntN(span)
	}
	return uint32(base - base%n + n + i)
}

// Close stops the cores and the port. Listeners and connections end, and so does whatever waits for
// them; what was not acknowledged is lost.
func (h *Host) Close() error {
	if h.closing.CompareAndSwap(false, true) {
		h.err = h.close()
		close(h.closed)
	}
	<-h.closed
	return h.err
}

func (h *Host) close() error {
	h.die()
	h.cmMu.Lock()
	manager := h.cm
	h.cmMu.Unlock()
	if manager != nil {
		manager.close()
	}
	for _, w := range h.workers {
		w.stop()
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

// Endpoints answers how many endpoints run.
func (h *Host) Endpoints() int { return len(h.workers) }

// Info describes the port of endpoint i.
func (h *Host) Info(i int) packet.Info { return h.workers[i].ep.Port().Info() }

// Addrs are the host's addresses.
func (h *Host) Addrs() []netip.Prefix { return h.addrs }

// Device answers the port's device, for its statistics and link state.
func (h *Host) Device() *dpdk.Device { return h.device }

// Now reads the clock that the endpoints are polled with.
func (h *Host) Now() units.Time { return processClock().Now() }

// Seed returns Options.Seed; 0 says that the host has none.
func (h *Host) Seed() uint64 { return h.seed }

// Do runs f on the core that polls endpoint i, between two rounds, and waits for its end.
func (h *Host) Do(i int, f func(*transport.Endpoint)) error { return h.workers[i].do(f) }

// Program is code that runs on a polling core. Step is called in every round of Poll, between what
// arrived and what leaves, with the round's time; it must not block. It answers whether it did
// something, so that a busy core does not take a rest, and ends the program by done.
type Program interface {
	Step(ep *transport.Endpoint, now units.Time) (busy, done bool)
}

// Run adds a program to the core that polls endpoint i and answers a channel that is closed when
// the program or the host has ended.
func (h *Host) Run(i int, p Program) (<-chan struct{}, error) { return h.workers[i].run(p) }
