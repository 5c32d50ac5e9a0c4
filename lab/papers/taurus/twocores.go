package taurus

import (
	"sync/atomic"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// Contenders alternate on two cores: a datapath on one takes feedback at a rate, and its agent
// polls on the other. A turn is cut into slices; a slice in which either core was taken away, and
// the one after it, do not count. Slices are samples of a distribution whose median is the result,
// because the machine runs other programs.
const (
	slice        = 500 * us
	slicesOfTurn = 24
	warm         = 4 // at the beginning of a turn, which do not count either
)

// contender is one way to control congestion.
type contender struct {
	name     string
	datapath datapath
	agent    interface{ Poll(units.Time) units.Time } // nil: in line
	handled  func() uint64                            // messages that the agent has taken so far
	// signals offered per second; 0: as many as it takes
	rate float64

	all     int        // slices
	counted []interval // those that count
	total   interval   // all together
	// of the current turn, the datapath's and the agent's: slices, then what was outside
	turns [2][]interval
}

// datapath takes feedback.
type datapath interface {
	// acknowledge delivers a number of acknowledgements, and applies decisions. It returns their
	// actual number, and the number of messages that were lost.
	acknowledge(n int, now units.Time) (signals, lost uint64)
}

// enough is how many slices of each contender are wanted, and the largest number of turns for them.
type enough struct{ slices, turns int }

func enoughAt(s experiment.Scale) enough {
	return experiment.At(s, enough{slices: 100, turns: 100}, enough{slices: 8, turns: 20})
}

// measure gives contenders turns until each has enough.
func measure(j *experiment.Job, e enough, all ...*contender) error {
	done := make(chan struct{})
	agents, answers := make(chan func()), make(chan struct{})
	go func() { // the agents' core
		ownCore(1)
		for poll := range agents {
			poll()
			answers <- struct{}{}
		}
	}()
	go func() { // the datapaths'
		defer close(done)
		ownCore(0)
		for n := range e.turns {
			for _, c := range all {
				if len(c.counted) < e.slices && j.Context().Err() == nil {
					c.turn(agents, answers)
				}
			}
			j.Progress(float64(n+1) / float64(e.turns))
		}
	}()
	<-done
	close(agents)
	for _, c := range all {
		c.record(j)
	}
	j.Value("load", loadAverage())
	return j.Context().Err()
}

// record records the results: of each slice that counts, or of all together if there are none.
func (c *contender) record(j *experiment.Job) {
	j.Value("slices", float64(len(c.counted)))
	j.Value("all slices", float64(c.all))
	span := slice.Seconds()
	if len(c.counted) == 0 {
		c.counted = []interval{c.total}
		span *= float64(c.all) * slicesOfTurn / (slicesOfTurn - warm)
	}
	for _, t := range c.counted {
		j.Value(c.name+" busy", t.busy.Seconds()/span)
		j.Value(c.name+" rate", float64(t.signals)/span)
		j.Value(c.name+" messages", float64(t.messages)/span)
		j.Value(c.name+" lost", float64(t.lost)/max(1, float64(t.signals)))
	}
}

// turn runs a contender for a while.
func (c *contender) turn(agents chan<- func(), answers <-chan struct{}) {
	begin := wall().Add(100 * us)
	var ended atomic.Bool
	for i := range c.turns {
		c.turns[i] = append(c.turns[i][:0], make([]interval, slicesOfTurn+1)...)
	}
	if c.agent != nil {
		agents <- func() { c.decide(begin, &ended) }
	}
	c.report(begin)
	ended.Store(true)
	if c.agent != nil {
		<-answers
	}
	c.datapath.acknowledge(0, wall())
	c.count()
}

// report is the datapath's core: it delivers signals as they are due, in bursts.
func (c *contender) report(begin units.Time) {
	const least, most, behind = 16, 64, 4096
	sent := 0
	k := newRecorder(begin, c.turns[0])
	for now := wall(); k.moveOn(now); now = wall() {
		due := int(c.rate*now.Sub(begin).Seconds()) - sent
		if c.rate == 0 {
			due = least
		}
		if due < least {
			continue
		}
		// it was away, or is too slow: signals that are late are lost
		if due > behind {
			sent += due - behind
		}
		n := min(due, most)
		signals, lost := c.datapath.acknowledge(n, now)
		sent += n
		k.at.signals += signals
		k.at.lost += lost
	}
}

// decide is the agent's core, until the datapath has ended and nothing is left to do.
func (c *contender) decide(begin units.Time, ended *atomic.Bool) {
	k := newRecorder(begin, c.turns[1])
	handled, now := c.handled(), wall()
	for {
		last := ended.Load()
		from := now
		c.agent.Poll(now)
		now = wall()
		h := c.handled()
		if n := h - handled; n > 0 {
			k.worked(from, now, n)
			handled = h
		} else if last {
			return
		}
		k.moveOn(now)
	}
}

// count adds a turn to the totals.
func (c *contender) count() {
	for _, core := range c.turns {
		for _, t := range core {
			c.total.add(t)
		}
	}
	whole := func(i int) bool {
		return c.turns[0][i].whole && (c.agent == nil || c.turns[1][i].whole)
	}
	for i := warm; i < slicesOfTurn; i++ {
		if c.all++; !whole(i-1) || !whole(i) {
			continue
		}
		t := c.turns[0][i]
		t.add(c.turns[1][i])
		c.counted = append(c.counted, t)
	}
}
