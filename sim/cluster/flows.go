package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// Running is a flow in progress, or done.
type Running struct {
	workload.Flow
	Conn *Conn      // that carries it
	Done units.Time // when its last message completed

	posted      units.Bytes
	outstanding int
}

// Received answers the payload bytes that the connection has brought so far, all its flows
// together: what Network.SampleRate makes a time series of.
func (c *Conn) Received() uint64 { return c.Remote.Stats().BytesIn }

// Stop makes a flow end with the messages that are posted already.
func (f *Running) Stop() { f.Bytes = f.posted }

// Drive starts every flow of a source at its time, and calls done, when it is not nil, as each
// ends. The flows' times count from the present.
func (c *Cluster) Drive(source workload.Source, done func(*Running)) {
	reactive, _ := source.(workload.Reactive)
	epoch := c.Net.Now()
	var next func()
	due := units.Time(-1) // what is waited for; to wait twice would be to wait ever more often
	wait := func(at units.Time) {
		if at == due {
			return
		}
		due = at
		c.Net.At(epoch.Add(units.Duration(at)), func() {
			if at == due {
				due = -1
			}
			next()
		})
	}
	c.done = func(f *Running) {
		if done != nil {
			done(f)
		}
		if reactive != nil {
			reactive.Done(f.Flow, units.Time(c.Net.Now().Sub(epoch)))
			next()
		}
	}
	var ahead workload.Flow
	have := false
	next = func() {
		for {
			if reactive != nil {
				at, ok := reactive.Peek()
				if !ok {
					return
				}
				if epoch.Add(units.Duration(at)).After(c.Net.Now()) {
					wait(at)
					return
				}
				f, _ := reactive.Next()
				c.begin(f)
				continue
			}
			if have {
				c.begin(ahead)
			}
			if ahead, have = source.Next(); !have {
				return
			}
			if epoch.Add(units.Duration(ahead.At)).After(c.Net.Now()) {
				wait(ahead.At)
				return
			}
		}
	}
	next()
}

// begin posts a flow on a connection that is idle, or a new one.
func (c *Cluster) begin(f workload.Flow) {
	if _, err := c.Start(f); err != nil {
		c.Errors = append(c.Errors, err)
	}
}

// Start posts a flow now.
func (c *Cluster) Start(f workload.Flow) (*Running, error) {
	n := c.Nodes[f.Src]
	var conn *Conn
	if c.config.Serve != nil {
		var err error
		if conn, err = c.connect(f.Src, f.Dst, c.config.Serve(f)); err != nil {
			return nil, err
		}
	} else if free := n.idle[f.Dst]; len(free) > 0 {
		conn = free[len(free)-1]
		n.idle[f.Dst] = free[:len(free)-1]
	} else {
		var err error
		if conn, err = c.Connect(f.Src, f.Dst); err != nil {
			return nil, err
		}
	}
	conn.flow = &Running{Flow: f, Conn: conn}
	c.running++
	if err := n.post(conn); err != nil {
		return nil, err
	}
	n.Host.Wake()
	return conn.flow, nil
}

// Finish lets time pass until over says so, which is asked every 20 µs. Otherwise it answers the
// context's error, that of a flow that failed, why the run is not to be trusted, or that it takes
// longer than the longest time.
func (c *Cluster) Finish(ctx context.Context, longest units.Duration,
	over func(now units.Time) bool) error {
	begin, done, asks := c.Net.Now(), false, true
	c.Net.Every(20*units.Microsecond, func(now units.Time) bool {
		if !asks { // any more
			return false
		}
		done = over(now)
		if done || ctx.Err() != nil || len(c.Errors) > 0 {
			c.Net.Stop()
		}
		return true
	})
	err := c.Net.Run(begin.Add(longest))
	asks = false
	switch {
	case err != nil && !errors.Is(err, fabric.ErrStopped):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case len(c.Errors) > 0:
		return fmt.Errorf("%d flows failed, the first: %w", len(c.Errors), c.Errors[0])
	case !done:
		return fmt.Errorf("cluster: not over after %v, %d flows run", longest, c.running)
	}
	return nil
}

// Running answers how many flows have begun and not ended.
func (c *Cluster) Running() int { return c.running }

func (c *Cluster) finished(f *Running) {
	c.running--
	if c.done != nil {
		c.done(f)
	}
}

func (c *Cluster) failed(conn *Conn, err error) {
	c.Errors = append(c.Errors, err)
	conn.flow = nil
	c.running--
}

// frameOverhead is what a packet of a WRITE has besides payload in a Buf: Ethernet, IPv4, UDP, BTH,
// ICRC; the first also a RETH, the ACK an AETH instead.
const (
	frameOverhead = 14 + 20 + 8 + 12 + 4
	rethLen       = 16
	aethLen       = 4
)

// Ideal answers how long the flow would take alone: a full packet to the other host and its ACK
// back, and all its payload at the slowest link, with the headers that go with it.
func (c *Cluster) Ideal(f workload.Flow) units.Duration {
	mtu := c.config.PathMTU
	last := min(f.Bytes, mtu)
	rtt := c.Net.BaseRTT(f.Src, f.Dst, last+frameOverhead+rethLen, frameOverhead+aethLen)
	wire := (f.Bytes - last) * (mtu + frameOverhead + onWire) / mtu
	return rtt + c.Net.Bottleneck(f.Src, f.Dst).Duration(wire)
}

// onWire is Ethernet's check sequence, preamble and gap.
const onWire = 24
