package rdmacm

import "github.com/goroce/goroce/units"

// expire is called when the deadline passed.
func (c *Conn) expire(now units.Time) {
	m := c.machine
	if c.repeat != nil && c.retriesLeft > 0 && (c.state != repSent || now.Before(c.limit)) {
		c.retriesLeft--
		c.mraSeen = false
		m.counters.Retransmitted++
		c.send(c.repeat)
		c.await(c.patience, now)
		return
	}
	switch c.state {
	case reqSent:
		c.sendREJ(Timeout, nil)
		c.tell(Event{Kind: Unreachable, Reason: Timeout})
		m.remove(c)
	case reqRcvd, repRcvd: // the program never decided; the peer did nothing wrong
		c.sendREJ(ConsumerReject, nil)
		c.tell(Event{Kind: Unreachable, Reason: ConsumerReject})
		m.remove(c)
	case repSent:
		c.sendREJ(Timeout, nil)
		c.tell(Event{Kind: Unreachable, Reason: Timeout})
		c.enterTimewait(now)
	case dreqSent:
		c.tell(Event{Kind: Disconnected, Reason: Timeout})
		c.enterTimewait(now)
	case timewait:
		c.tell(Event{Kind: TimewaitExit})
		m.remove(c)
	}
}
