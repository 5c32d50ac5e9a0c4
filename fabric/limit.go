package fabric

import "github.com/goroce/goroce/units"

// limit lets a queue, or a group of them, have a share of the link and no more: a token bucket of a
// few frames, in bytes of wire time.
type limit struct {
	pace    units.Duration // for each byte, times 1 << paceShift
	burst   units.Duration // frames
	readyAt units.Time     // when the next frame may leave
}

// paceShift is the fraction bits of a limit's picoseconds a byte.
const paceShift = 8

// limit gives queues their limits.
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

// spend moves the time at which the next frame may leave, now that one of so many bytes does. It
// may catch up with what it was entitled to, by a burst at most.
func (l *limit) spend(bytes int32, now units.Time) {
	apart := l.pace * units.Duration(bytes) >> paceShift
	if earliest := now.Add(-apart * (l.burst - 1)); l.readyAt.Before(earliest) {
		l.readyAt = earliest
	}
	l.readyAt = l.readyAt.Add(apart)
}
