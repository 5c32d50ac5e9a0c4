package fabric

import "github.com/goroce/goroce/units"

// alarms is a heap of hosts by the deadline that their poller answered. A deadline moves with every
// poll, mostly to later, and is seldom reached: so an entry may be due before the host's real
// deadline, and is then put back. Moving a deadline later costs nothing.
type alarms struct{ heap []*Host }

// set makes sure that h is woken at its deadline.
func (a *alarms) set(h *Host, at units.Time) {
	h.deadline = at
	switch {
	case h.alarmIx < 0:
		h.alarmAt, h.alarmIx = at, int32(len(a.heap))
		a.heap = append(a.heap, h)
		a.up(len(a.heap) - 1)
	case at.Before(h.alarmAt):
		h.alarmAt = at
		a.up(int(h.alarmIx))
	}
}

// next answers when the first alarm is; never when there is none. It puts back those that are not
// due at until though they seem so.
func (a *alarms) next(until units.Time) units.Time {
	for len(a.heap) > 0 {
		h := a.heap[0]
		if h.alarmAt.After(until) || h.alarmAt == h.deadline {
			return h.alarmAt
		}
		h.alarmAt = h.deadline
		a.down(0)
	}
	return never
}

// take removes the first.
func (a *alarms) take() *Host {
	h, last := a.heap[0], len(a.heap)-1
	a.swap(0, last)
	a.heap[last] = nil
	a.heap = a.heap[:last]
	h.alarmIx = -1
	if last > 0 {
		a.down(0)
	}
	return h
}

func (a *alarms) swap(i, j int) {
	a.heap[i], a.heap[j] = a.heap[j], a.heap[i]
	a.heap[i].alarmIx, a.heap[j].alarmIx = int32(i), int32(j)
}

// before orders by time, and at one instant by host, so that a run does not depend on history.
func (a *alarms) before(i, j int) bool {
	x, y := a.heap[i], a.heap[j]
	return x.alarmAt < y.alarmAt || x.alarmAt == y.alarmAt && x.index < y.index
}

func (a *alarms) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !a.before(i, parent) {
			return
		}
		a.swap(i, parent)
		i = parent
	}
}

func (a *alarms) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(a.heap) {
			return
		}
		if right := child + 1; right < len(a.heap) && a.before(right, child) {
			child = right
		}
		if !a.before(child, i) {
			return
		}
		a.swap(i, child)
		i = child
	}
}
