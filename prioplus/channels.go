package prioplus

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Channels is the table that all flows of a physical queue share: the number of priorities, the
// width of their channels, and how flows start. It is comparable; the zero Channels is the paper's,
// for 8 priorities.
type Channels struct {
	settings string
}

// options is the parameters of a table.
type options struct {
	n                 int
	a, b, eps         units.Duration
	high, low, direct float64 // fractions of the priorities
	unlimited         float64
	wHigh, wMiddle    cc.Packets
	wLow              cc.Packets
	samples           int
	filter            uint8 // samples
	dual              bool
	measureBase       bool

	oneWay bool
	// additions to the paper
	minResume  cc.Packets
	room       bool
	rampUpRTTs int
	limit      units.Duration
	artifact   bool
}

func (o *options) declare(s *cc.Settings) {
	s.Param(&o.n, "n", "8", "[1, 256]", "OURS", "priorities, 0 to n-1; larger is higher")
	s.Param(&o.a, "a", "3.2us", "(0s, 10ms]", "PrioPlus 4.3.2: 150 flows of Swift",
		"A, how much the delay fluctuates with the original CC")
	s.Param(&o.b, "b", "0.8us", "[0s, 10ms]", "PrioPlus 4.3.2: 99.85th percentile",
		"B, tolerated noise of the delay")
	s.Param(&o.eps, "eps", "1us", "[0s, 10ms]", "PrioPlus artifact",
		"a delay less than this above the base counts as that of empty queues; less than a+b")
	s.Param(&o.samples, "filter", "2", "[1, 100]", "PrioPlus 4.3.1",
		"consecutive samples beyond the limit that stop a flow")
	s.Param(&o.dual, "dual", "on", "", "PrioPlus 4.2.3",
		"adaptive increase every second round trip; off: every one, for comparison")
	s.Param(&o.oneWay, "one_way", "off", "", "PrioPlus 4.1", "delay without the time that "+
		"replies wait on their way back; needs a path that gives one-way delay")
	s.Param(&o.measureBase, "measure", "off", "", "OURS",
		"measure the path's base round trip continuously; off: it is configured")
	s.Param(&o.high, "high", "0.125", "[0, 1]", "PrioPlus artifact",
		"fraction of the priorities, the highest, that start as high ones; at least one")
	s.Param(&o.low, "low", "0.5", "[0, 1]", "PrioPlus 6.3",
		"fraction of the priorities that start as low ones; the others start as middle ones")
	s.Param(&o.direct, "direct", "0.125", "[0, 1]", "PrioPlus artifact",
		"fraction of the priorities, the highest, that start without a probe; at least one, "+
			"unless 0")
	s.Param(&o.unlimited, "free", "0", "[0, 1]", "OURS; 0.125: PrioPlus artifact",
		"fraction of the priorities, the highest, that have no limit and never stop; at least "+
			"one, unless 0; rounded, and started without a probe")
	s.Param(&o.wHigh, "w_high", "1BDP", "(0, 1BDP]", "PrioPlus 4.4",
		"W_LS of high priorities: first window, and its growth in a round trip without a queue")
	s.Param(&o.wMiddle, "w_middle", "0.25BDP", "(0, 1BDP]", "PrioPlus 4.4",
		"W_LS of middle priorities")
	s.Param(&o.wLow, "w_low", "0.125BDP", "(0, 1BDP]", "PrioPlus 4.4", "W_LS of low priorities")
	s.Param(&o.minResume, "least", "0.1", "[0.1, 1]", "PrioPlus artifact",
		"least window to resume with when queues are empty")
	s.Param(&o.room, "room", "off", "", "PrioPlus; on: OURS", "resume while others send with "+
		"what is missing to D_target, at most W_LS, divided by #flow; off: with one packet")
	s.Param(&o.rampUpRTTs, "patience", "0", "[0, 250]", "PrioPlus; 20: OURS",
		"round trips after a resume while others send in which #flow is not estimated, since the "+
			"window is not a fair share yet")
	s.Param(&o.limit, "limit", "0s", "[0s, 10ms]", "PrioPlus; else: PrioPlus artifact",
		"distance of D_limit from D_target, for channels of any width; 0: a/2+b")
	s.Param(&o.artifact, "artifact", "off", "", "PrioPlus; on: PrioPlus artifact",
		"the rules of the published simulator: a smaller #flow, W_AI of five flows for one, a "+
			"longer countdown, cuts by one-way delay, no increase by the original CC at base RTT")
}

