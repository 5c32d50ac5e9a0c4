package perftest

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

const (
	// workPosted is how many receives of a queue pair are posted with --work: more than one poll
	// returns. The other buffers are kept on a stack with the last one read on top, so that an
	// application that needs few buffers uses few, and these stay in the cache.
	workPosted = 64

	// workSlice is how long messages are processed before the next poll. At least one message is.
	workSlice = 10 * units.Microsecond

	leastWorkDepth = 512
	unknownCache   = 32 * units.MiB // if the machine does not report it
)

// validateWork checks that --work suits the test.
func (s *Settings) validateWork(p *problems) {
	if s.Work == 0 {
		return
	}
	p.when(s.Connection != transport.RC, "--connection %v: --work needs RC, where a message "+
		"waits until a receive is posted", s.Connection)
	p.when(s.Test.Verb == Write && !s.WriteWithImm,
		"--work: the receiver must see completions; add --write_with_imm")
	p.when(s.Test.Verb == Write && s.Validate,
		"--data_validation: with --work later WRITEs may overwrite a waiting message")
}

// workDepth returns the default number of buffers of a queue pair: all queue pairs' together take
// twice the last-level cache.
func (s *Settings) workDepth() int {
	llc := machineCache().Size
	if llc == 0 {
		llc = unknownCache
	}
	// Neither largest nor QPs is validated yet.
	stride := (max(1, s.largest()) + cacheLine - 1) / cacheLine * cacheLine
	return min(max(int(2*llc)/stride/max(1, s.QPs), leastWorkDepth), endpoint.MaxQueueDepth)
}

// worker processes received messages with a given time for each.
type worker struct {
	clock func() units.Time
	takes units.Duration
	line  int

	waiting    []arrival // ring
	head, tail int
	// buffers of each queue pair that are not posted; the last is posted next
	free [][]uint32

	unconsumed units.Bytes
	backlog    *hdrhistogram.Histogram // of unconsumed at each arrival
	sojourn    *latencies              // from a message's completion to the end of its processing
	reading    units.Duration
	served     uint64
	sum        byte // of the bytes read, so that reads are not optimised away
}

// arrival is a message waiting to be processed.
type arrival struct {
	wc transport.WorkCompletion
	at units.Time
}

// largestBacklog is the histogram's limit.
const largestBacklog = 16 * int64(units.GiB)

func (l *queueSet) newWorker() *worker {
	s := l.settings
	w := &worker{
		clock: l.host.Now, takes: s.Work, line: cacheLine,
		waiting: make([]arrival, s.RxDepth*len(l.pairs)+1), free: make([][]uint32, len(l.pairs)),
		backlog: hdrhistogram.New(1, largestBacklog, 3), sojourn: newLatencies(),
	}
	for i := range w.free {
		w.free[i] = make([]uint32, 0, s.RxDepth)
		for slot := s.RxDepth - 1; slot >= s.postedReceives(); slot-- {
			w.free[i] = append(w.free[i], uint32(slot))
		}
	}
	return w
}

// push enqueues a message.
func (w *worker) push(wc *transport.WorkCompletion, now units.Time) {
	w.waiting[w.tail] = arrival{*wc, now}
	if w.tail++; w.tail == len(w.waiting) {
		w.tail = 0
	}
	w.unconsumed += units.Bytes(wc.ByteLen)
	_ = w.backlog.RecordValue(min(int64(w.unconsumed), largestBacklog))
}

func (w *worker) idle() bool { return w.head == w.tail }

// pop dequeues the oldest message.
func (w *worker) pop() *arrival {
	a := &w.waiting[w.head]
	if w.head++; w.head == len(w.waiting) {
		w.head = 0
	}
	return a
}

// work reads a message, then spins for its processing time.
func (w *worker) work(message []byte) {
	began := w.clock()
	sum := w.sum
	for i := 0; i < len(message); i += w.line {
		sum += message[i]
	}
	w.sum = sum
	until := w.clock()
	w.reading += until.Sub(began)
	w.served++
	for until = until.Add(w.takes); w.clock().Before(until); {
	}
}

// done records that a message was processed.
func (w *worker) done(a *arrival) {
	w.unconsumed -= units.Bytes(a.wc.ByteLen)
	w.sojourn.record(w.clock().Sub(a.at))
}

// WorkRow is the result of a receiver with --work.
type WorkRow struct {
	Unconsumed struct { // bytes, at each arrival
		P50 int64 `json:"p50"`
		P99 int64 `json:"p99"`
		Max int64 `json:"max"`
	} `json:"unconsumed_bytes"`
	// microseconds, from a message's completion to the end of its processing
	Sojourn Percentiles `json:"sojourn"`
	Reading float64     `json:"reading_ns"`
}

func (w *WorkRow) String() string {
	kib := func(n int64) float64 { return float64(n) / 1024 }
	return fmt.Sprintf("unconsumed [KiB] p50 %.0f, p99 %.0f, max %.0f; until consumed [usec] p50 "+
		"%.2f, p99 %.2f, max %.2f; reading a message %.0f ns",
		kib(w.Unconsumed.P50), kib(w.Unconsumed.P99), kib(w.Unconsumed.Max), w.Sojourn.P50,
		w.Sojourn.P99, w.Sojourn.Max, w.Reading)
}

// worked returns the WorkRow of this end's receivers, nil without --work.
func (r *sizeRun) worked() *WorkRow {
	backlog, sojourn, row := hdrhistogram.New(1, largestBacklog, 3), newLatencies(), &WorkRow{}
	var (
		reading units.Duration
		served  uint64
	)
	for _, m := range r.receivers {
		if w := m.worker; w != nil {
			backlog.Merge(w.backlog)
			sojourn.merge(w.sojourn)
			reading, served = reading+w.reading, served+w.served
		}
	}
	if served == 0 {
		return nil
	}
	row.Unconsumed.P50, row.Unconsumed.P99, row.Unconsumed.Max = backlog.ValueAtQuantile(50),
		backlog.ValueAtQuantile(99), backlog.Max()
	row.Sojourn = sojourn.percentiles()
	row.Reading = reading.Nanoseconds() / float64(served)
	return row
}
