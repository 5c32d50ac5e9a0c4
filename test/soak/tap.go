package main

import (
	"bytes"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
)

// tapFrames is the number of recent frames that a tap stores.
const tapFrames = 64

// tap is a port that stores copies of the newest frames sent.
type tap struct {
	packet.Port
	frames [tapFrames][]byte
	count  int
}

// Send implements packet.Port.
func (t *tap) Send(class packet.Class, bufs []packet.Buf) int {
	var copies [packet.Burst][]byte // Send transfers ownership of bufs
	for i := range bufs {
		copies[i] = bytes.Clone(bufs[i].Data())
	}
	sent := t.Port.Send(class, bufs)
	for i := range sent {
		t.frames[t.count%tapFrames] = copies[i]
		t.count++
	}
	return sent
}

// reset drops all frames, because queue pair numbers are reused.
func (t *tap) reset() {
	if t != nil {
		t.count = 0
	}
}

// draw returns a random stored frame to a queue pair. It tries a few frames and returns false if
// none matches.
func (t *tap) draw(r rng, to wire.QPN) ([]byte, bool) {
	n := min(t.count, tapFrames)
	for range min(n, 8) {
		var p wire.Packet
		if frame := t.frames[r.IntN(n)]; p.Parse(frame) == nil && p.DestQP == to {
			return frame, true
		}
	}
	return nil, false
}
