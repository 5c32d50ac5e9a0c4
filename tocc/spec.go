package tocc

import (
	"fmt"
	"strings"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Spec is a point of the design space. It is comparable; the zero Spec is ToCC of the paper.
type Spec struct {
	scheme   string // "" is tocc
	settings string // without cc
	cc       string
	control  cc.Factory // in place of cc, when it is not nil
}

// Parse reads settings of ToCC, such as unsch=0,k=4096,cc=dcqcn:g=0.01, or a scheme's name and
// settings, such as homa:overcommit=4 or expresspass+aeolus. An algorithm with parameters comes
// last: they are all of them its.
func Parse(text string) (Spec, error) {
	text = strings.TrimSpace(text)
	name, rest, _ := strings.Cut(text, ":")
	if strings.Contains(name, "=") {
		name, rest = "", text
	}
	s := Spec{scheme: strings.TrimSpace(name)}
	s.settings, s.cc = cutControl(strings.TrimSpace(rest))
	if _, err := s.read(nil); err != nil {
		return Spec{}, err
	}
	return s, nil
}

// cutControl takes cc=... out of settings.
func cutControl(text string) (settings, control string) {
	before, after, ok := "", text, false
	if after, ok = strings.CutPrefix(text, "cc="); !ok {
		if before, after, ok = strings.Cut(text, ",cc="); !ok {
			return text, ""
		}
	}
	colon, comma := strings.Index(after, ":"), strings.Index(after, ",")
	if comma < 0 || colon >= 0 && colon < comma {
		return before, after
	}
	return strings.Trim(before+after[comma:], ","), after[:comma]
}

// String answers what Parse reads.
func (s Spec) String() string {
	parts := s.settings
	if control := s.controlName(); control != "" {
		parts = strings.TrimPrefix(parts+",cc="+control, ",")
	}
	switch {
	case parts == "":
		return s.Name()
	case s.scheme == "":
		return parts
	}
	return s.scheme + ":" + parts
}

func (s Spec) controlName() string {
	if s.control != nil {
		return s.control.String()
	}
	return s.cc
}

// Name is the short one.
func (s Spec) Name() string {
	if s.scheme == "" {
		return "tocc"
	}
	return s.scheme
}

// WithControl answers the same point with this token CC: one that has no name here, such as a
// virtual priority.
func (s Spec) WithControl(c cc.Factory) Spec {
	s.control = c
	return s
}

func settings(scheme preset) *cc.Settings {
	var (
		o options
		s cc.Settings
	)
	o.declare(&s, scheme)
	return &s
}

// Table is the parameters of ToCC as a table of Markdown.
func Table() string { return settings(presets["tocc"]).Table() }

// read fills the options. What is relative to the path is left out while that is nil.
func (s Spec) read(path *cc.Path) (options, error) {
	var (
		o   options
		set cc.Settings
	)
	scheme, err := schemeOf(s.Name())
	if err != nil {
		return o, err
	}
	o.declare(&set, scheme)
	o.unsch = unknown
	if err = set.Read(s.settings, path); err == nil {
		if s.cc != "" {
			o.cc = s.cc
		}
		if s.control != nil {
			o.cc = s.control.String()
		}
		err = s.check(&o, path)
	}
	if err != nil {
		return o, fmt.Errorf("tocc: %v: %w", s, err)
	}
	return o, nil
}

// unknown is what is relative to a path that is not known yet.
const unknown units.Bytes = -1

func (s Spec) check(o *options, path *cc.Path) error {
	if err := o.check(); err != nil {
		return err
	}
	if _, err := o.levels(); err != nil {
		return err
	}
	if _, err := s.tokenCC(o); err != nil {
		return err
	}
	if path == nil {
		return nil
	}
	return o.onPath(path)
}

// tokenCC answers the token CC; nil for none, and for that of rate-based generation.
func (s Spec) tokenCC(o *options) (cc.Factory, error) {
	switch {
	case s.control != nil:
		return s.control, nil
	case o.cc == "none", o.cc == "feedback":
		return nil, nil
	}
	spec, err := cc.Parse(o.cc)
	return spec, err
}

// New makes the sender's and the receiver's half for one direction of one connection. The receiver
// shares nothing with others: for Homa use Endpoint.
func (s Spec) New(path cc.Path) (cc.Gate, cc.Granter, error) { return s.Endpoint().New(path) }

// Frames answers what a TOKEN takes of a link, and what the data takes that it releases: what a
// switch's limit and its thresholds for tokens are made from.
func (s Spec) Frames(path cc.Path) (token, data units.Bytes, err error) {
	o, err := s.read(&path)
	if err != nil {
		return 0, 0, err
	}
	return TokenWire, o.wire(o.k, path.Payload), nil
}

// Share is the part of a link that switches limit tokens to on this path; 0 when they do not.
func (s Spec) Share(path cc.Path) (float64, error) {
	o, err := s.read(&path)
	if err != nil || !o.limiter {
		return 0, err
	}
	return Limiter(TokenWire, o.wire(o.k, path.Payload)), nil
}

// Endpoint is what the receivers of one endpoint share.
func (s Spec) Endpoint() *Endpoint { return &Endpoint{spec: s} }

// Endpoint makes the senders and receivers of one endpoint, one pair for each direction of a
// connection.
type Endpoint struct {
	spec     Spec
	schedule schedule
}

// Spec answers which point of the design space it is.
func (e *Endpoint) Spec() Spec { return e.spec }

// New makes both halves for one flow, or says why they cannot work on this path.
func (e *Endpoint) New(path cc.Path) (cc.Gate, cc.Granter, error) {
	if path.LineRate <= 0 || path.BaseRTT <= 0 || path.Payload <= 0 {
		return nil, nil, fmt.Errorf("tocc: a path needs line rate, base round trip and the "+
			"payload of a packet, and this one is %v, %v, %v", path.LineRate, path.BaseRTT,
			path.Payload)
	}
	o, err := e.spec.read(&path)
	if err != nil {
		return nil, nil, err
	}
	p, err := newPlan(o, path)
	if err != nil {
		return nil, nil, fmt.Errorf("tocc: %v: %w", e.spec, err)
	}
	if o.generation == "rate" {
		return newCreditSender(p), newCreditReceiver(p), nil
	}
	control, err := e.spec.algorithm(p)
	if err != nil {
		return nil, nil, err
	}
	return newSender(p), newReceiver(p, control, &e.schedule), nil
}

// algorithm makes the token CC of one flow: for it a token is a packet of K bytes.
func (s Spec) algorithm(p *plan) (cc.Algorithm, error) {
	c, err := s.tokenCC(&p.options)
	if c == nil || err != nil {
		return nil, err
	}
	path := p.path
	path.Payload = p.k
	path.Signals = cc.SignalDelay | cc.SignalMarks
	if p.echo == "cnp" {
		path.Signals &^= cc.SignalMarks
	}
	a, err := c.New(path)
	if err != nil {
		return nil, fmt.Errorf(
			"tocc: %v: tokens tell delay, marks by echo=data, and nothing else: %w", s, err)
	}
	return a, nil
}

// plan is the options with what the path makes of them.
type plan struct {
	options
	path       cc.Path
	bdp        units.Bytes // what line rate carries in a base round trip, on the wire
	kw         units.Bytes // Kw: what a token releases, on the wire
	unit       units.Bytes // payload of a full packet
	tokenClass uint8
	sizes      []units.Bytes // that part the unscheduled priorities
}

const (
	ect0 = 0b10 // ECN capable (RFC 3168)
)

func newPlan(o options, path cc.Path) (*plan, error) {
	sizes, err := o.levels()
	o.most = min(o.most, mostWindow)
	o.window = min(o.window, o.most)
	return &plan{
		options: o, path: path, bdp: path.BDP(), unit: path.Payload,
		kw:         o.wire(o.k, path.Payload),
		tokenClass: uint8(o.tokenDSCP)<<2 | ect0,
		sizes:      sizes,
	}, err
}

// spacing is what a TOKEN that releases so much says of it, for it to be followed after as long as
// that takes of the link: with its own share of the link where there is a limiter, else without
// (NDP's pulls).
func (p *plan) spacing(wire units.Bytes) units.Bytes {
	switch {
	case !p.pace:
		return 0
	case !p.limiter:
		return max(1, wire-TokenWire)
	}
	return wire
}
