package carc

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Spec says how credits are given. It is comparable; the zero Spec is one-way, and takes all from
// the machine.
type Spec struct {
	settings string
	machine  Cache
}

// Cache is the last-level cache of a machine. What is 0 is not known.
type Cache struct {
	Size units.Bytes
	Line units.Bytes
	DDIO units.Bytes // into how much of it devices write
}

// Parse reads settings, such as llc=4MiB,line=64,mode=rr,delta=off.
func Parse(text string) (Spec, error) {
	s := Spec{settings: strings.TrimSpace(text)}
	if _, err := s.read(nil); err != nil {
		return Spec{}, err
	}
	return s, nil
}

// String answers what Parse reads.
func (s Spec) String() string { return s.settings }

// On answers the same on a machine with this cache: what the settings do not say is taken from it.
func (s Spec) On(machine Cache) Spec {
	s.machine = machine
	return s
}

// RequestResponse says whether messages are requests, whose responses return their credits.
func (s Spec) RequestResponse() bool {
	o, err := s.read(nil)
	return err == nil && o.mode == "rr"
}

// Help explains the parameters.
func Help(w io.Writer) error {
	var (
		o options
		s cc.Settings
	)
	o.declare(&s)
	return s.Explain(w)
}

// Table is the parameters as a table of Markdown.
func Table() string {
	var (
		o options
		s cc.Settings
	)
	o.declare(&s)
	return s.Table()
}

// options is the parameters.
type options struct {
	llc, ddio, line units.Bytes
	receives        units.Bytes
	mode            string
	writes          bool
	delta           string
	share           string
	weight          int
	priority        int
	hold            units.Duration
	gather          units.Duration

	adapts bool  // delta=auto
	fixed  Lines // delta, when it does not adapt
}

func (o *options) declare(s *cc.Settings) {
	s.Param(&o.llc, "llc", "0B", "[0B, 4GiB]", "CARC 4: s_llc",
		"last-level cache that credits stand for; 0: the machine's")
	s.Param(&o.line, "line", "0B", "[0B, 4KiB]", "CARC 4: s_line",
		"a line of it, a credit; 0: the machine's, or 64 B")
	s.Param(&o.ddio, "ddio", "0B", "[0B, 4GiB]", "CARC 3.1",
		"part of it that devices write into; 0: the machine's, or 2 of 12 ways")
	s.Param(&o.receives, "receives", "0B", "[0B, inf)", "CARC 3.1: RQs_SIZE",
		"space of all posted receive buffers, beyond which the state is S4; 0: not known")
	s.Param(&o.mode, "mode", "oneway", "oneway, rr", "CARC 4",
		"what returns credits: oneway: the receiver says so; rr: the response to a request")
	s.Param(&o.writes, "writes", "off", "", "OURS",
		"a WRITE without immediate takes credits, too: its receiver says when it has consumed it")
	s.Param(&o.delta, "delta", "auto", "", "CARC 4, formula 2",
		"loosened credits: auto, off, or a number of lines, which may be negative")
	s.Param(&o.share, "share", "all", "all, active", "OURS", "who shares the pool: all "+
		"connections, or those of the highest priority among the active ones, and the others "+
		"have a packet's credits")
	s.Param(&o.weight, "weight", "1", "[1, 64]", "OURS",
		"share of a connection, beside those of others")
	s.Param(&o.priority, "priority", "0", "[0, 7]", "OURS",
		"of a connection, with share=active; larger is higher")
	s.Param(&o.hold, "hold", "1ms", "[0s, 1s]", "OURS",
		"how long a pool waits before it gives away what a connection left")
	s.Param(&o.gather, "gather", "10us", "[0s, 10ms]", "OURS",
		"how long lines wait for more to be returned with them")
}

// read fills the options. On a path they must say all.
func (s Spec) read(path *cc.Path) (options, error) {
	var (
		o   options
		set cc.Settings
	)
	o.declare(&set)
	err := set.Read(s.settings, path)
	if err == nil {
		o.fill(s.machine)
		err = o.check(path)
	}
	if err != nil {
		return o, fmt.Errorf("carc: %v: %w", s, err)
	}
	return o, nil
}

