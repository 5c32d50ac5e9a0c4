package tocc

import "github.com/goroce/goroce/units"

// stock is the tokens in hand, in the order in which they came: a ring.
type stock struct {
	lots  []lot
	first int
	n     int
}

// lot is tokens that came at one moment.
type lot struct {
	upto units.Bytes // the limit they brought
	at   units.Time
}

func (s *stock) at(i int) *lot {
	if i += s.first; i >= len(s.lots) {
		i -= len(s.lots)
	}
	return &s.lots[i]
}

// add takes in tokens up to a limit. A full ring holds them as if they were as old as those before.
func (s *stock) add(upto units.Bytes, at units.Time) {
	if s.n > 0 {
		if last := s.at(s.n - 1); s.n == len(s.lots) || last.at == at {
			last.upto = upto
			return
		}
	}
	s.n++
	*s.at(s.n - 1) = lot{upto, at}
}

// spend drops what is spent.
func (s *stock) spend(spent units.Bytes) {
	for s.n > 0 && s.lots[s.first].upto <= spent {
		if s.first++; s.first == len(s.lots) {
			s.first = 0
		}
		s.n--
	}
}

// until answers the limit up to which tokens came no later than at; spent when none did.
func (s *stock) until(at units.Time, spent units.Bytes) units.Bytes {
	for i := range s.n {
		l := s.at(i)
		if l.at.After(at) {
			break
		}
		spent = max(spent, l.upto)
	}
	return spent
}

// meter measures how fast tokens come.
type meter struct {
	since   units.Time
	bytes   units.Bytes // since then
	running bool
}

// came answers the real-time BDP, the rate of the tokens over the last round trip times that
// (section V-D), once in a round trip of tokens, else false.
func (m *meter) came(bytes units.Bytes, rtt units.Duration, now units.Time) (units.Bytes, bool) {
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
