package carclab

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

const (
	// realMessage is the length of a message on this machine.
	realMessage = 4096
	// burst is the number of messages that the consumer takes in a round.
	burst = 16
)

// realRun is a producer that copies messages into a ring and a consumer that reads all of each,
// each on a core of its own.
type realRun struct {
	ring  []byte // whole messages
	ticks int    // of processing, dependent additions
	// The consumer begins with a burst when it is available beyond behind, and the producer has at
	// most twice as many. 0: only the ring, or credits, limit the producer.
	behind  int
	credits string        // settings, "" for none
	llc     units.Bytes   // the number of messages that credits cover
	missed  time.Duration // a first touch that takes longer went to memory
	lasts   time.Duration
	warm    uint64 // messages that are not measured
}

// realResult is the measurement of the consumer.
type realResult struct {
	perMessage       time.Duration // of the whole time
	reading          time.Duration // of the consumer's time with a message
	canaries, misses int
	most             uint64 // largest number of unconsumed messages
}

// exchange is what the two cores share.
type exchange struct {
	written, read atomic.Uint64 // messages
	stop          atomic.Bool
	credits, asks mailbox
	began         time.Time
}

// now is the time of a round.
func (x *exchange) now() units.Time { return units.Time(1).Add(units.FromStd(time.Since(x.began))) }

// mailbox passes notices from one core to another.
type mailbox struct {
	head, tail atomic.Uint64
	box        [64]cc.ControlMessage
}

func (b *mailbox) put(n cc.ControlMessage) {
	// otherwise it is lost, which is harmless
	if at := b.head.Load(); at-b.tail.Load() < uint64(len(b.box)) {
		b.box[at%uint64(len(b.box))] = n
		b.head.Store(at + 1)
	}
}

func (b *mailbox) take() (n cc.ControlMessage, some bool) {
	at := b.tail.Load()
	if at == b.head.Load() {
		return n, false
	}
	n = b.box[at%uint64(len(b.box))]
	b.tail.Store(at + 1)
	return n, true
}

// quiet is a receiver of reports that ignores them.
type quiet struct{}

func (quiet) Report(*cc.Event, units.Time) {}
func (quiet) Reschedule()                  {}

// run runs it.
func (r *realRun) run() (realResult, error) {
	x := &exchange{began: time.Now()}
	p, c := producer{realRun: r, x: x}, consumer{realRun: r, x: x,
		lots: rand.New(rand.NewPCG(1, 2))}
	if r.credits != "" {
		spec, err := carc.Parse(r.credits)
		if err != nil {
			return realResult{}, err
		}
		e := spec.On(carc.Cache{Size: r.llc, Line: 64}).Endpoint()
		if p.gate, c.granter, err = e.New(cc.Path{LineRate: 400 * gbps, BaseRTT: 2 * us,
			Payload: realMessage}); err != nil {
			return realResult{}, err
		}
		c.granter.Attach(quiet{})
		terms := c.granter.Terms()
		c.granter.Agree(terms)
		p.gate.Agree(terms)
		c.sensor = e.Sensor()
		c.sensor.Calibrate(units.FromStd(r.missed), units.FromStd(r.missed))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.run()
	}()
	c.run()
	x.stop.Store(true)
	<-done
	return c.result, errors.Join(p.err, c.err)
}

// producer copies messages into the ring.
type producer struct {
	*realRun
	x    *exchange
	gate *carc.Gate
	err  error
}

