package tocc

import (
	"fmt"

	"github.com/goroce/goroce/bench/cluster"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// writer is what a perftest program does on one queue pair: WRITEs of one size.
type writer struct {
	conn  *cluster.Conn
	bytes units.Bytes
	depth int            // messages that may be outstanding
	every units.Duration // between the posts of two, at least; 0 posts whenever there is room
	think units.Duration // from the end of one to the post of the next
	ended func(posted, ended units.Time)

	net     *fabric.Network
	posted  []units.Time // of those outstanding
	overdue bool
	failed  func(error)
}

// begin posts the first message at a time, or as many as may be outstanding.
func (w *writer) begin(at units.Time) {
	w.conn.Written = w.written
	first := w.depth
	if w.every > 0 || w.think > 0 {
		first = 1
	}
	w.net.At(at, func() {
		for range first {
			w.post()
		}
	})
}

func (w *writer) post() {
	if w.overdue = len(w.posted) == w.depth; w.overdue {
		return
	}
	w.posted = append(w.posted, w.net.Now())
	if err := w.conn.Write(w.bytes); err != nil {
		w.failed(err)
	}
	if w.every > 0 {
		w.net.At(w.net.Now().Add(w.every), w.post)
	}
}

func (w *writer) written(status transport.Status, now units.Time) {
	if status != transport.StatusSuccess {
		w.failed(fmt.Errorf("a write of %v to %v: %v", w.conn.From.Host, w.conn.To.Host, status))
		return
	}
	posted := w.posted[0]
	w.posted = w.posted[:copy(w.posted, w.posted[1:])]
	w.ended(posted, now)
	switch {
	case w.think > 0:
		w.net.At(now.Add(w.think), w.post)
	case w.every == 0 || w.overdue:
		w.post()
	}
}
