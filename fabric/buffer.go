package fabric

import "github.com/goroce/goroce/units"

// group is what came into a switch by one port for one queue number, as the buffer accounts it: an
// ingress priority group.
type group struct {
	held     units.Bytes // in the reserve, then in the shared buffer
	headroom units.Bytes // beyond the threshold
}

// shares answers how much of n held bytes counts against the shared buffer.
func shares(n, reserve units.Bytes) units.Bytes { return max(0, n-reserve) }

// admit finds room for a frame that came in at a port and goes into queue q of another.
func (s *Switch) admit(in *Port, q *queue, f *frame) bool {
	c, g, size := q.config, &in.groups[f.prio], units.Bytes(f.size)
	kept := in.queues[f.prio].config // for the port it came in by, whose rate may be another
	taken := shares(g.held+size, kept.Reserve)
	grows := taken - shares(g.held, kept.Reserve)
	fits := s.used+grows <= s.shared
	if !c.Lossless {
		if !fits || c.Limit > 0 && q.bytes+size > c.Limit ||
			c.Alpha > 0 && float64(q.bytes+size) > c.Alpha*float64(s.shared-s.used) {
			return false
		}
	} else if !fits || taken > s.threshold(kept) {
		if g.headroom+size > kept.Headroom && s.config.Buffer > 0 {
			return false
		}
		g.headroom += size
		s.store(in, f)
		in.ask(f.prio)
		return true
	}
	if c.Lossless && c.Egress > 0 && float64(q.bytes+size) > c.Egress*float64(s.shared-s.used) {
		return false
	}
	g.held += size
	s.used += grows
	s.store(in, f)
	return true
}

// threshold answers how much of the shared buffer a lossless group may hold.
func (s *Switch) threshold(c *Queue) units.Bytes {
	t := s.shared
	if c.Limit > 0 {
		t = min(t, c.Limit)
	}
	if c.Alpha > 0 {
		t = min(t, units.Bytes(c.Alpha*float64(s.shared-s.used)))
	}
	return t
}

func (s *Switch) store(in *Port, f *frame) {
	f.from = in
	s.stored += units.Bytes(f.size)
	s.stats.Fullest = max(s.stats.Fullest, s.stored)
	if s.held != nil {
		s.hold(f, units.Bytes(f.size))
	}
}

// Held is what a switch holds of frames of one DSCP, and most that it ever held.
type Held struct{ Now, Most units.Bytes }

// Follow begins to count what the switch holds of frames of a DSCP, in whatever queues they are. It
// is called before there are any.
func (s *Switch) Follow(dscp uint8) *Held {
	if s.held == nil {
		s.held = map[uint8]*Held{}
	}
	if s.held[dscp] == nil {
		s.held[dscp] = &Held{}
	}
	return s.held[dscp]
}

func (s *Switch) hold(f *frame, size units.Bytes) {
	if h := s.held[f.dscp]; h != nil {
		h.Now += size
		h.Most = max(h.Most, h.Now)
	}
}

// release gives back what a frame took: first what is beyond the threshold.
func (s *Switch) release(f *frame) {
	in, size := f.from, units.Bytes(f.size)
	g, c := &in.groups[f.prio], in.queues[f.prio].config
	s.stored -= size
	if s.held != nil {
		s.hold(f, -size)
	}
	f.from = nil
	beyond := min(g.headroom, size)
	g.headroom -= beyond
	s.used -= shares(g.held, c.Reserve) - shares(g.held-(size-beyond), c.Reserve)
	g.held -= size - beyond
	if in.asking>>f.prio&1 != 0 && g.headroom == 0 {
		if held := shares(g.held, c.Reserve); held == 0 || held+c.Resume <= s.threshold(c) {
			in.resume(f.prio)
		}
	}
}
