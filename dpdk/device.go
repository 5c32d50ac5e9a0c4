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

	removal *ethdev.Removal // nil while the device is not attached
	gone    sync.Once
	removed chan struct{} // closed by gone

	// What is to be undone.
	attached, running, promiscuous, counted bool

	life   sync.RWMutex // held for reading by whoever uses port, pool or loop off control
	closed bool         // guarded by life
}

// ErrClosed says that a device has been closed.
var ErrClosed = errors.New("dpdk: device is closed")

// ErrRemoved says that a device's hardware has been removed.
var ErrRemoved = errors.New("dpdk: device was removed")

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

	// TxRemoved counts frames dropped because the device had been removed.
	TxRemoved uint64

	Buffers     int // in the pool
	BuffersFree int // of them, not in anybody's hands
}

// Stats reads the counters. When the device has been removed, the error is ErrRemoved, and the
// Stats are those that do not come from its driver.
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
	for _, q := range d.queues {
		s.RxChained += uint64(q.chained.Load())
		s.TxRemoved += q.txRemoved.Load()
	}
	s.Buffers, s.BuffersFree = d.pool.Size(), d.pool.AvailCount()
	return s, d.cause(err)
}

// Link is the state of the wire. A loop is up when both ends are open, a memif when the other
// process is there. The link of a device that has been removed is down, and the error ErrRemoved.
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
		link.Mbps = 0 // virtual drivers invent one
	}
	return link, err
}

// Close stops the device and gives everything back. Nobody may be using its queues. Buffers that
// the caller still holds stay valid until they are freed through a queue of another device; the
// pool they belong to goes when the last of them is home. A second Close does nothing, unless the
// first could not begin for want of memory (eal.ErrAlarm). What the driver of a device that has
// been removed cannot do any more is no error.
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
	if d.promiscuous && !d.removal.Happened() {
		d.port.PromiscuousDisable() // a driver that cannot had nothing to undo
	}
	if d.running {
		err := d.port.DevStop()
		if err != nil && d.removal.Happened() {
			// EAL closes no port that runs. Many drivers note that they have stopped before they
			// tell the hardware.
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
