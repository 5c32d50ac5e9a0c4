package bottleneck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/sim/cluster"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Config is the network and how long it is looked at. Links of senders may differ in length.
type Config struct {
	Seed    uint64
	Rate    units.BitRate  // of all links
	Delay   units.Duration // of all links, but of the senders' where DelayOf says otherwise
	DelayOf func(sender int) units.Duration
	// Place, unless nil, says which sender and which receiver a flow has, from 0; two flows cannot
	// have both in common. With more than one receiver there are two switches, and the link between
	// them is the bottleneck.
	Place   func(flow int) (sender, receiver int)
	PathMTU units.Bytes // 0 means 1024
	ECN     fabric.ECN
	ECNOf   map[uint8]fabric.ECN // of flows of a DSCP, in place of ECN
	// of the switch when a flow is controlled by Bolt; the zero value means cluster.Bolt
	Bolt   fabric.Bolt
	CNPs   units.Duration       // between CNPs of a flow, at least; 0 is transport's default
	Buffer units.Bytes          // of a switch; 0 is without limit
	Switch *fabric.SwitchConfig // unless nil, in place of Buffer, ECN, ECNOf and Bolt
	Tokens int                  // the queue of TOKENs, unless 0
	// Prepare, unless nil, may arrange for what happens in the network at times after zero.
	Prepare  func(net *fabric.Network, zero units.Time)
	Chunk    units.Bytes // longest message of a flow; 0 means 1 MiB, of which two are outstanding
	Until    units.Duration
	Interval units.Duration // of the goodput; 0 means 20 µs
	Jitter   units.Duration // by which each start is late, at most: drawn from Seed
	// KeepGaps makes a new rate count from the packet after the one that waits, as published
	// simulators have it: what waits has got its time when the one before left. Ours re-times it.
	KeepGaps bool
	// Plain makes the receiver anybody's RoCEv2, which acknowledges at most once in Coalesce what
	// came since; the Result counts what such a peer would not know.
	Plain    bool
	Coalesce units.Duration
	// HostOf, unless nil, changes what a host is like: the senders are the first, then come the
	// receivers.
	HostOf func(host int, c *fabric.HostConfig)
	// Timeout is the spec's code for the time an ACK may take; 0 means 12, 16.8 ms.
	Timeout uint8
	// Noise, unless nil, draws what each delay that an algorithm hears of is beyond the true one.
	Noise func(*rand.Rand) units.Duration
	// Controller, unless nil, makes what runs the congestion control of a host. Algorithms hear
	// what it tells them and nothing else: flows have no Stop, Heard, Window, Sent, Finish, Ended
	// and Acked then, KeepGaps and Noise no effect, and a run takes until Until.
	Controller func(host int, now units.Time) (cc.Controller, error)
}

// Flow is one flow, which has a sender of its own unless Config.Place says otherwise.
type Flow struct {
	Back    bool // from its receiver to its sender
	Start   units.Duration
	Stop    units.Duration // sends nothing more from then on; 0 is when all Bytes are through
	Bytes   units.Bytes    // payload; 0 is as much as time admits
	Control cc.Control
	// Admission, unless nil, makes what lets packets leave besides: a point of package tocc. All
	// flows have one, or none.
	Admission Admission
	DSCP      uint8 // of data; below 8, or it has another queue
	// Heard, unless nil, is told of what the algorithm was told, after that, of what was sent and
	// acknowledged in any case, and of the time since the nominal start.
	Heard func(ev *cc.Event, a cc.Algorithm, at units.Duration)
}

// Many answers n flows alike.
func Many(n int, f Flow) []Flow {
	flows := make([]Flow, n)
	for i := range flows {
		flows[i] = f
	}
	return flows
}

// Admission makes the sender's and the receiver's half of receiver-driven control.
type Admission interface {
	New(cc.Path) (cc.Gate, cc.Granter, error)
}

// Result is what there was to see. Times count from the nominal start, the zero of Config and Flow.
type Result struct {
	BaseRTT units.Duration // of a full packet of the first flow
	Flows   []*Trace
	// toward the receivers, in bytes as the link counts them: over its rate it is the delay
	Queue   *fabric.Series
	Port    fabric.QueueStats
	Stored  *fabric.Series // bytes in the buffer of the fullest switch, every 10 µs
	Fullest units.Bytes    // most that was in the buffer of a switch
	Pauses  uint64         // frames with which switches paused who sends to them
	// those that wait to go back through the link between two switches, as Queue; else nil
	Tokens  *fabric.Series
	Granted uint64         // TOKENs that left a switch toward senders
	Foreign int            // frames that a plain peer would not know
	End     units.Duration // Until, or when the last flow ended
}