// fill takes from the machine what nobody said.
func (o *options) fill(machine Cache) {
	if o.llc == 0 {
		if o.llc = machine.Size; o.ddio == 0 {
			o.ddio = machine.DDIO
		}
	}
	if o.line == 0 {
		o.line = machine.Line
	}
	if o.line == 0 {
		o.line = 64
	}
	if o.ddio == 0 {
		o.ddio = o.llc / 6 // two of twelve ways
	}
}

func (o *options) check(path *cc.Path) error {
	switch o.delta {
	case "auto":
		o.adapts = true
	case "off":
	default:
		n, err := strconv.ParseInt(o.delta, 10, 32)
		if err != nil {
			return fmt.Errorf("delta=%s is neither auto nor off nor a number of lines", o.delta)
		}
		o.fixed = Lines(n)
	}
	switch {
	case o.line&(o.line-1) != 0:
		return fmt.Errorf("line=%v is no power of two", o.line)
	case o.llc > 0 && o.llc < o.line:
		return fmt.Errorf("llc=%v is less than a line of %v", o.llc, o.line)
	case o.llc > 0 && o.ddio > o.llc:
		return fmt.Errorf("ddio=%v is more than llc=%v", o.ddio, o.llc)
	case o.llc > 0 && Lines(o.llc/o.line) > MostCredits:
		return fmt.Errorf("llc=%v has more than %d lines of %v", o.llc, MostCredits, o.line)
	case path == nil:
		return nil
	case path.BaseRTT <= 0 || path.Payload <= 0:
		return fmt.Errorf("a path needs base round trip and the payload of a packet, and this "+
			"one is %v, %v", path.BaseRTT, path.Payload)
	case o.llc == 0:
		return errors.New(
			"the last-level cache is not known: the machine does not tell, say llc=4MiB or so")
	}
	return nil
}

// Endpoint is what the connections of one receiver share: its cache, and what senses how that
// fares. Cores that share a cache have an Endpoint each, with a part of it (llc).
func (s Spec) Endpoint() *Endpoint { return &Endpoint{spec: s} }

// Endpoint makes the pairs of one endpoint.
type Endpoint struct {
	spec   Spec
	pool   *pool
	sensor Sensor
}

// Share is which part of the pool a connection has.
type Share struct {
	Weight   int // beside those of others
	Priority int // with share=active; larger is higher
}

// Spec answers how it gives credits.
func (e *Endpoint) Spec() Spec { return e.spec }

// Sensor answers what senses how the receiver fares; nil before the first New.
func (e *Endpoint) Sensor() *Sensor {
	if e.pool == nil {
		return nil
	}
	return &e.sensor
}

// New makes both halves for one flow, or says why they cannot work on this path.
func (e *Endpoint) New(path cc.Path) (*Gate, *Granter, error) { return e.NewShare(path, Share{}) }

// NewShare is New for a connection with another weight or priority than the Spec's; what is 0 is
// the Spec's.
func (e *Endpoint) NewShare(path cc.Path, share Share) (*Gate, *Granter, error) {
	o, err := e.spec.read(&path)
	if err != nil {
		return nil, nil, err
	}
	if share.Weight == 0 {
		share.Weight = o.weight
	}
	if share.Priority == 0 {
		share.Priority = o.priority
	}
	if share.Weight < 1 || share.Weight > mostWeight || share.Priority < 0 ||
		share.Priority > mostPriority {
		return nil, nil, fmt.Errorf("carc: weight %d and priority %d: there are weights of 1 to "+
			"%d, priorities of 0 to %d", share.Weight, share.Priority, mostWeight, mostPriority)
	}
	if e.pool == nil {
		e.sensor.init(&o)
		e.pool = newPool(&o, &e.sensor)
	}
	e.sensor.window = max(e.sensor.window, path.BaseRTT)
	return newGate(&o, path), newGranter(&o, path, e.pool, share), nil
}

const (
	mostWeight   = 64
	mostPriority = 7
)

var (
	_ cc.CreditGate    = (*Gate)(nil)
	_ cc.CreditGranter = (*Granter)(nil)
)
