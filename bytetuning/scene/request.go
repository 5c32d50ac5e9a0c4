package scene

import (
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// Request is a message that was sent alone on its queue pair, and acknowledged.
type Request struct{ Begun, Done units.Time }

// Took returns its completion time.
func (q Request) Took() units.Duration { return q.Done.Sub(q.Begun) }

// request makes a connection that sends one message after another, with at least the scene's
// interval between their starts.
func (t *Target) request(r *Run, from, to int) (*sim.Conn, error) {
	c, err := r.Cluster.Connect(from, to)
	if err != nil {
		return nil, err
	}
	w := &sim.Writer{Conn: c, Bytes: t.Message, Depth: 1, Every: t.Interval,
		Ended: func(posted, ended units.Time) {
			r.Requests = append(r.Requests, Request{posted, ended})
		}}
	w.Begin(0)
	return c, nil
}