// Trace is what there was to see of a flow.
type Trace struct {
	Flow
	Goodput *fabric.Series // bits of payload that arrived in order, a second
	Window  *fabric.Series // packets, as the algorithm decided
	// Sent are the times at which packets left the transport; only where Bytes is given.
	Sent []units.Time
	// Finish is the last acknowledgement; of a flow that did not end, the last so far.
	Finish units.Duration
	Ended  bool
	Acked  units.Bytes

	conn     *cluster.Conn
	noise    func() units.Duration
	zero     units.Time
	payload  units.Bytes
	before   uint64
	decision cc.Decision
}

// FCT is the completion time. That of a stopped flow ends with the last acknowledgement of what was
// on its way.
func (t *Trace) FCT() units.Duration { return t.Finish - t.Start }

// warm is how long hosts have to find each other before the zero of time.
const warm = 100 * units.Microsecond

// Warm is how long before the zero of time connections, and with them algorithms, are made.
const Warm = warm

const (
	onWire   = 24 // check sequence, preamble and gap
	unstored = 20 // of which a switch stores the check sequence only
)

// Overhead is what a packet takes of a link besides its payload.
const Overhead = wire.EthernetLen + wire.IPv4Len + wire.UDPLen + wire.BTHLen + wire.ICRCLen + onWire

// Token is what a TOKEN takes.
const Token = Overhead + 12

// asOnLink is how much more a packet takes of a link than of a switch's buffer.
func asOnLink(packet units.Bytes) float64 { return float64(packet) / float64(packet-unstored) }

// Cap is the payload that a link carries.
func (c *Config) Cap() float64 {
	return float64(c.Rate) * float64(c.PathMTU) / float64(c.PathMTU+Overhead)
}

// dscp of acknowledgements: class selector 7, the highest class.
const answerClass = 56 << 2

// Run simulates flows until all have ended or the time is over.
func Run(ctx context.Context, c Config, flows []Flow) (*Result, error) {
	if c.PathMTU == 0 {
		c.PathMTU = transport.MTU1024
	}
	if c.Interval == 0 {
		c.Interval = 20 * units.Microsecond
	}
	if c.Timeout == 0 {
		c.Timeout = 12 // never, but for what is lost
	}
	at, err := c.hosts(flows)
	if err != nil {
		return nil, err
	}
	net := c.network(flows, at)
	r := &Result{}
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	noise := func() units.Duration { return 0 }
	if c.Noise != nil {
		random := rand.New(rand.NewPCG(c.Seed, 1))
		noise = func() units.Duration { return c.Noise(random) }
	}
	for _, f := range flows {
		if c.Jitter > 0 {
			f.Start += units.Duration(rng.Int64N(int64(c.Jitter)))
		}
		r.Flows = append(r.Flows, &Trace{Flow: f, Window: &fabric.Series{}, payload: c.PathMTU,
			zero: units.Time(warm), noise: noise})
	}
	of := func(from, to int) int { return at.flow[[2]int{from, to}] }
	var admit func(from, to, n int, path cc.Path) (cc.Gate, cc.Granter, error)
	if slices.ContainsFunc(flows, func(f Flow) bool { return f.Admission != nil }) {
		admit = func(from, to, _ int, path cc.Path) (cc.Gate, cc.Granter, error) {
			return flows[of(from, to)].Admission.New(path)
		}
	}
	cl, err := cluster.New(net, cluster.Config{
		Seed: c.Seed, PathMTU: c.PathMTU, Chunk: c.Chunk, CNPInterval: c.CNPs, Timeout: c.Timeout,
		AnswerClass: answerClass,
		ControlOf:   func(from, to, _ int) cc.Control { return flows[of(from, to)].Control },
		ClassOf:     func(from, to, _ int) uint8 { return flows[of(from, to)].DSCP << 2 },
		Admit:       admit, Selective: admit != nil,
		Plain: c.Plain, Wrap: r.watch(c.Plain, at.senders), Controller: c.Controller,
		Around: func(from, to, _ int, a cc.Algorithm) cc.Algorithm {
			if c.Controller != nil {
				return a
			}
			return &tap{Algorithm: a, trace: r.Flows[of(from, to)], keepGaps: c.KeepGaps}
		},
	})
	if err != nil {
		return nil, err
	}
	for _, ends := range at.ends {
		if err := cl.Warm(ends[0], ends[1]); err != nil {
			return nil, err
		}
	}
	if err := net.Run(units.Time(warm)); err != nil {
		return nil, err
	}
	out := net.Switches()[0].Ports()[at.senders]
	r.BaseRTT = net.BaseRTT(at.ends[0][0], at.ends[0][1], c.PathMTU+Overhead-onWire,
		Overhead-onWire+wire.AETHLen)
	queue, tokens := out.RecordQueue(0), (*fabric.Series)(nil)
	if c.Tokens > 0 && at.receivers > 1 {
		tokens = out.Peer().RecordQueue(c.Tokens)
	}
	if c.Prepare != nil {
		c.Prepare(net, units.Time(warm))
	}
	var failed error
	for i, t := range r.Flows {
		net.At(t.zero.Add(t.Start), func() {
			if err := t.begin(cl, at.ends[i]); err != nil {
				failed = err
				net.Stop()
			}
		})
		t.Goodput = net.SampleRate(c.Interval, t.received)
	}
	stored := net.Sample(10*units.Microsecond, func() float64 {
		most := units.Bytes(0)
		for _, s := range net.Switches() {
			most = max(most, s.Stored())
		}
		return float64(most)
	})
	net.Every(10*units.Microsecond, func(units.Time) bool {
		if ctx.Err() != nil || len(cl.Errors) > 0 || r.over(net.Now()) {
			net.Stop()
		}
		return true
	})
	if err := net.Run(units.Time(warm + c.Until)); err != nil && !errors.Is(err,
		fabric.ErrStopped) {
		return nil, err
	}
	if len(cl.Errors) > 0 {
		failed = cl.Errors[0]
	}
	if failed == nil {
		failed = ctx.Err()
	}
	r.Queue, r.Port, r.End = since(queue, warm, asOnLink(c.PathMTU+Overhead)), out.QueueStats(0),
		net.Now().Sub(units.Time(warm))
	if tokens != nil {
		r.Tokens = since(tokens, warm, asOnLink(Token))
	}
	for _, p := range net.Switches()[0].Ports()[:at.senders] {
		if c.Tokens > 0 {
			r.Granted += p.QueueStats(c.Tokens).Frames
		}
	}
	r.Stored = since(stored, warm, 1)
	for _, s := range net.Switches() {
		r.Fullest = max(r.Fullest, s.Stats().Fullest)
		for _, p := range s.Ports() {
			r.Pauses += p.Stats().Pauses
		}
	}
	for _, t := range r.Flows {
		// A rate is known at the end of its interval, and holds from its beginning.
		t.Goodput, t.Window = since(t.Goodput, warm+c.Interval, 1), since(t.Window, warm, 1)
	}
	return r, failed
}

