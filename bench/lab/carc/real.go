package carclab

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// realMessage is the length of a message on this machine.
const realMessage = 4096

// realRun is a producer that copies messages into a ring and a consumer that reads all of each, on a core of their own.
type realRun struct {
	ring  []byte // whole messages
	ticks int    // of processing, in loops of an addition
	// The consumer begins with 16 messages when so many are there beyond behind, and the producer has at most twice as many.
	// 0: the ring is what holds the producer back, or credits are.
	behind  int
	credits string
	llc     units.Bytes   // that credits are for
	missed  time.Duration // a first touch that takes longer was one of memory
	lasts   time.Duration
	warm    int // messages that are not measured
}

// realResult is what the consumer found.
type realResult struct {
	perMessage       time.Duration // of all the time
	reading          time.Duration // of the consumer's own, only with behind
	canaries, misses int
	most             int // messages that were unconsumed
}

// mailbox brings notices from one core to another.
type mailbox struct {
	head, tail atomic.Uint64
	box        [64]cc.Notice
}

func (b *mailbox) put(n cc.Notice) {
	if at := b.head.Load(); at-b.tail.Load() < uint64(len(b.box)) { // else it is lost, which does no harm
		b.box[at%uint64(len(b.box))] = n
		b.head.Store(at + 1)
	}
}

func (b *mailbox) take() (n cc.Notice, some bool) {
	at := b.tail.Load()
	if at == b.head.Load() {
		return n, false
	}
	n = b.box[at%uint64(len(b.box))]
	b.tail.Store(at + 1)
	return n, true
}

// quiet is who needs no reports.
type quiet struct{}

func (quiet) Report(*cc.Event, units.Time) {}
func (quiet) Ask()                         {}

// run runs it.
func (r realRun) run() (realResult, error) {
	var (
		written, read atomic.Uint64
		stop          atomic.Bool
		credit, asks  mailbox
		gate          *carc.Gate
		granter       *carc.Granter
		sensor        *carc.Sensor
	)
	if r.credits != "" {
		spec, err := carc.Parse(r.credits)
		if err != nil {
			return realResult{}, err
		}
		e := spec.On(carc.Cache{Size: r.llc, Line: 64}).Endpoint()
		path := cc.Path{LineRate: 400 * gbps, BaseRTT: 2 * us, Payload: realMessage}
		if gate, granter, err = e.New(path); err != nil {
			return realResult{}, err
		}
		granter.Attach(quiet{})
		terms := granter.Terms()
		granter.Agree(terms)
		gate.Agree(terms)
		sensor = e.Sensor()
		sensor.Calibrate(units.FromStd(r.missed), units.FromStd(r.missed))
	}
	began := time.Now()
	clock := func() units.Time { return units.Time(1).Add(units.FromStd(time.Since(began))) }
	slots := uint64(len(r.ring) / realMessage)
	ahead := slots
	if r.behind > 0 {
		ahead = uint64(r.behind) + 32
	}
	done := make(chan struct{})
	go func() { // the producer
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		source := make([]byte, realMessage)
		out := cc.Outgoing{Bytes: realMessage, Message: realMessage, Completes: true, Backlog: cc.Backlog{Waits: units.GiB}}
		for at, spins := uint64(0), 0; !stop.Load(); {
			ready := at-read.Load() < ahead
			if gate != nil {
				now := clock()
				for n, some := credit.take(); some; n, some = credit.take() {
					_ = gate.Hear(&n, out.Backlog, now)
				}
				if ready = ready && gate.Ready(&out, now); ready {
					gate.Took(&out, now)
				} else if n, some := gate.Emit(out.Backlog, now); some {
					asks.put(n)
				}
			}
			if !ready {
				wait(&spins)
				continue
			}
			copy(r.ring[at%slots*realMessage:], source)
			at++
			written.Store(at)
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var (
		result   realResult
		sum      uint64
		at, seen uint64
		first    uint64
		start    = time.Now()
		batch    time.Time
		lots     = rand.New(rand.NewPCG(1, 2))
		reading  time.Duration
	)
	for spins := 0; ; {
		if granter != nil && at%16 == 0 || spins > 0 && granter != nil {
			now := clock()
			for n, some := asks.take(); some; n, some = asks.take() {
				_ = granter.Hear(&n, now)
			}
			if n, some := granter.Emit(false, now); some {
				credit.put(n)
			}
		}
		have := written.Load()
		if have == at || r.behind > 0 && at%16 == 0 && have-at < uint64(r.behind)+16 {
			wait(&spins)
			if spins%1024 == 0 && time.Since(start) > r.lasts {
				break
			}
			continue
		}
		spins = 0
		result.most = max(result.most, int(have-at))
		m := r.ring[at%slots*realMessage:][:realMessage]
		if at%16 == 0 {
			if time.Since(start) > r.lasts && at > uint64(r.warm) {
				break
			}
			// The canary is any line of a message further on, where no prefetcher is yet.
			line := 0
			if further := at + 8 + lots.Uint64N(16); further < have {
				line = int(further%slots*realMessage + lots.Uint64N(realMessage/64)*64)
			} else {
				line = int(at % slots * realMessage)
			}
			before := time.Now()
			sum += binary.LittleEndian.Uint64(r.ring[line:])
			took := time.Since(before)
			if at >= uint64(r.warm) {
				result.canaries++
				if took > r.missed {
					result.misses++
				}
			}
			if sensor != nil {
				sensor.Canary(units.FromStd(took), clock())
			}
		}
		if granter != nil {
			now := clock()
			for ; seen < have; seen++ {
				granter.Delivered(realMessage, true, now)
			}
		}
		if at == uint64(r.warm) {
			first, start = at, time.Now()
		}
		if r.behind > 0 && at%16 == 0 {
			batch = time.Now()
		}
		for l := 0; l < realMessage; l += 64 {
			sum += binary.LittleEndian.Uint64(m[l:])
		}
		for range r.ticks {
			sum = sum*3 + 1
		}
		if granter != nil {
			granter.Consumed(realMessage, clock())
		}
		at++
		if r.behind > 0 && at%16 == 0 && at > first+16 {
			reading += time.Since(batch)
		}
		read.Store(at)
	}
	result.perMessage = time.Since(start) / time.Duration(max(1, at-first))
	result.reading = reading / time.Duration(max(1, (at-first)/16*16))
	stop.Store(true)
	<-done
	sink.Store(sum)
	return result, nil
}

// sink keeps what is read from being no work.
var sink atomic.Uint64

// wait spins, and lets others in now and then.
func wait(spins *int) {
	if *spins++; *spins%256 == 0 {
		runtime.Gosched()
	}
}