func (p *producer) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	source := make([]byte, realMessage)
	slots := uint64(len(p.ring) / realMessage)
	ahead := slots
	if p.behind > 0 {
		ahead = uint64(p.behind) + 2*burst
	}
	out := cc.Outgoing{Bytes: realMessage, Message: realMessage, Completes: true,
		Backlog: cc.Backlog{Waits: units.GiB}}
	spins := 0
	for at := uint64(0); !p.x.stop.Load(); {
		var now units.Time
		if p.gate != nil {
			now = p.x.now()
			for n, some := p.x.credits.take(); some; n, some = p.x.credits.take() {
				p.err = errors.Join(p.err, p.gate.Receive(&n, out.Backlog, now))
			}
			if n, some := p.gate.Emit(out.Backlog, now); some {
				p.x.asks.put(n)
			}
		}
		before := at
		for at-before < burst && at-p.x.read.Load() < ahead &&
			(p.gate == nil || p.gate.Ready(&out, now)) {
			if p.gate != nil {
				p.gate.Sent(&out, now)
			}
			copy(p.ring[at%slots*realMessage:], source)
			at++
			p.x.written.Store(at)
		}
		if at == before {
			wait(&spins)
		}
	}
}

// consumer reads them.
type consumer struct {
	*realRun
	x       *exchange
	granter *carc.Granter
	sensor  *carc.Sensor
	lots    *rand.Rand
	result  realResult
	err     error

	// Messages that were read, and those reported to the granter: as arrived and as consumed.
	at, seen, reported uint64
	sum                uint64
}

func (c *consumer) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start, first, reading, spins := time.Now(), uint64(0), time.Duration(0), 0
	for measures := c.warm == 0; ; {
		have := c.x.written.Load()
		now := time.Now()
		if measures && now.Sub(start) > c.lasts || now.Sub(c.x.began) > time.Minute {
			break
		}
		c.report(have)
		if have == c.at || c.behind > 0 && have-c.at < uint64(c.behind)+burst {
			wait(&spins)
			continue
		}
		if !measures && c.at >= c.warm {
			measures = true
			start, first = now, c.at
			c.result = realResult{}
		}
		c.result.most = max(c.result.most, have-c.at)
		c.canary(have)
		begin := time.Now()
		c.round(min(burst, have-c.at))
		if measures {
			reading += time.Since(begin)
		}
		c.x.read.Store(c.at)
	}
	n := time.Duration(max(1, c.at-first))
	c.result.perMessage, c.result.reading = time.Since(start)/n, reading/n
	sink.Store(c.sum)
}

// round reads n messages.
func (c *consumer) round(n uint64) {
	slots := uint64(len(c.ring) / realMessage)
	for range n {
		m := c.ring[c.at%slots*realMessage:][:realMessage]
		for l := 0; l < realMessage; l += 64 {
			c.sum += binary.LittleEndian.Uint64(m[l:])
		}
		for range c.ticks {
			c.sum = c.sum*3 + 1
		}
		c.at++
	}
}

// report reports to the granter what arrived and what was consumed since the previous round, and
// sends its control messages.
func (c *consumer) report(have uint64) {
	if c.granter == nil {
		return
	}
	now := c.x.now()
	for ; c.reported < c.at; c.reported++ {
		c.granter.Consumed(realMessage, now)
	}
	for ; c.seen < have; c.seen++ {
		c.granter.Delivered(realMessage, now)
	}
	for n, some := c.x.asks.take(); some; n, some = c.x.asks.take() {
		c.err = errors.Join(c.err, c.granter.Receive(&n, now))
	}
	if n, some := c.granter.Emit(false, now); some {
		c.x.credits.put(n)
	}
}

// canary times the first touch of a line: any of a message further on, which no prefetcher has
// reached yet.
func (c *consumer) canary(have uint64) {
	further := c.at + burst + c.lots.Uint64N(burst)
	if further >= have {
		return
	}
	slots := uint64(len(c.ring) / realMessage)
	line := c.ring[further%slots*realMessage+c.lots.Uint64N(realMessage/64)*64:]
	before := time.Now()
	c.sum += binary.LittleEndian.Uint64(line)
	took := time.Since(before)
	c.result.canaries++
	if took > c.missed {
		c.result.misses++
	}
	if c.sensor != nil {
		c.sensor.Canary(units.FromStd(took), c.x.now())
	}
}

// sink keeps the compiler from removing the reads.
var sink atomic.Uint64

// wait spins, and yields now and then.
func wait(spins *int) {
	if *spins++; *spins%256 == 0 {
		runtime.Gosched()
	}
}
