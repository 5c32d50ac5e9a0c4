package fabric

import (
	"fmt"

	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/units"
)

// events records what ports and switches do in the ring of an event log.
type events struct {
	ring   *trace.Ring
	places map[any]trace.Place // of *Port and *Switch
}

// SetTrace makes the network record drops, marks and pauses in a ring. nil records nothing.
func (n *Network) SetTrace(ring *trace.Ring) {
	n.events = nil
	if ring != nil {
		n.events = &events{ring: ring, places: map[any]trace.Place{}}
	}
}

// record records an event of a *Port or *Switch, if the network has a log.
func (n *Network) record(kind trace.Kind, at fmt.Stringer, prio uint8, size units.Bytes,
	d units.Duration) {
	e := n.events
	if e == nil {
		return
	}
	place, ok := e.places[at]
	if !ok {
		place = e.ring.Place(at.String())
		e.places[at] = place
	}
	ev := trace.Event{At: n.now, Kind: kind, Place: place, Class: prio, Bytes: size, Delay: d}
	if kind == trace.FrameDropped {
		ev.Reason = trace.BufferFull
	}
	e.ring.Record(&ev)
}

// String returns the node's name and the number of the port.
func (p *Port) String() string {
	if p.sw != nil {
		return fmt.Sprintf("%s:%d", p.sw.name, p.index)
	}
	return fmt.Sprintf("%v:%d", p.host, p.index)
}
