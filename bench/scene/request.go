package scene

import (
	"fmt"

	"github.com/goroce/goroce/bench/cluster"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Request is a message that was sent alone on its queue pair, and acknowledged.
type Request struct{ Begun, Done units.Time }

// Took is its completion time.
func (q Request) Took() units.Duration { return q.Done.Sub(q.Begun) }

// request makes a connection that sends one message after the other, each no sooner than the scene's interval after the
// last.
func (t *Target) request(r *Run, from, to int) (*cluster.Conn, error) {
	c, err := r.Cluster.Connect(from, to)
	if err != nil {
		return nil, err
	}
	var begun units.Time
	send := func() {
		begun = r.Net.Now()
		if err := c.Write(t.Message); err != nil {
			r.Cluster.Errors = append(r.Cluster.Errors, err)
		}
	}
	c.Written = func(status transport.Status, now units.Time) {
		if status != transport.StatusSuccess {
			r.Cluster.Errors = append(r.Cluster.Errors, fmt.Errorf("scene: a request of %v: %v", t.Message, status))
			return
		}
		r.Requests = append(r.Requests, Request{begun, now})
		if next := begun.Add(t.Interval); next.After(now) {
			r.Net.At(next, send)
			return
		}
		send()
	}
	r.Net.At(0, send)
	return c, nil
}
