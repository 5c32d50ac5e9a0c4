package main

import (
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// mute is a port on which RTSs, TOKENs and CREDITs are lost.
type mute struct {
	packet.Port
	dice   dice
	chance float64
	until  units.Time
	now    func() units.Time
}

// Send implements packet.Port. What is lost has been sent.
func (m *mute) Send(class packet.Class, bufs []packet.Buf) (sent int) {
	for sent < len(bufs) {
		keep := sent
		for keep < len(bufs) && !m.loses(bufs[keep].Data()) {
			keep++
		}
		sent += m.Port.Send(class, bufs[sent:keep])
		if sent < keep {
			return sent
		}
		if keep < len(bufs) {
			m.Port.Free(bufs[keep : keep+1])
			sent++
		}
	}
	return sent
}

func (m *mute) loses(frame []byte) bool {
	var p wire.Packet
	if m.now().After(m.until) || p.Parse(frame) != nil || p.Op != wire.RTS && p.Op != wire.Token &&
		p.Op != wire.CREDIT {
		return false
	}
	return m.dice.chance(m.chance)
}

// stalling is an endpoint that nobody polls now and then.
type stalling struct {
	*transport.Endpoint
	until units.Time
}

// Poll implements fabric.Poller.
func (s *stalling) Poll(now units.Time) units.Time {
	if now.Before(s.until) {
		return s.until
	}
	return s.Endpoint.Poll(now)
}

// Idle implements fabric.Idler: who stalls does not look.
func (s *stalling) Idle(until units.Time) {
	if idler, ok := any(s.Endpoint).(fabric.Idler); ok && !until.Before(s.until) {
		idler.Idle(until)
	}
}

var (
	_ fabric.Poller = (*stalling)(nil)
	_ fabric.Idler  = (*stalling)(nil)
)
