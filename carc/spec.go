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

// Spec holds the parameters of credit-based control. It is comparable. The zero Spec is one-way,
// and takes the cache's dimensions from the machine.
type Spec struct {
	settings string
	machine  Cache
}

// Cache describes the last-level cache of a machine. A field of 0 is unknown.
type Cache struct {
	Size units.Bytes
	Line units.Bytes
	DDIO units.Bytes // part of it that devices write into
}

// Parse reads settings, such as llc=4MiB,line=64,mode=rr,delta=off.
func Parse(text string) (Spec, error) {
	s := Spec{settings: strings.TrimSpace(text)}
	if _, err := s.read(nil); err != nil {
		return Spec{}, err
	}
	return s, nil
}

// String returns the text that Parse reads.
func (s Spec) String() string { return s.settings }

// On returns the Spec for a machine with this cache, from which unset parameters are taken.
func (s Spec) On(machine Cache) Spec {
	s.machine = machine
	return s
}

// RequestResponse reports whether messages are requests whose responses return their credits.
func (s Spec) RequestResponse() bool {
	o, err := s.read(nil)
	return err == nil && o.mode == "rr"
}

// Help writes an explanation of the parameters.
func Help(w io.Writer) error {
	var (
		o options
		s cc.Settings
	)
	o.declare(&s)
	return s.Explain(w)
}

// Table returns the parameters as a Markdown table.
func Table() string {
	var (
		o options
		s cc.Settings
	)
	o.declare(&s)
	return s.Table()
}

// options are the parameters.
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
		"size of the last-level cache; 0: the machine's")
	s.Param(&o.line, "line", "0B", "[0B, 4KiB]", "CARC 4: s_line",
		"size of a cache line, one credit; 0: the machine's, or 64 B")
	s.Param(&o.ddio, "ddio", "0B", "[0B, 4GiB]", "CARC 3.1",
		"part of the cache that devices write into; 0: the machine's, or 2 of 12 ways")
	s.Param(&o.receives, "receives", "0B", "[0B, inf)", "CARC 3.1: RQs_SIZE",
		"size of all posted receive buffers, beyond which the state is S4; 0: unknown")
	s.Param(&o.mode, "mode", "oneway", "oneway, rr", "CARC 4",
		"how credits are returned: oneway: by the receiver; rr: by the response to a request")
	s.Param(&o.writes, "writes", "off", "", "OURS", "a WRITE without immediate takes credits, "+
		"too; the receiver's program reports its consumption")
	s.Param(&o.delta, "delta", "auto", "", "CARC 4, formula 2",
		"additional credits: auto, off, or a number of lines, which may be negative")
	s.Param(&o.share, "share", "all", "all, active", "OURS", "connections that share the pool: "+
		"all, or the active ones of the highest priority, while the others have credits for one "+
		"packet")
	s.Param(&o.weight, "weight", "1", "[1, 64]", "OURS",
		"weight of a connection's share of the pool")
	s.Param(&o.priority, "priority", "0", "[0, 7]", "OURS",
		"priority of a connection with share=active; larger is higher")
	s.Param(&o.hold, "hold", "1ms", "[0s, 1s]", "OURS",
		"delay before the share of a connection that ended is distributed")
	s.Param(&o.gather, "gather", "10us", "[0s, 10ms]", "OURS",
		"how long lines wait for more to be returned in the same CREDIT")
}

// read parses the settings into options. With a path, all options must be known.
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

// fill takes unset options from the machine.
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
			return fmt.Errorf("delta=%s, want auto, off or a number of lines", o.delta)
		}
		o.fixed = Lines(n)
	}
	switch {
	case o.line&(o.line-1) != 0:
		return fmt.Errorf("line=%v, want a power of two", o.line)
	case o.llc > 0 && o.llc < o.line:
		return fmt.Errorf("llc=%v, want at least one line of %v", o.llc, o.line)
	case o.llc > 0 && o.ddio > o.llc:
		return fmt.Errorf("ddio=%v, want at most llc=%v", o.ddio, o.llc)
	case o.llc > 0 && Lines(o.llc/o.line) > MaxCredits:
		return fmt.Errorf("llc=%v, want at most %d lines of %v", o.llc, MaxCredits, o.line)
	case path == nil:
		return nil
	case path.BaseRTT <= 0 || path.Payload <= 0:
		return fmt.Errorf("path with base round-trip time %v and payload %v, want both positive",
			path.BaseRTT, path.Payload)
	case o.llc == 0:
		return errors.New(
			"size of the last-level cache unknown on this machine, want a setting such as llc=4MiB")
	}
	return nil
}

// Endpoint returns the state that the connections of one receiver share: the credit pool and the
// Sensor. Cores that share a cache have an Endpoint each, with a part of the cache (llc).
func (s Spec) Endpoint() *Endpoint { return &Endpoint{spec: s} }

// Endpoint makes the Gates and Granters of one receiver.
type Endpoint struct {
	spec   Spec
	pool   *pool
	sensor Sensor
}

// Share is the part of the pool that a connection gets.
type Share struct {
	Weight   int // relative to the weights of other connections
	Priority int // with share=active; larger is higher
}

// Spec returns the Spec that the Endpoint was made with.
func (e *Endpoint) Spec() Spec { return e.spec }

// Sensor returns the sensor of the receiver's cache; nil before the first New.
func (e *Endpoint) Sensor() *Sensor {
	if e.pool == nil {
		return nil
	}
	return &e.sensor
}

// New makes both halves for one flow. It returns an error if they cannot work on this path.
func (e *Endpoint) New(path cc.Path) (*Gate, *Granter, error) { return e.NewShare(path, Share{}) }

// NewShare is New for a connection whose weight or priority differs from the Spec's. A zero field
// means the Spec's value.
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
	if share.Weight < 1 || share.Weight > maxWeight || share.Priority < 0 ||
		share.Priority > maxPriority {
		return nil, nil, fmt.Errorf("carc: weight %d and priority %d out of range [1, %d] and "+
			"[0, %d]", share.Weight, share.Priority, maxWeight, maxPriority)
	}
	if e.pool == nil {
		e.sensor.init(&o)
		e.pool = newPool(&o, &e.sensor)
	}
	e.sensor.window = max(e.sensor.window, path.BaseRTT)
	return newGate(&o, path), newGranter(&o, path, e.pool, share), nil
}

const (
	maxWeight   = 64
	maxPriority = 7
)

var (
	_ cc.CreditGate    = (*Gate)(nil)
	_ cc.CreditGranter = (*Granter)(nil)
)
