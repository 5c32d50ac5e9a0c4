package dpdk

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/dpdk/ethdev"
	"github.com/goroce/goroce/dpdk/mempool"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/packet/bottleneck"
)

// Device is an open port with its pool and its queues. Its methods are safe for concurrent use;
// each of its Queues belongs to one goroutine.
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
	stamps *ethdev.Stamps  // nil: frames carry no time of arrival

	flows   map[*ethdev.Flow]struct{} // the rules of Steer; accessed inside control
	removal *ethdev.Removal           // nil while the device is not attached
	gone    sync.Once
	removed chan struct{} // closed by gone

	// What release has to undo.
	attached, running, promiscuous, counted bool

	life   sync.RWMutex // read-locked by users of port, pool or loop outside of control
	closed bool         // guarded by life
	shares []*Queue     // guarded by life
}

// ErrClosed is returned by the methods of a closed device.
var ErrClosed = errors.New("dpdk: device is closed")

// ErrRemoved is returned once a device's hardware has been removed.
var ErrRemoved = errors.New("dpdk: device was removed")

// Queues returns the number of Queues of the device, at most Options.Queues.
func (d *Device) Queues() int { return len(d.queues) }

// Queue returns the i-th queue pair, a packet.Port. On a loop, Queue i of one end is wired to
// Queue i of the other; a NIC spreads UDP flows over its queues.
func (d *Device) Queue(i int) *Queue { return d.queues[i] }

// Share returns another Queue on the hardware queues of the i-th, for another goroutine. The
// callers ensure that at most one of the Queues on them receives, and at most one sends, at a time.
func (d *Device) Share(i int) *Queue {
	d.life.Lock()
	defer d.life.Unlock()
	q := d.newQueue(i)
	d.shares = append(d.shares, q)
	return q
}

// Bottleneck returns the incoming and the outgoing link of a loop with rate= or ecn=, and nil for
// every other port. The caller wraps the queues (bottleneck.New).
func (d *Device) Bottleneck() (in, out *bottleneck.Link) {
	if d.loop == nil {
		return nil, nil
	}
	return d.loop.pair.links[d.loop.end], d.loop.pair.links[1-d.loop.end]
}

// Info describes the device; it is the same for every Queue.
func (d *Device) Info() packet.Info { return d.info }

// Stats are the counters of a device since Open.
type Stats struct {
	ethdev.Stats

	// RxChained counts frames dropped because they came in several segments.
	RxChained uint64

	// TxRemoved counts frames dropped because the device had been removed.
	TxRemoved uint64

	Buffers     int // in the pool
	BuffersFree int // free ones among them

	// RxQueued is the number of frames that wait in the receive queues; negative: unknown. Only a
	// loop reports it.
	RxQueued int
}

// Stats returns the counters. After the removal of the device it returns ErrRemoved, together with
// the counters that do not come from the driver.
func (d *Device) Stats() (Stats, error) {
	var s Stats
	d.life.RLock()
	defer d.life.RUnlock()
	if d.closed {
		return s, ErrClosed
	}
	err := d.alive()
	if err == nil {
		s.Stats, err = d.port.StatsGet()
	}
	for _, q := range slices.Concat(d.queues, d.shares) {
		s.RxChained += uint64(q.chained.Load())
		s.TxRemoved += q.txRemoved.Load()
	}
	s.Buffers, s.BuffersFree = d.pool.Size(), d.pool.AvailCount()
	if s.RxQueued = -1; d.loop != nil {
		s.RxQueued = d.loop.waiting()
	}
	return s, d.cause(err)
}

// Link returns the state of the wire. A loop is up when both ends are open, a memif when the other
// process is connected. The link of a removed device is down, and the error is ErrRemoved.
func (d *Device) Link() (ethdev.Link, error) {
	d.life.RLock()
	defer d.life.RUnlock()
	if d.closed {
		return ethdev.Link{}, ErrClosed
	}
	if err := d.alive(); err != nil {
		return ethdev.Link{}, err
	}
	if d.loop != nil {
		return ethdev.Link{Up: d.loop.pair.up.Load()}, nil
	}
	link, err := d.port.LinkGetNowait()
	if err = d.cause(err); err == ErrRemoved {
		return ethdev.Link{}, err
	}
	if d.url.Scheme != PCI {
		link.Mbps = 0 // virtual drivers report an arbitrary rate
	}
	return link, err
}

// Close stops the device and releases its resources. Its queues must not be in use. Buffers that
// the caller still holds stay valid until they are freed through a queue of another device; their
// pool is freed with the last of them. A second Close does nothing, unless the first could not
// begin for lack of memory (eal.ErrAlarm). Close ignores failures of the driver of a removed
// device.
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

// release undoes what open did, however far it came. It runs inside control.
func (d *Device) release() error {
	var errs []error
	if d.promiscuous && !d.removal.Happened() {
		d.port.PromiscuousDisable() // a driver without the mode had nothing to undo
	}
	d.endFlows()
	if d.running {
		err := d.port.DevStop()
		if err != nil && d.removal.Happened() {
			// EAL does not close a running port. Many drivers note that they have stopped before
			// they stop the hardware.
			err = d.port.DevStop()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("stop: %w", err))
		}
	}
	if d.attached {
		errs = append(errs, d.port.Detach(d.removal))
	}
	if d.removal != nil {
		if err := errors.Join(errs...); err != nil && d.removal.Happened() {
			d.opts.Logger.Debug("dpdk: driver of a removed device", "port", d.info.Name, "err", err)
			errs = nil
		}
		d.removal.Free()
	}
	for _, g := range d.guards {
		g.Free()
	}
	if d.counted {
		d.memifs()[d.url.socket()]--
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