// BaseRTT is that of a full packet and its acknowledgement through links of Delay.
func (c Config) BaseRTT() units.Duration {
	flows := []Flow{{Control: cc.Spec{}}}
	c.Place = nil
	at, _ := c.hosts(flows)
	return c.network(flows, at).BaseRTT(0, 1, c.PathMTU+Overhead-onWire,
		Overhead-onWire+wire.AETHLen)
}

// begin posts the flow.
func (t *Trace) begin(cl *cluster.Cluster, ends [2]int) error {
	bytes := t.Bytes
	if bytes == 0 {
		bytes = 1 << 50
	}
	f, err := cl.Start(workload.Flow{Src: ends[0], Dst: ends[1], Bytes: bytes})
	if err != nil {
		return fmt.Errorf("bottleneck: flow from host %d to %d: %w", ends[0], ends[1], err)
	}
	t.conn, t.before = f.Conn, f.Conn.Received()
	return nil
}

func (t *Trace) received() uint64 {
	if t.conn == nil {
		return 0
	}
	return t.conn.Received() - t.before
}

// over says whether nothing more can come of any flow: all bytes are through, or it stopped long
// ago.
func (r *Result) over(now units.Time) bool {
	for _, t := range r.Flows {
		switch {
		case t.Ended:
		case t.Stop > 0 && now.Sub(t.zero) > max(t.Stop, t.Finish)+units.Millisecond:
		default:
			return false
		}
	}
	return true
}

// Jain is the index of fairness of what arrived of the flows in a span: 1 is equal, 1/n is one for
// all.
func (r *Result) Jain(from, to units.Duration) float64 {
	var x []float64
	for _, t := range r.Flows {
		x = append(x, t.Goodput.Mean(units.Time(from), units.Time(to)))
	}
	return Jain(x...)
}

// Jain is the index of fairness.
func Jain(x ...float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += v
		squares += v * v
	}
	return sum * sum / (float64(len(x)) * squares)
}

// Total is the goodput of all flows over time.
func (r *Result) Total() *fabric.Series {
	total := &fabric.Series{}
	for i, at := range r.Flows[0].Goodput.Times {
		sum := 0.0
		for _, t := range r.Flows {
			sum += t.Goodput.Values[i]
		}
		total.Add(at, sum)
	}
	return total
}

// since counts time from zero, and scales the values.
func since(s *fabric.Series, zero units.Duration, by float64) *fabric.Series {
	out := &fabric.Series{}
	for i, at := range s.Times {
		out.Add(at.Add(-zero), s.Values[i]*by)
	}
	return out
}
