package rdmacm

import "github.com/goroce/goroce/units"

// expire handles the deadline of the connection.
func (c *Conn) expire(now units.Time) {
	m := c.machine
	if c.repeat != nil && c.retriesLeft > 0 && (c.state != repSent || now.Before(c.limit)) {
		c.retriesLeft--
		c.mraSeen = false
		m.counters.Retransmitted++
		c.send(c.repeat)
		c.scheduleExpiry(c.tryTimeout, now)
		return
	}
	if c.lookup != nil {
		c.lookup.expire()
		return
	}
	switch c.state {
	case reqSent:
		c.sendREJ(Timeout, nil)
		c.notify(Event{Kind: Unreachable, Reason: Timeout})
		m.remove(c)
	case reqRcvd, repRcvd: // the program did not decide
		c.sendREJ(ConsumerReject, nil)
		c.notify(Event{Kind: Unreachable, Reason: ConsumerReject})
		m.remove(c)
	case repSent:
		c.sendREJ(Timeout, nil)
		c.notify(Event{Kind: Unreachable, Reason: Timeout})
		c.enterTimewait(now)
	case dreqSent:
		c.notify(Event{Kind: Disconnected, Reason: Timeout})
		c.enterTimewait(now)
	case timewait:
		c.notify(Event{Kind: TimewaitExit})
		m.remove(c)
	}
}
