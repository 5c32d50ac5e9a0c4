package copa

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

func init() {
	cc.Register(cc.Registration{Name: "copa", Title: "a window by delay (Copa, NSDI'18)",
		Needs: cc.SignalDelay, New: func() cc.Blueprint { return &Copa{} }})
}

// Copa is the state of one flow.
type Copa struct {
	Delta   float64        // 1/Delta packets are in the queue at the fixed point
	Window  cc.Packets     // first the parameter init_cwnd
	Samples int            // of the delay
	packet  units.Bytes    // its payload
	base    units.Duration // least delay so far: the path with empty queues
}

// Declare implements cc.Blueprint.
func (c *Copa) Declare(s *cc.Settings) {
	s.Param(&c.Delta, "delta", "0.5", "(0, 1]", "Copa, section 2.1",
		"the inverse of packets to queue")
	s.Param(&c.Window, "init_cwnd", "1BDP", "(0, inf)", "OURS", "window of a flow that begins")
}

// Build implements cc.Blueprint.
func (c *Copa) Build(path cc.Path) cc.Algorithm {
	c.packet, c.base = path.Payload, path.BaseRTT
	return c
}

// Events implements cc.Algorithm: acknowledgements with a delay.
func (c *Copa) Events() cc.EventSet { return cc.Events(cc.RTT) }

// Start implements cc.Starter.
func (c *Copa) Start(units.Time) cc.Decision {
	return cc.Decision{Window: units.Bytes(float64(c.Window) * float64(c.packet))}
}

// On implements cc.Algorithm: each packet moves the window by 1/(delta*window) toward the target.
func (c *Copa) On(ev *cc.Event, now units.Time) cc.Decision {
	if delay := ev.Delay - ev.Endpoint; delay > 0 { // without what passed in hosts
		c.Samples++
		c.base = min(c.base, delay)
		step := cc.Packets(float64(ev.Packets) / (c.Delta * float64(c.Window)))
		// window/delay > target
		if c.Delta*float64(c.Window)*float64(delay-c.base) > float64(delay) {
			step = -step
		}
		c.Window = max(1, c.Window+step)
	}
	return c.Start(now)
}
