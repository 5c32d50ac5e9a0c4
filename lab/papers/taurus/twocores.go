package taurus

import (
	"sync/atomic"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// Contenders take turns on two cores: a datapath on one hears feedback at a rate, its agent polls
// on the other. A turn is cut into slices; those in which either core was taken away, and the one
// behind such, do not count. What a slice says is a sample of a distribution, whose median is what
// we speak of: the machine has other things to do.
const (
	slice        = 500 * us
	slicesOfTurn = 24
	warm         = 4 // at the beginning of a turn, that do not count either
)

// contender is one way to control congestion.
type contender struct {
	name     string
	datapath datapath
	agent    interface{ Poll(units.Time) units.Time } // nil: in line
	handled  func() uint64                            // messages that the agent has taken so far
	// signals a second that are offered; 0: as many as it takes
	rate float64

	all     int        // slices
	counted []interval // those that count
	total   interval   // all together
	// of the turn that goes on, the datapath's and the agent's: slices, then what was outside
	turns [2][]interval
}

// datapath is what hears feedback.
type datapath interface {
	// hear lets so many acknowledgements be heard, and takes over what was decided. It answers how
	// many they were, and how many messages were lost that nobody will hear of.
	hear(n int, now units.Time) (signals, lost uint64)
}

// enough is how many slices of each contender are wanted, and how many turns it gets for them at
// most.
type enough struct{ slices, turns int }

func enoughAt(s experiment.Scale) enough {
	return experiment.At(s, enough{slices: 100, turns: 100}, enough{slices: 8, turns: 20})
}

// measure gives contenders turns until each has had enough.
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
		c.tell(j)
	}
	j.Value("load", loadAverage())
	return j.Context().Err()
}

// tell takes down what came out: of each slice that counts, or of all together when there are none.
func (c *contender) tell(j *experiment.Job) {
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
	c.datapath.hear(0, wall())
	c.count()
}

// report is the datapath's core: it hears signals as they are due, in bursts.
func (c *contender) report(begin units.Time) {
	const least, most, behind = 16, 64, 4096
	sent := 0
	k := newKeeper(begin, c.turns[0])
	for now := wall(); k.moveOn(now); now = wall() {
		due := int(c.rate*now.Sub(begin).Seconds()) - sent
		if c.rate == 0 {
			due = least
		}
		if due < least {
			continue
		}
		// it was away, or cannot do so much: what nobody heard in time nobody hears
		if due > behind {
			sent += due - behind
		}
		n := min(due, most)
		signals, lost := c.datapath.hear(n, now)
		sent += n
		k.at.signals += signals
		k.at.lost += lost
	}
}

// decide is the agent's core, until the datapath has ended and nothing is left to do.
func (c *contender) decide(begin units.Time, ended *atomic.Bool) {
	k := newKeeper(begin, c.turns[1])
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

// count adds up a turn.
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
