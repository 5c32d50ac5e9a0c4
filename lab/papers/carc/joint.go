package carclab

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// joint is a receiver of tokens that grants them only while there is room in its part of the cache:
// what it granted and its program has not consumed, except what the sender discarded, fits into it.
// So one grant covers both, and tokens do not age while data waits for credits.
type joint struct {
	cc.Granter
	room     units.Bytes
	limit    uint32 // granted since the connection began
	waste    uint32 // of it, discarded by the sender: 24 bits
	consumed uint32
	drive    cc.Reporter
}

// Attach implements cc.Granter.
func (j *joint) Attach(r cc.Reporter) {
	j.drive = r
	j.Granter.Attach(r)
}

// full reports whether the next grant would exceed the room.
func (j *joint) full() bool { return units.Bytes(int32(j.limit-j.waste-j.consumed)) >= j.room }

// done handles a message that the program has consumed.
func (j *joint) done(bytes units.Bytes) {
	was := j.full()
	if j.consumed += uint32(bytes); was && !j.full() {
		j.drive.Reschedule()
	}
}

// Receive implements cc.Granter.
func (j *joint) Receive(n *cc.ControlMessage, now units.Time) error {
	err := j.Granter.Receive(n, now)
	if err == nil && n.Kind == cc.RTS {
		if grown := (n.Discarded - j.waste) & (1<<24 - 1); grown < 1<<23 {
			j.waste += grown
		}
	}
	return err
}

// Next implements cc.Granter.
func (j *joint) Next() units.Time {
	if j.full() {
		return 0
	}
	return j.Granter.Next()
}

// Emit implements cc.Granter.
func (j *joint) Emit(incomplete bool, now units.Time) (cc.ControlMessage, bool) {
	if j.full() {
		return cc.ControlMessage{}, false
	}
	n, some := j.Granter.Emit(incomplete, now)
	if some && n.Kind == cc.TOKEN {
		j.limit = n.Limit
	}
	return n, some
}
