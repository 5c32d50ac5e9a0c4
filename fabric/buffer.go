package fabric

import "github.com/goroce/goroce/units"

// group is an ingress priority group: the buffer space of the frames that came in at one port for
// one queue number.
type group struct {
	held     units.Bytes // in the reserve, and beyond it in the shared buffer
	headroom units.Bytes // in the headroom
}

// sharedPart returns how many of n held bytes count against the shared buffer.
func sharedPart(n, reserve units.Bytes) units.Bytes { return max(0, n-reserve) }

// admit accounts for a frame that came in at a port and goes into queue q of another. It reports
// whether there is room.
func (s *Switch) admit(in *Port, q *queue, f *frame) bool {
	c, g, size := q.config, &in.groups[f.prio], units.Bytes(f.size)
	kept := in.queues[f.prio].config // of the ingress port, whose rate may differ
	taken := sharedPart(g.held+size, kept.Reserve)
	grows := taken - sharedPart(g.held, kept.Reserve)
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
		in.pausePeer(f.prio)
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

// threshold returns how much of the shared buffer a lossless group may hold.
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

// Held is the buffer space of one DSCP's frames in a switch: the current value and the maximum.
type Held struct{ Now, Most units.Bytes }

// Follow counts the buffer space of the frames of a DSCP, in all queues. It must be called before
// any such frame arrives.
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

// release returns the buffer space of a frame: first headroom, then the rest.
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
	s.used -= sharedPart(g.held, c.Reserve) - sharedPart(g.held-(size-beyond), c.Reserve)
	g.held -= size - beyond
	if in.pausing>>f.prio&1 != 0 && g.headroom == 0 {
		if held := sharedPart(g.held, c.Reserve); held == 0 || held+c.Resume <= s.threshold(c) {
			in.resumePeer(f.prio)
		}
	}
}
