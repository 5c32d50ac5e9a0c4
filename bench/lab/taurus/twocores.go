package taurus

import (
	"sync/atomic"

	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Contenders take turns on two cores: a datapath on one hears feedback at a rate, its agent polls on the other. A turn is
// cut into slices; those in which either core was taken away, and the one behind such, do not count.
const (
	slice        = 500 * us
	slicesOfTurn = 24
	warm         = 4 // at the beginning of a turn, that do not count either
)

// contender is one way to control congestion.
type contender struct {
	name     string
	datapath cc.Controller
	agent    interface{ Poll(units.Time) units.Time } // nil: in line
	handled  func() uint64                            // messages that the agent has taken so far
	rate     float64                                  // signals a second that are offered
	feedback *feedback

	slices, all int           // that count, and all
	busy        []float64     // share of each slice
	counted     interval      // in slices that count
	total       interval      // in all
	turns       [2][]interval // of the turn that goes on, the datapath's and the agent's: slices, then what was outside
}

// interval is what a core did in a slice.
type interval struct {
	whole    bool // the core was not taken away
	signals  uint64
	messages uint64
	busy     units.Duration // in polls that found something
}

// feedback is acknowledgements of flows in turn, one in sixteen marked.
type feedback struct {
	flows []cc.Flow
	psn   []uint32
	next  int
	ev    cc.Event
	sent  sums
}

// sums is what a period's messages add up.
type sums struct{ packets, marked, bytes uint64 }

func newFeedback(c cc.Controller, flows int, algorithm func() (cc.Algorithm, error)) (*feedback, error) {
	f := &feedback{psn: make([]uint32, flows)}
	for range flows {
		a, err := algorithm()
		if err != nil {
			return nil, err
		}
		f.flows = append(f.flows, c.Add(a, wall()))
	}
	return f, nil
}

// report lets a packet be acknowledged.
func (f *feedback) report(c cc.Controller, now units.Time) {
	const outstanding = 64
	i := f.next
	if f.next++; f.next == len(f.flows) {
		f.next = 0
	}
	f.psn[i] = (f.psn[i] + 1) & (1<<24 - 1)
	f.ev = cc.Event{
		Kind: cc.ACK, Flow: f.flows[i], PSN: f.psn[i], SndNxt: (f.psn[i] + outstanding) & (1<<24 - 1),
		Packets: 1, Bytes: mtu, InFlight: outstanding * mtu, Left: units.GiB,
	}
	f.sent.packets++
	f.sent.bytes += uint64(mtu)
	if f.psn[i]%16 == 0 {
		f.ev.Kind, f.ev.Marked = cc.ECN, 1
		f.sent.marked++
	}
	c.Report(&f.ev, now)
}

// measure gives each contender so many turns.
func measure(j *experiment.Job, turns int, all ...*contender) error {
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
		for n := range turns {
			for i, c := range all {
				c.turn(agents, answers)
				j.Progress(float64(n*len(all)+i) / float64(turns*len(all)))
				if j.Context().Err() != nil {
					return
				}
			}
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

// tell takes down what came out: of slices that count, or of all when there are none.
func (c *contender) tell(j *experiment.Job) {
	did, span := c.counted, float64(c.slices)*slice.Seconds()
	if c.slices == 0 {
		did, span = c.total, float64(c.all)*slice.Seconds()*slicesOfTurn/(slicesOfTurn-warm)
		c.busy = []float64{did.busy.Seconds() / span}
	}
	j.Value(c.name+" busy", c.busy...)
	j.Value(c.name+" messages", float64(did.messages)/float64(did.signals))
	j.Value(c.name+" rate", float64(did.signals)/span)
	j.Value("slices", float64(c.slices))
	j.Value("all slices", float64(c.all))
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
	c.settle(wall())
	c.count()
}

// settle hears what was decided.
func (c *contender) settle(now units.Time) {
	c.datapath.Poll(now)
	for f, some := c.datapath.Changed(); some; f, some = c.datapath.Changed() {
		c.datapath.Decision(f)
	}
}

// report is the datapath's core: it hears signals as they are due, in bursts.
func (c *contender) report(begin units.Time) {
	const least, most, behind = 16, 64, 4096
	sent := 0
	k := newKeeper(begin, c.turns[0])
	for now := wall(); k.moveOn(now); now = wall() {
		due := int(c.rate*now.Sub(begin).Seconds()) - sent
		if due < least {
			continue
		}
		if due > behind { // it was away, or cannot do so much: what nobody heard in time nobody hears
			sent += due - behind
		}
		n := min(due, most)
		for range n {
			c.feedback.report(c.datapath, now)
		}
		c.settle(now)
		sent += n
		k.at.signals += uint64(n)
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
			k.at.busy += now.Sub(from)
			k.at.messages += n
			handled = h
		} else if last {
			return
		}
		k.moveOn(now)
	}
}

// keeper keeps the records of a core.
type keeper struct {
	begin    units.Time
	records  []interval
	slice    int // that goes on
	at       *interval
	switches int64
}

func newKeeper(begin units.Time, records []interval) *keeper {
	return &keeper{begin: begin, records: records, slice: slicesOfTurn, at: &records[slicesOfTurn]}
}

// moveOn moves on to the slice of a time, and says whether the turn goes on.
func (k *keeper) moveOn(now units.Time) bool {
	i := slicesOfTurn
	if d := now.Sub(k.begin); d >= 0 {
		i = min(int(d/slice), slicesOfTurn)
	}
	if i == k.slice {
		return i < slicesOfTurn || now.Before(k.begin)
	}
	n := switches()
	k.at.whole = n == k.switches && i == k.slice+1
	k.slice, k.switches, k.at = i, n, &k.records[i]
	return i < slicesOfTurn
}

// count adds up a turn.
func (c *contender) count() {
	for _, core := range c.turns {
		for _, t := range core {
			c.total.add(t)
		}
	}
	whole := func(i int) bool { return c.turns[0][i].whole && (c.agent == nil || c.turns[1][i].whole) }
	for i := warm; i < slicesOfTurn; i++ {
		if c.all++; !whole(i-1) || !whole(i) {
			continue
		}
		c.slices++
		c.counted.add(c.turns[0][i])
		c.counted.add(c.turns[1][i])
		c.busy = append(c.busy, c.turns[1][i].busy.Seconds()/slice.Seconds())
	}
}

func (t *interval) add(u interval) {
	t.signals += u.signals
	t.messages += u.messages
	t.busy += u.busy
}
