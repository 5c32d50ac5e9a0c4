package engine

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// watchMost limits the queue pairs that Watch prints.
const watchMost = 16

// glance is what a queue pair has done so far.
type glance struct {
	qp    *transport.QueuePair
	kind  transport.QPType
	state transport.State
	num   uint32
	stats transport.QPStats
}

// Watch prints what the queue pairs do, each time that the interval has passed, until stop is
// called: those that have sent or received most since.
func (e *Engine) Watch(w io.Writer, interval time.Duration) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		var before []glance
		for last := time.Now(); ; {
			select {
			case <-quit:
				return
			case <-ticker.C:
			}
			now, glances := time.Now(), e.glances()
			_, _ = io.WriteString(w, table(before, glances, now.Sub(last), e.Sessions()))
			last, before = now, glances
		}
	}()
	return func() { close(quit); <-ended }
}

// glances reads the queue pairs on the polling core.
func (e *Engine) glances() (all []glance) {
	_ = e.do(func(*transport.Endpoint) {
		for _, s := range e.attached {
			for _, o := range s.objects {
				if o, ok := o.(*queuePair); ok {
					all = append(all, glance{o.QueuePair, o.Type, o.State(), uint32(o.Num),
						o.Stats()})
				}
			}
		}
	})
	return all
}

// since returns what has happened since an earlier reading.
func (g *glance) since(before []glance) (sent, received uint64) {
	sent, received = g.stats.BytesSent, g.stats.BytesIn
	for i := range before {
		if before[i].qp == g.qp {
			sent -= before[i].stats.BytesSent
			received -= before[i].stats.BytesIn
		}
	}
	return sent, received
}

// table formats a reading.
func table(before, now []glance, passed time.Duration, sessions int) string {
	type row struct {
		*glance
		sent, received uint64
	}
	rows := make([]row, len(now))
	for i := range now {
		rows[i].glance = &now[i]
		rows[i].sent, rows[i].received = now[i].since(before)
	}
	slices.SortFunc(rows, func(a, b row) int {
		if x, y := a.sent+a.received, b.sent+b.received; x != y {
			return int(min(max(int64(y-x), -1), 1))
		}
		return int(int64(a.num) - int64(b.num))
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%d programs, %d queue pairs\n%8s %4s %-5s %9s %9s %11s %9s %8s %8s %8s\n",
		sessions, len(rows), "QP", "type", "state", "sent", "received", "window", "delay", "marks",
		"CNPs", "resent")
	rate := func(n uint64) float64 { return float64(n) * 8 / 1e9 / passed.Seconds() }
	for i, r := range rows {
		if i == watchMost {
			fmt.Fprintf(&b, "%8s and %d more\n", "", len(rows)-i)
			break
		}
		c := &r.stats.Congestion
		fmt.Fprintf(&b, "%#8x %4v %-5v %4.2f Gb/s %4.2f Gb/s %11v %9v %8d %8d %8d\n", r.num, r.kind,
			r.state, rate(r.sent), rate(r.received), units.Bytes(c.Window), c.Delay,
			r.stats.MarkedCE, r.stats.CNPs, r.stats.Retransmitted)
	}
	return b.String()
}