// ParseChannels reads a number of priorities, or parameters such as n=12,a=3.2us,b=0.8us.
func ParseChannels(text string) (Channels, error) {
	text = strings.TrimSpace(text)
	if _, err := strconv.Atoi(text); err == nil {
		text = "n=" + text
	}
	c := Channels{text}
	_, err := c.read(nil)
	if err != nil {
		return Channels{}, err
	}
	return c, nil
}

// Measured returns the same table with measured base round trips, unless it sets measure.
func (c Channels) Measured() Channels {
	if strings.Contains(c.settings, "measure=") {
		return c
	}
	return Channels{c.String() + ",measure=on"}
}

// String returns the text that ParseChannels reads.
func (c Channels) String() string {
	if c.settings == "" {
		return "n=8"
	}
	return c.settings
}

// Help writes a description of each parameter of ParseChannels.
func Help(w io.Writer) error {
	var s cc.Settings
	new(options).declare(&s)
	return s.Explain(w)
}

// read returns the options. While path is nil, what is relative to it is neither stored nor
// checked.
func (c Channels) read(path *cc.Path) (options, error) {
	var (
		o options
		s cc.Settings
	)
	o.declare(&s)
	if err := s.Read(c.settings, path); err != nil {
		return o, fmt.Errorf("prioplus: channels %v: %w", c, err)
	}
	switch {
	case o.eps >= o.a+o.b:
		return o, fmt.Errorf("prioplus: channels %v: eps=%v is not less than a+b=%v: the queue "+
			"of the lowest priority would count as empty", c, o.eps, o.a+o.b)
	case o.high+o.low > 1:
		return o, fmt.Errorf("prioplus: channels %v: the sum of high=%g and low=%g is more "+
			"than 1", c, o.high, o.low)
	}
	o.filter = uint8(o.samples)
	return o, nil
}

// count returns how many priorities a fraction is, rounded down: at least one, unless it is 0. Of
// 12 priorities an eighth is one, as in section 6.3.
func (o *options) count(x float64) int {
	if x == 0 {
		return 0
	}
	return max(1, int(x*float64(o.n)))
}

// free returns how many priorities have no limit: rounded, as in the artifact, where an eighth of
// 12 is two.
func (o *options) free() int {
	if o.unlimited == 0 {
		return 0
	}
	return max(1, int(o.unlimited*float64(o.n)+0.5))
}

// N returns the number of priorities.
func (c Channels) N() int {
	o, err := c.read(nil)
	if err != nil {
		return 0
	}
	return o.n
}

// Class is how flows of a priority start (section 4.4).
type Class uint8

// The classes.
const (
	Low Class = iota
	Middle
	High
)

func (c Class) String() string { return [...]string{"low", "middle", "high"}[min(c, High)] }

// Channel is the range of delays of one priority on a path, base round trip included.
type Channel struct {
	Priority      int
	Class         Class
	Target, Limit units.Duration // D_target and D_limit; units.Forever means no limit
	WLS           cc.Packets     // W_LS, the step of linear start
	Direct        bool           // a flow starts without a probe
}

// Of returns the channel of a priority on a path.
func (c Channels) Of(priority int, path cc.Path) (Channel, error) {
	o, err := c.read(&path)
	if err != nil {
		return Channel{}, err
	}
	return o.channel(priority, path.BaseRTT)
}

// channel computes the channel of a priority as in section 4.3.2: D_target = BaseRtt + i·(A+B) and
// D_limit = D_target + A/2 + B, where i of the lowest priority is 1.
func (o *options) channel(priority int, base units.Duration) (Channel, error) {
	if priority < 0 || priority >= o.n {
		return Channel{},
			fmt.Errorf("prioplus: priority %d out of range [0, %d)",
				priority, o.n)
	}
	ch := Channel{Priority: priority,
		Direct: priority >= o.n-max(o.count(o.direct), o.free())}
	ch.Target = base + units.Duration(priority+1)*(o.a+o.b)
	ch.Limit = ch.Target + o.a/2 + o.b
	if o.limit > 0 {
		ch.Limit = ch.Target + o.limit
	}
	if priority >= o.n-o.free() {
		ch.Limit = units.Forever
	}
	switch {
	case priority >= o.n-o.count(o.high):
		ch.Class, ch.WLS = High, o.wHigh
	case priority < int(o.low*float64(o.n)):
		ch.Class, ch.WLS = Low, o.wLow
	default:
		ch.Class, ch.WLS = Middle, o.wMiddle
	}
	return ch, nil
}

