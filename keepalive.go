package goroce

import (
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// defaultKeepAlive is Options.KeepAlive's default, that of Go's TCP connections.
const defaultKeepAlive = 15 * units.Second

// probeQuiet probes the connections from which nothing has been heard for Options.KeepAlive, and
// sets the time of the next call.
func (w *worker) probeQuiet(now units.Time) {
	w.probes = now.Add(units.Forever)
	for c := range w.conns {
		if c.keepAlive > 0 {
			w.probes = units.Earlier(w.probes, c.probeQuiet(now))
		}
	}
}

// probeQuiet sends a zero-length WRITE if it is time, and returns the time of the next. The peer's
// program does not notice it, but its acknowledgement shows that the peer is alive; without one the
// queue pair fails after its retries, and with it the connection. An operation in flight serves as
// well.
func (c *Conn) probeQuiet(now units.Time) units.Time {
	next := c.heard.Add(c.keepAlive)
	if now.Before(next) {
		return next
	}
	c.heard = now
	if c.posted.Len() == 0 && c.qp != nil && c.qp.State() == transport.ReadyToSend && c.begin() {
		c.w.probe = request{conn: c, op: transport.OpWrite, tag: untagged}
		c.issue(&c.w.probe)
	}
	return now.Add(c.keepAlive)
}
