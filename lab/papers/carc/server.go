package carclab

import (
	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/units"
)

// thread is one of the server's threads: it takes the packets of its ring one after the other.
type thread struct {
	m       *model
	queue   *hostmodel.Queue
	busy    bool
	message hostmodel.Message
	lines   int // since the last canary
	done    func()
}

// wake lets a waiting thread begin with the next packet.
func (t *thread) wake() {
	if t.busy || t.m.clock.Now().Before(units.Time(t.m.late)) {
		return
	}
	var ok bool
	if t.message, ok = t.queue.Read(); !ok {
		return
	}
	t.busy = true
	m, now := t.m, t.m.clock.Now()
	p := &m.packets[t.message.Tag]
	c := p.conn
	hits, misses := t.message.Lines-t.message.Missed, t.message.Missed
	class := &m.classes[c.class]
	class.packets++
	class.lines += t.message.Lines
	class.missed += t.message.Missed
	if c.copied != nil {
		for range t.message.Lines {
			class.touched++
			if c.copied.Step() {
				hits++
			} else {
				class.untouched++
				misses++
			}
		}
	}
	took := perPacket + m.reading(hits, misses, now) +
		units.Duration(float64(c.ticks)/tickRate*float64(units.Second))
	if c.walks {
		for range t.message.Lines {
			m.walk.Step()
		}
	}
	// One line in sixteen is a canary, so that short messages do not stand for long ones. Lines of
	// a message hit or miss alike.
	if t.lines += t.message.Lines; m.credits != nil && t.lines >= 16 {
		t.lines = 0
		canary := lineHit
		if 2*t.message.Missed > t.message.Lines {
			canary = lineMiss
		}
		m.credits.Sensor().Canary(canary, now)
	}
	class.busy += took
	if p.marked {
		class.marked++
	}
	m.clock.At(now.Add(took), t.done)
}

// finish handles a packet that the thread is done with: its buffer is free, and its sender gets a
// response.
func (t *thread) finish() {
	m, now := t.m, t.m.clock.Now()
	t.busy = false
	t.queue.Release(t.message)
	p := &m.packets[t.message.Tag]
	c := p.conn
	if c.granter != nil {
		c.granter.Consumed(c.packet, now)
		c.scheduleCredit()
	}
	// eRPC replies to all but the last packet of a flow with a credit return, which is a header.
	size := units.Bytes(0)
	if p.last {
		size = c.answer
	}
	if m.answers.Before(now) {
		m.answers = now
	}
	m.answers = m.answers.Add(m.link.Duration(size + overhead))
	m.responses.put(m.answers.Add(oneWay), t.message.Tag)
	t.wake()
}