// Table writes the channels on a path, the highest first.
func (c Channels) Table(w io.Writer, path cc.Path) error {
	o, err := c.read(&path)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "priority\tclass\tD_target\tD_limit\tqueue at D_target\tW_LS\tstarts with")
	for i := o.n - 1; i >= 0; i-- {
		ch, _ := o.channel(i, path.BaseRTT)
		start := "a probe"
		if ch.Direct {
			start = "data"
		}
		fmt.Fprintf(t, "%d\t%v\t%v\t%v\t%v\t%.4g packets\t%s\n", i, ch.Class, ch.Target, ch.Limit,
			path.LineRate.Bytes(ch.Target-path.BaseRTT), float64(ch.WLS), start)
	}
	return t.Flush()
}

// Spec is an algorithm with a channel. It is comparable.
type Spec struct {
	Inner    cc.Spec
	Channels Channels
	Priority int
}

// Check returns the errors that do not depend on the path.
func (s Spec) Check() error {
	if err := s.Inner.CheckSteered(); err != nil {
		return err
	}
	o, err := s.Channels.read(nil)
	if err != nil {
		return err
	}
	_, err = o.channel(s.Priority, 0)
	return err
}

// String returns the full description.
func (s Spec) String() string {
	return fmt.Sprintf("%v with priority %d of %v", s.Inner, s.Priority, s.Channels)
}

// Name returns the short form.
func (s Spec) Name() string { return fmt.Sprintf("%s/%d", s.Inner.Name(), s.Priority) }

// New makes the algorithm for one flow. It returns an error for an algorithm without a delay
// target, a priority without a channel, and a path without delay samples.
func (s Spec) New(path cc.Path) (cc.Algorithm, error) {
	inner, err := s.Inner.Steered(path)
	if err != nil {
		return nil, fmt.Errorf("prioplus: %w", err)
	}
	if path.Signals&cc.SignalDelay == 0 {
		return nil, errors.New("prioplus: the path gives no delay samples")
	}
	o, err := s.Channels.read(&path)
	if err != nil {
		return nil, err
	}
	ch, err := o.channel(s.Priority, path.BaseRTT)
	if err != nil {
		return nil, err
	}
	if o.oneWay && path.Signals&cc.SignalOneWay == 0 {
		return nil, fmt.Errorf("prioplus: channels %v: one_way needs one-way delay, but "+
			"the path gives %v", s.Channels, path.Signals)
	}
	return newPrioPlus(inner, ch, o, path), nil
}

// minCwnd is the least window of the original CC: that of Swift. A flow stops long before.
const minCwnd cc.Packets = 0.001

func newPrioPlus(inner cc.Steerable, ch Channel, o options, path cc.Path) *PrioPlus {
	perPicosec := float64(path.LineRate) / 8 / float64(units.Second) / float64(path.Payload)
	c := &constants{
		Channel: ch, path: path, settings: o, innerEvents: inner.Events(), waiOrigin: inner.AI(),
		perPicosec: perPicosec,
		rtts: uint16(min(math.Round(perPicosec*float64(path.BaseRTT)/float64(ch.WLS)),
			math.MaxUint16)),
		// A probe has no payload, on each link it crosses.
		probeSaving: path.LineRate.Duration(path.Payload) * units.Duration(path.Hops+1),
	}
	if o.measureBase {
		c.base = o.newBase(path)
	}
	p := &PrioPlus{inner: inner, constants: c, flow: flow{rng: cc.NewRNG(path.Seed), nflow: 1,
		delay: path.BaseRTT}}
	p.stopped, p.idle = true, true
	if o.artifact {
		c.followArtifact()
	}
	p.steer()
	if o.oneWay {
		p.reverse = &reverseDelay{}
	}
	return p
}
