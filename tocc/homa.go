package tocc

import (
	"fmt"
	"strings"

	"github.com/goroce/goroce/units"
)

// mostLevel is the highest of 8 priorities.
const mostLevel = 7

// levels reads the cutoffs: unscheduled packets have the priorities above those of overcommitment,
// the smallest messages the highest.
func (o *options) levels() ([]units.Bytes, error) {
	if o.cutoffs == "" {
		return nil, nil
	}
	var sizes []units.Bytes
	for _, text := range strings.Split(o.cutoffs, "/") {
		size, err := units.ParseBytes(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("cutoffs=%s: %w", o.cutoffs, err)
		}
		if len(sizes) > 0 && size <= sizes[len(sizes)-1] {
			return nil, fmt.Errorf("cutoffs=%s are not ascending", o.cutoffs)
		}
		sizes = append(sizes, size)
	}
	if most := mostLevel - o.overcommit; len(sizes) > most {
		return nil, fmt.Errorf("cutoffs=%s: overcommit=%d leaves %d unscheduled priorities of 8, "+
			"so %d cutoffs", o.cutoffs, o.overcommit, most+1, max(most, 0))
	}
	return sizes, nil
}

// unscheduledLevel is the priority of unscheduled packets of a message.
func (p *plan) unscheduledLevel(size units.Bytes) uint8 {
	level := uint8(mostLevel)
	for _, cutoff := range p.sizes {
		if size <= cutoff {
			break
		}
		level--
	}
	return level
}

// schedule is what the receivers of an endpoint share with overcommitment: the messages that are
// granted, as many as overcommit says, the shortest first (Homa: SRPT).
type schedule struct {
	top     []*Receiver // by what remains of them
	waiting []*Receiver // in no order
}

// place is where a receiver stands.
type place struct {
	where standing
	index int // there
}

type standing uint8

const (
	nowhere standing = iota
	inTop
	inWaiting
)

// remains is how much is still to come. Who was asked again and again in vain is the last: a sender
// that says nothing must not keep its place from others.
func (r *Receiver) remains() units.Bytes {
	if r.patience.tries >= inVain {
		return 2 * farthest
	}
	return r.demand - r.spent + r.unseen
}

// level is the priority of a message that is granted: the shortest has the highest of as few levels
// as there are messages, so that a new one finds a higher one free.
func (s *schedule) level(r *Receiver) int {
	if r.place.where != inTop {
		return 0
	}
	return len(s.top) - 1 - r.place.index
}

// update puts a receiver where it belongs now.
func (s *schedule) update(r *Receiver, now units.Time) {
	if r.wants() <= 0 {
		s.remove(r)
		s.fill(r, now)
		return
	}
	if r.place.where == nowhere {
		r.place = place{inWaiting, len(s.waiting)}
		s.waiting = append(s.waiting, r)
	}
	if r.place.where == inTop {
		s.sink(r)
		for i := r.place.index; i > 0 && s.top[i].remains() < s.top[i-1].remains(); i-- {
			s.swap(i, i-1)
		}
		return
	}
	if last := len(s.top) - 1; len(s.top) == r.overcommit && r.remains() < s.top[last].remains() {
		other := s.top[last]
		s.remove(other)
		other.place = place{inWaiting, len(s.waiting)}
		s.waiting = append(s.waiting, other)
		s.insert(r)
		return
	}
	s.fill(r, now)
}

// sink moves a receiver of top down to where it belongs when more was demanded.
func (s *schedule) sink(r *Receiver) {
	for i := r.place.index; i+1 < len(s.top) && s.top[i].remains() > s.top[i+1].remains(); i++ {
		s.swap(i, i+1)
	}
}

func (s *schedule) swap(i, j int) {
	s.top[i], s.top[j] = s.top[j], s.top[i]
	s.top[i].place.index, s.top[j].place.index = i, j
}

// insert moves a receiver from waiting to top.
func (s *schedule) insert(r *Receiver) {
	s.remove(r)
	r.place = place{inTop, len(s.top)}
	s.top = append(s.top, r)
	for i := r.place.index; i > 0 && r.remains() < s.top[i-1].remains(); i-- {
		s.swap(i, i-1)
	}
}

// fill lets the shortest of those that wait be granted while there is room, and has them asked, but
// the one that is being asked already.
func (s *schedule) fill(asked *Receiver, now units.Time) {
	for len(s.waiting) > 0 && len(s.top) < asked.overcommit {
		best := s.waiting[0]
		for _, r := range s.waiting[1:] {
			if r.remains() < best.remains() {
				best = r
			}
		}
		s.insert(best)
		if best != asked {
			best.schedule(now)
			if best.drive != nil {
				best.drive.Reschedule()
			}
		}
	}
}

func (s *schedule) remove(r *Receiver) {
	at := r.place.index
	switch r.place.where {
	case inTop:
		s.top = append(s.top[:at], s.top[at+1:]...)
		for i := at; i < len(s.top); i++ {
			s.top[i].place.index = i
		}
	case inWaiting:
		last := len(s.waiting) - 1
		s.waiting[at] = s.waiting[last]
		s.waiting[at].place.index = at
		s.waiting[last] = nil
		s.waiting = s.waiting[:last]
	}
	r.place = place{}
}
