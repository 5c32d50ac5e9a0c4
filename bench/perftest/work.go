package perftest

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

const (
	// workPosted is how many receives of a queue pair are posted where its program works: more than
	// a poll brings. The rest of its buffers wait in a pile, the one that was read last on top: who
	// needs few has few, and they stay warm.
	workPosted = 64

	// workSlice is how long a program works on messages before it polls again; on one message at
	// least.
	workSlice = 10 * units.Microsecond

	leastWorkDepth = 512
	unknownCache   = 32 * units.MiB // where the machine does not tell
)

// validateWork says where nobody could work.
func (s *Settings) validateWork(p *problems) {
	if s.Work == 0 {
		return
	}
	p.when(s.Work < 0 || s.Work > units.Second, "--work %v: want 0 to 1s", s.Work)
	p.when(s.Connection != transport.RC, "--connection %v: --work needs RC, where a message "+
		"waits until a receive is posted", s.Connection)
	p.when(s.Test.Verb == Write && !s.WriteWithImm,
		"--work: the receiver of a WRITE hears nothing of it; give --write_with_imm")
	p.when(s.Test.Verb == Write && s.Validate,
		"--data_validation: with --work a WRITE lies where another may come before its turn")
}

// workDepth is how many buffers a queue pair has where nobody says: all of them together twice what
// the last-level cache holds.
func (s *Settings) workDepth() int {
	llc := machineCache().Size
	if llc == 0 {
		llc = unknownCache
	}
	// neither this nor QPs is checked yet
	stride := (max(1, s.largest()) + cacheLine - 1) / cacheLine * cacheLine
	return min(max(int(2*llc)/stride/max(1, s.QPs), leastWorkDepth), transport.MaxQueueDepth)
}

// worker is a receiving program that takes its time with each message.
type worker struct {
	clock func() units.Time
	takes units.Duration
	line  int

	waiting    []arrival // a ring
	head, tail int
	// of each queue pair, the buffers that are not posted: the one to post next is the last
	free [][]uint32

	unconsumed units.Bytes
	backlog    *hdrhistogram.Histogram // of unconsumed, whenever a message came
	sojourn    *latencies              // of a message, from its completion to the end of its work
	reading    units.Duration
	served     uint64
	sum        byte // of what was read
}

// arrival is a message that waits for its turn.
type arrival struct {
	wc transport.WorkCompletion
	at units.Time
}

// largestBacklog is what a histogram tells apart.
const largestBacklog = 16 * int64(units.GiB)

func (l *lane) newWorker() *worker {
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

// push has a message wait for its turn.
func (w *worker) push(wc *transport.WorkCompletion, now units.Time) {
	w.waiting[w.tail] = arrival{*wc, now}
	if w.tail++; w.tail == len(w.waiting) {
		w.tail = 0
	}
	w.unconsumed += units.Bytes(wc.ByteLen)
	_ = w.backlog.RecordValue(min(int64(w.unconsumed), largestBacklog))
}

func (w *worker) idle() bool { return w.head == w.tail }

// pop takes the oldest that waits.
func (w *worker) pop() *arrival {
	a := &w.waiting[w.head]
	if w.head++; w.head == len(w.waiting) {
		w.head = 0
	}
	return a
}

// work reads a message, and then takes its time.
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

// done notes that a message's work is over.
func (w *worker) done(a *arrival) {
	w.unconsumed -= units.Bytes(a.wc.ByteLen)
	w.sojourn.record(w.clock().Sub(a.at))
}

// WorkRow is how messages fared at a receiver that works.
type WorkRow struct {
	Unconsumed struct { // bytes, whenever a message came
		P50 int64 `json:"p50"`
		P99 int64 `json:"p99"`
		Max int64 `json:"max"`
	} `json:"unconsumed_bytes"`
	// microseconds, from a message's completion to the end of its work
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

// worked is how messages fared at this end's receivers; nil when they do not work.
func (r *round) worked() *WorkRow {
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
