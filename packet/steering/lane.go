package steering

import (
	"sync/atomic"

	"github.com/goroce/goroce/packet"
)

// laneDepth is how many frames of one queue may wait for a port: some for which the port's core
// does something else for a while. It is a power of 2.
const laneDepth = 512

// cacheLine is the unit of sharing between cores.
const cacheLine = 64

// lane is a queue of frames from one port at a time to another.
type lane struct {
	slots []packet.Buf
	_     [cacheLine - 24]byte
	added atomic.Uint32 // frames ever put
	_     [cacheLine - 4]byte
	taken atomic.Uint32 // frames ever taken
	_     [cacheLine - 4]byte
}

// put appends a frame, and reports whether there was room.
func (l *lane) put(b packet.Buf) bool {
	at := l.added.Load()
	if at-l.taken.Load() == laneDepth {
		return false
	}
	l.slots[at%laneDepth] = b
	l.added.Store(at + 1)
	return true
}

// take moves the oldest frames into bufs and returns how many.
func (l *lane) take(bufs []packet.Buf) int {
	at := l.taken.Load()
	n := min(len(bufs), int(l.added.Load()-at))
	for i := range n {
		bufs[i] = l.slots[(at+uint32(i))%laneDepth]
	}
	if n > 0 {
		l.taken.Store(at + uint32(n))
	}
	return n
}

// room returns how many frames may be put.
func (l *lane) room() int { return laneDepth - int(l.added.Load()-l.taken.Load()) }
