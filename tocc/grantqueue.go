package tocc

import "github.com/goroce/goroce/units"

// grantQueue is a ring of the unused grants, in order of arrival.
type grantQueue struct {
	ring  []grant
	first int
	n     int
}

// grant is the tokens that arrived at one time.
type grant struct {
	limit units.Bytes // the limit after their arrival
	at    units.Time
}

func (s *grantQueue) at(i int) *grant {
	if i += s.first; i >= len(s.ring) {
		i -= len(s.ring)
	}
	return &s.ring[i]
}

// add appends tokens up to a limit. In a full ring they count as old as the newest grant before
// them.
func (s *grantQueue) add(upto units.Bytes, at units.Time) {
	if s.n > 0 {
		if last := s.at(s.n - 1); s.n == len(s.ring) || last.at == at {
			last.limit = upto
			return
		}
	}
	s.n++
	*s.at(s.n - 1) = grant{upto, at}
}

// dropSpent removes grants that are spent.
func (s *grantQueue) dropSpent(spent units.Bytes) {
	for s.n > 0 && s.ring[s.first].limit <= spent {
		if s.first++; s.first == len(s.ring) {
			s.first = 0
		}
		s.n--
	}
}

// limitAt returns the limit up to which tokens arrived no later than at, or spent if none did.
func (s *grantQueue) limitAt(at units.Time, spent units.Bytes) units.Bytes {
	for i := range s.n {
		l := s.at(i)
		if l.at.After(at) {
			break
		}
		spent = max(spent, l.limit)
	}
	return spent
}

// meter measures the rate at which tokens arrive.
type meter struct {
	since   units.Time
	bytes   units.Bytes // arrived since then
	running bool
}

// add records tokens. Once per round trip it returns the real-time BDP, the rate of the tokens over
// the last round trip times the round trip (section V-D), and true.
func (m *meter) add(bytes units.Bytes, rtt units.Duration, now units.Time) (units.Bytes, bool) {
	passed := now.Sub(m.since)
	if !m.running || passed < 0 || passed > 2*rtt {
		*m = meter{since: now, running: true}
		return 0, false
	}
	if m.bytes += bytes; passed < rtt {
		return 0, false
	}
	bdp := units.Bytes(float64(m.bytes) * float64(rtt) / float64(passed))
	*m = meter{since: now, running: true}
	return bdp, true
}
