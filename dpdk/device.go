package dpdk

import (
	"errors"
	"fmt"
	"sync"

	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/dpdk/ethdev"
	"github.com/goroce/goroce/dpdk/mempool"
	"github.com/goroce/goroce/packet"
)

// Device is an open port with its pool and its queues. Its methods may be called by any goroutine;
// its Queues belong to one goroutine each.
type Device struct {
	url     URL
	opts    Options
	mtu     int
	txDepth int
	shape   shape
	mac     []byte
	info    packet.Info
	queues  []*Queue

	port   ethdev.Port
	pool   *mempool.Mempool
	loop   *loopEnd        // of a loop:, else nil
	client *memifClient    // of a memif:…,client that is open, else nil
	guards []*ethdev.Guard // of a memif, one per Queue, else nil
	stamps *ethdev.Stamps  // nil: frames do not tell when they arrived

	// What is to be undone.
	attached, running, promiscuous, serves bool

	life   sync.RWMutex // held for reading by whoever uses port, pool or loop off control
	closed bool         // guarded by life
}

// ErrClosed says that a device has been closed.
var ErrClosed = errors.New("dpdk: device is closed")

// Queues is how many Queues the device has: what was asked or fewer.
func (d *Device) Queues() int { return len(d.queues) }

// Queue is the i-th queue pair, a packet.Port. On a loop, Queue i of one end is wired to Queue i of
// the other; a NIC spreads UDP flows over its queues.
func (d *Device) Queue(i int) *Queue { return d.queues[i] }

// Info describes the device; every Queue answers the same.
func (d *Device) Info() packet.Info { return d.info }

// Stats are the counters of a device since Open.
type Stats struct {
	ethdev.Stats

	// RxChained counts frames dropped because they came in several segments.
	RxChained uint64

	Buffers     int // in the pool
	BuffersFree int // of them, not in anybody's hands
}

// Stats reads the counters.
func (d *Device) Stats() (Stats, error) {
	var s Stats
	d.life.RLock()
	defer d.life.RUnlock()
	if d.closed {
		return s, ErrClosed
	}
	var err error
	s.Stats, err = d.port.StatsGet()
	for _, q := range d.queues {
		s.RxChained += uint64(q.chained.Load())
	}
	s.Buffers, s.BuffersFree = d.pool.Size(), d.pool.AvailCount()
	return s, err
}

// Link is the state of the wire. A loop is up when both ends are open, a memif when the other
// process is there.
func (d *Device) Link() (ethdev.Link, error) {
	d.life.RLock()
	defer d.life.RUnlock()
	switch {
	case d.closed:
		return ethdev.Link{}, ErrClosed
	case d.loop != nil:
		return ethdev.Link{Up: d.loop.pair.up.Load()}, nil
	}
	link, err := d.port.LinkGetNowait()
	if d.url.Scheme != PCI {
		link.Mbps = 0 // virtual drivers invent one
	}
	return link, err
}

// Close stops the device and gives everything back. Nobody may be using its queues. Buffers that
// the caller still holds stay valid until they are freed through a queue of another device; the
// pool they belong to goes when the last of them is home. A second Close does nothing, unless the
// first could not begin for want of memory (eal.ErrAlarm).
func (d *Device) Close() error {
	d.life.Lock()
	was := d.closed
	d.closed = true
	d.life.Unlock()
	if was {
		return nil
	}
	if d.client != nil {
		d.client.end()
	}
	err := d.control("dpdk: close "+d.info.Name, d.release)
	if errors.Is(err, eal.ErrAlarm) {
		d.life.Lock()
		d.closed = false
		d.life.Unlock()
	}
	return err
}

// release undoes open, however far it came, as control runs it.
func (d *Device) release() error {
	var errs []error
	if d.promiscuous {
		d.port.PromiscuousDisable() // a driver that cannot had nothing to undo
	}
	if d.running {
		if err := d.port.DevStop(); err != nil {
			errs = append(errs, fmt.Errorf("stop: %w", err))
		}
	}
	if d.attached {
		errs = append(errs, d.port.Detach())
	}
	for _, g := range d.guards {
		g.Free()
	}
	if d.serves {
		memifServers[d.url.Name]--
	}
	if d.loop != nil {
		d.loop.release()
	}
	if d.pool != nil {
		retire(d.pool)
	}
	reap()
	return errors.Join(errs...)
}
