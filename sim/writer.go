package sim

import (
	"fmt"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Writer posts WRITEs of one size on one queue pair, like a perftest program. If one fails, the
// error is added to the simulation's Errors, and the Writer stops.
type Writer struct {
	Conn  *Conn
	Bytes units.Bytes
	Depth int            // maximum number of outstanding messages
	Every units.Duration // minimum time between two posts; 0 means none
	Think units.Duration // time from the end of a message to the post of the next
	Ended func(posted, ended units.Time)

	posted  []units.Time // times of the outstanding messages
	overdue bool
	stop    units.Time // end of its posts, unless 0
}

// Begin posts, at a time, the first message or as many as may be outstanding.
func (w *Writer) Begin(at units.Time) {
	w.Conn.Written = w.written
	first := w.Depth
	if w.Every > 0 || w.Think > 0 {
		first = 1
	}
	w.simulation().Net.At(at, func() {
		for range first {
			w.post()
		}
	})
}

func (w *Writer) simulation() *Simulation { return w.Conn.From.sim }

func (w *Writer) post() {
	if w.overdue = len(w.posted) == w.Depth; w.overdue {
		return
	}
	net := w.simulation().Net
	if w.stop > 0 && !net.Now().Before(w.stop) {
		return
	}
	w.posted = append(w.posted, net.Now())
	if err := w.Conn.Write(w.Bytes); err != nil {
		w.failed(err)
		return
	}
	if w.Every > 0 {
		net.At(net.Now().Add(w.Every), w.post)
	}
}

func (w *Writer) failed(err error) { w.simulation().Errors = append(w.simulation().Errors, err) }

func (w *Writer) written(status transport.Status, now units.Time) {
	if status != transport.StatusSuccess {
		w.failed(fmt.Errorf("a write of %v to %v: %v", w.Conn.From.Host, w.Conn.To.Host, status))
		return
	}
	posted := w.posted[0]
	w.posted = w.posted[:copy(w.posted, w.posted[1:])]
	w.Ended(posted, now)
	switch {
	case w.Think > 0:
		w.simulation().Net.At(now.Add(w.Think), w.post)
	case w.Every == 0 || w.overdue:
		w.post()
	}
}
