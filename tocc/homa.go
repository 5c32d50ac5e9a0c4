package tocc

import (
	"fmt"
	"strings"

	"github.com/goroce/goroce/units"
)

// maxLevel is the highest of the 8 priorities.
const maxLevel = 7

// levels parses the cutoffs. Unscheduled packets have the priorities above those of overcommitment,
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
	if most := maxLevel - o.overcommit; len(sizes) > most {
		return nil, fmt.Errorf("cutoffs=%s: overcommit=%d leaves %d unscheduled priorities of 8, "+
			"so %d cutoffs", o.cutoffs, o.overcommit, most+1, max(most, 0))
	}
	return sizes, nil
}

// unscheduledLevel returns the priority of unscheduled packets of a message.
func (p *plan) unscheduledLevel(size units.Bytes) uint8 {
	level := uint8(maxLevel)
	for _, cutoff := range p.sizes {
		if size <= cutoff {
			break
		}
		level--
	}
	return level
}

// schedule is shared by the receivers of an endpoint with overcommitment. It selects the messages
// to grant, at most overcommit of them, the shortest first (SRPT in Homa).
type schedule struct {
	top     []*Receiver // sorted by their remaining bytes
	waiting []*Receiver // unsorted
}

// place is the position of a receiver in the schedule.
type place struct {
	rank  rank
	index int // in the list
}

type rank uint8

const (
	unranked rank = iota
	inTop
	inWaiting
)

// remaining returns how much is still to arrive. A sender that has not responded to repeated TOKENs
// comes last, so that a silent sender does not keep its place.
func (r *Receiver) remaining() units.Bytes {
	if r.backoff.retries >= maxUnanswered {
		return 2 * maxDemand
	}
	return r.demand - r.spent + r.unscheduledInFlight
}

// level returns the priority of a granted message. The shortest has the highest of as few levels as
// there are messages, so that a new one finds a higher level free.
func (s *schedule) level(r *Receiver) int {
	if r.place.rank != inTop {
		return 0
	}
	return len(s.top) - 1 - r.place.index
}

// update moves a receiver to its current position.
func (s *schedule) update(r *Receiver, now units.Time) {
	if r.grantable() <= 0 {
		s.remove(r)
		s.fill(r, now)
		return
	}
	if r.place.rank == unranked {
		r.place = place{inWaiting, len(s.waiting)}
		s.waiting = append(s.waiting, r)
	}
	if r.place.rank == inTop {
		s.sink(r)
		for i := r.place.index; i > 0 && s.top[i].remaining() < s.top[i-1].remaining(); i-- {
			s.swap(i, i-1)
		}
		return
	}
	if last := len(s.top) - 1; len(s.top) == r.overcommit &&
		r.remaining() < s.top[last].remaining() {
		other := s.top[last]
		s.remove(other)
		other.place = place{inWaiting, len(s.waiting)}
		s.waiting = append(s.waiting, other)
		s.insert(r)
		return
	}
	s.fill(r, now)
}

// sink moves a receiver in top down to its position after more was demanded.
func (s *schedule) sink(r *Receiver) {
	for i := r.place.index; i+1 < len(s.top) && s.top[i].remaining() > s.top[i+1].remaining(); i++ {
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
	for i := r.place.index; i > 0 && r.remaining() < s.top[i-1].remaining(); i-- {
		s.swap(i, i-1)
	}
}

// fill moves the shortest waiting messages to top while there is room, and reschedules their
// receivers except the caller's.
func (s *schedule) fill(asked *Receiver, now units.Time) {
	for len(s.waiting) > 0 && len(s.top) < asked.overcommit {
		best := s.waiting[0]
		for _, r := range s.waiting[1:] {
			if r.remaining() < best.remaining() {
				best = r
			}
		}
		s.insert(best)
		if best != asked {
			best.schedule(now)
			if best.reporter != nil {
				best.reporter.Reschedule()
			}
		}
	}
}

func (s *schedule) remove(r *Receiver) {
	at := r.place.index
	switch r.place.rank {
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
