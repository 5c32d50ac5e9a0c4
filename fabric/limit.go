package fabric

import "github.com/goroce/goroce/units"

// limit is a token bucket of a few frames that limits a queue, or a group of queues, to a share of
// the link. It counts bytes on the wire.
type limit struct {
	pace    units.Duration // per byte, times 1 << paceShift
	burst   units.Duration // in frames
	readyAt units.Time     // when the next frame may leave
}

// paceShift is the number of fraction bits of limit.pace.
const paceShift = 8

// limit sets up the limits of the port's queues.
func (p *Port) limit(qs *Queues) {
	groups := map[int]*limit{}
	for i := range qs {
		c, q := &qs[i], &p.queues[i]
		q.limit = groups[c.Group]
		if c.Share == 0 || q.limit != nil {
			continue
		}
		q.limit = &limit{
			pace: units.Duration(float64(8*int64(units.Second)) / (c.Share * float64(p.rate)) *
				(1 << paceShift)),
			burst: units.Duration(c.Burst),
		}
		if c.Burst == 0 {
			q.limit.burst = 2
		}
		if c.Group > 0 {
			groups[c.Group] = q.limit
		}
	}
}

// spend accounts for a frame that leaves now and sets when the next may leave. Unused capacity
// accumulates up to a burst.
func (l *limit) spend(bytes int32, now units.Time) {
	apart := l.pace * units.Duration(bytes) >> paceShift
	if earliest := now.Add(-apart * (l.burst - 1)); l.readyAt.Before(earliest) {
		l.readyAt = earliest
	}
	l.readyAt = l.readyAt.Add(apart)
}
