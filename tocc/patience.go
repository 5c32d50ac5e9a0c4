package tocc

import "github.com/goroce/goroce/units"

const (
	// leastPatience and mostPatience bound how long either end waits before it says something
	// again, where tokens take no longer.
	leastPatience = 50 * units.Microsecond
	mostPatience  = 4 * units.Millisecond

	// doublings are enough to come to mostPatience. A receiver whose sender has not answered inVain
	// repeats, for a tenth of a second, takes it for gone, and goes on ever more slowly, to once in
	// a second: senders that live ask.
	doublings = 9
	inVain    = 30

	// answerPatience is how long the answer to a question may take.
	answerPatience = units.Millisecond
)

// patience is how long an end waits for the other before it says something again: twice what the
// other has taken, for tokens queue, and twice as long with each time that it was in vain. As with
// retransmission (Karn and Partridge, SIGCOMM 1987) what comes after a repeat times nothing, and
// patience stays nearly what it had become.
type patience struct {
	least units.Duration // on this path
	loop  units.Duration // what the other takes
	from  units.Time     // of the last progress
	said  units.Time     // when the end said something last
	tries uint8          // doublings
	fades bool           // after inVain tries it may be longer than mostPatience
	doubt bool           // it said something again since progress was timed
}

func newPatience(baseRTT units.Duration) patience {
	return patience{least: min(max(3*baseRTT, leastPatience), mostPatience)}
}

// renew is that there is something to wait for from now on.
func (p *patience) renew(now units.Time) { p.from, p.tries, p.doubt = now, 0, false }

// timed is that the other took so long.
func (p *patience) timed(d units.Duration) {
	switch {
	case !p.doubt:
		p.loop, p.tries = max(d, p.loop-p.loop/8), 0
	case p.tries > 0:
		p.tries = min(p.tries, doublings) - 1
	}
	p.doubt = false
}

// repeated is that the end said something again.
func (p *patience) repeated() { p.tries, p.doubt = min(p.tries+1, inVain+8), true }

// until is when patience ends.
func (p *patience) until() units.Time {
	since := p.from
	if p.said.After(since) {
		since = p.said
	}
	most := max(mostPatience, 4*p.loop)
	if p.fades && p.tries > inVain {
		most <<= p.tries - inVain
	}
	return moment(since.Add(min(max(p.least, 2*p.loop)<<min(p.tries, doublings+8), most)))
}
