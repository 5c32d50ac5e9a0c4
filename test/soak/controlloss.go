package main

import (
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// controlLossPort is a port that loses RTS, TOKEN and CREDIT packets.
type controlLossPort struct {
	packet.Port
	rng         rng
	probability float64
	until       units.Time
	now         func() units.Time
}

// Send implements packet.Port. Lost packets count as sent.
func (m *controlLossPort) Send(class packet.Class, bufs []packet.Buf) (sent int) {
	for sent < len(bufs) {
		keep := sent
		for keep < len(bufs) && !m.isLost(bufs[keep].Data()) {
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

func (m *controlLossPort) isLost(frame []byte) bool {
	var p wire.Packet
	if m.now().After(m.until) || p.Parse(frame) != nil || p.Op != wire.RTS && p.Op != wire.Token &&
		p.Op != wire.CREDIT {
		return false
	}
	return m.rng.chance(m.probability)
}

// stallingEndpoint is an endpoint that is not polled until a time.
type stallingEndpoint struct {
	*transport.Endpoint
	until units.Time
}

// Poll implements fabric.Poller.
func (s *stallingEndpoint) Poll(now units.Time) units.Time {
	if now.Before(s.until) {
		return s.until
	}
	return s.Endpoint.Poll(now)
}

// Idle implements fabric.Idler. A stalled host does not check for frames.
func (s *stallingEndpoint) Idle(until units.Time) {
	if idler, ok := any(s.Endpoint).(fabric.Idler); ok && !until.Before(s.until) {
		idler.Idle(until)
	}
}

var (
	_ fabric.Poller = (*stallingEndpoint)(nil)
	_ fabric.Idler  = (*stallingEndpoint)(nil)
)
