package impair

import (
	"container/heap"

	"github.com/goroce/goroce/units"
)

// frame is a frame that leaves later, in memory of ours.
type frame struct {
	data   []byte
	at     units.Time // when it leaves
	order  uint64     // among frames of one time
	behind int        // packets that must leave before it
	held   bool       // behind is to be counted down
}

// held is the frames of a direction that leave later, the next one first.
type held struct {
	frames []frame
	order  uint64
	free   [][]byte
	bytes  units.Bytes
	behind int // frames that wait to be overtaken
}

// Len implements heap.Interface.
func (h *held) Len() int { return len(h.frames) }

// Less implements heap.Interface.
func (h *held) Less(i, j int) bool {
	a, b := &h.frames[i], &h.frames[j]
	if a.at != b.at {
		return a.at.Before(b.at)
	}
	return a.order < b.order
}

// Swap implements heap.Interface.
func (h *held) Swap(i, j int) { h.frames[i], h.frames[j] = h.frames[j], h.frames[i] }

// Push implements heap.Interface.
func (h *held) Push(x any) { h.frames = append(h.frames, x.(frame)) }

// Pop implements heap.Interface.
func (h *held) Pop() any {
	last := h.frames[len(h.frames)-1]
	h.frames = h.frames[:len(h.frames)-1]
	return last
}

// Limits of what a direction holds.
const (
	maxHeld      = 1 << 16       // frames
	maxHeldBytes = 256 << 20     // of them
	spareBuffers = 1024          // that are kept for reuse
	frameBuffer  = 9216 + 14 + 8 // a jumbo frame
)

// add holds a copy of a frame until a time. It reports whether there was room.
func (h *held) add(data []byte, at units.Time, behind int) bool {
	if len(h.frames) >= maxHeld || h.bytes+units.Bytes(len(data)) > maxHeldBytes {
		return false
	}
	var b []byte
	if n := len(h.free); n > 0 {
		b, h.free = h.free[n-1], h.free[:n-1]
	} else {
		b = make([]byte, 0, frameBuffer)
	}
	h.order++
	if behind > 0 {
		h.behind++
	}
	h.bytes += units.Bytes(len(data))
	heap.Push(h, frame{append(b[:0], data...), at, h.order, behind, behind > 0})
	return true
}

// next returns the frame that leaves next, if it is due.
func (h *held) next(now units.Time) ([]byte, bool) {
	if len(h.frames) == 0 || h.frames[0].at.After(now) {
		return nil, false
	}
	return h.frames[0].data, true
}

// remove removes the frame that leaves next.
func (h *held) remove() {
	f := heap.Pop(h).(frame)
	if f.held {
		h.behind--
	}
	h.bytes -= units.Bytes(len(f.data))
	if len(h.free) < spareBuffers {
		h.free = append(h.free, f.data)
	}
}

// overtake counts a packet that left before those that wait for that, and makes due what has waited
// long enough.
func (h *held) overtake(now units.Time) {
	if h.behind == 0 {
		return
	}
	changed := false
	for i := range h.frames {
		f := &h.frames[i]
		if !f.held {
			continue
		}
		if f.behind--; f.behind <= 0 {
			f.held, f.at, changed = false, now, true
			h.behind--
			h.order++
			f.order = h.order // behind the packet that has just been counted
		}
	}
	if changed {
		heap.Init(h)
	}
}

// deadline returns when the next frame leaves; 0 means never.
func (h *held) deadline() units.Time {
	if len(h.frames) == 0 {
		return 0
	}
	return max(h.frames[0].at, 1)
}
