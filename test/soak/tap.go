package main

import (
	"bytes"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
)

// tapped is how many frames of a host are remembered.
const tapped = 64

// tap is a port whose newest frames somebody else can see.
type tap struct {
	packet.Port
	frames [tapped][]byte
	count  int
}

// Send implements packet.Port.
func (t *tap) Send(class packet.Class, bufs []packet.Buf) int {
	var copies [packet.Burst][]byte // before the port has them
	for i := range bufs {
		copies[i] = bytes.Clone(bufs[i].Data())
	}
	sent := t.Port.Send(class, bufs)
	for i := range sent {
		t.frames[t.count%tapped] = copies[i]
		t.count++
	}
	return sent
}

// forget drops all frames: numbers of queue pairs are used again.
func (t *tap) forget() {
	if t != nil {
		t.count = 0
	}
}

// draw returns one of the frames to a queue pair, and false when there is none among those that it
// looked at.
func (t *tap) draw(d dice, to wire.QPN) ([]byte, bool) {
	n := min(t.count, tapped)
	for range min(n, 8) {
		var p wire.Packet
		if frame := t.frames[d.IntN(n)]; p.Parse(frame) == nil && p.DestQP == to {
			return frame, true
		}
	}
	return nil, false
}
