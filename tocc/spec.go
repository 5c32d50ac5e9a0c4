package tocc

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Spec is a point of the design space. It is comparable; the zero Spec is the paper's ToCC.
type Spec struct {
	scheme   string // empty: tocc
	settings string // without cc
	cc       string
	factory  cc.Factory // replaces cc unless it is nil
}

// Parse reads parameters of ToCC, such as unsch=0,k=4096,cc=dcqcn:g=0.01, or the name of a scheme
// and parameters, such as homa:overcommit=4 or expresspass+aeolus. A cc with parameters of its own
// comes last, since all that follows belongs to it.
func Parse(text string) (Spec, error) {
	text = strings.TrimSpace(text)
	name, rest, _ := strings.Cut(text, ":")
	if strings.Contains(name, "=") {
		name, rest = "", text
	}
	s := Spec{scheme: strings.TrimSpace(name)}
	s.settings, s.cc = cutCC(strings.TrimSpace(rest))
	if s.cc != "" && hasCC(s.settings) {
		return Spec{}, fmt.Errorf("tocc: %q: cc is given twice", text)
	}
	if _, err := s.read(nil); err != nil {
		return Spec{}, err
	}
	return s, nil
}

// cutCC splits cc=... off the settings.
func cutCC(text string) (settings, control string) {
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
	return strings.TrimFunc(before+after[comma:], func(r rune) bool {
		return r == ',' || unicode.IsSpace(r)
	}), after[:comma]
}

// hasCC reports whether settings have a cc.
func hasCC(settings string) bool {
	for setting := range strings.SplitSeq(settings, ",") {
		if name, _, _ := strings.Cut(setting, "="); strings.TrimSpace(name) == "cc" {
			return true
		}
	}
	return false
}

// String returns the text that Parse reads.
func (s Spec) String() string {
	parts := s.settings
	if control := s.ccName(); control != "" {
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

func (s Spec) ccName() string {
	if s.factory != nil {
		return s.factory.String()
	}
	return s.cc
}

// Name returns the name of the scheme.
func (s Spec) Name() string {
	if s.scheme == "" {
		return "tocc"
	}
	return s.scheme
}

// WithTokenCC returns the same point with another token CC, such as one with a virtual priority,
// which has no name here.
func (s Spec) WithTokenCC(c cc.Factory) Spec {
	s.factory = c
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

// Table returns the parameters of ToCC as a Markdown table.
func Table() string { return settings(presets["tocc"]).Table() }

// read returns the options. While path is nil, what is relative to it is neither stored nor
// checked.
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
		if s.factory != nil {
			o.cc = s.factory.String()
		}
		err = s.check(&o, path)
	}
	if err != nil {
		if s.scheme != "" {
			err = fmt.Errorf("%s: %w", s.scheme, err)
		}
		return o, fmt.Errorf("tocc: %w", err)
	}
	return o, nil
}

// unknown stands for an amount that is relative to a path not known yet.
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
	return o.checkPath(path)
}

// tokenCC returns the factory of the token CC, or nil for none and for rate-based generation.
func (s Spec) tokenCC(o *options) (cc.Factory, error) {
	switch {
	case s.factory != nil:
		return s.factory, nil
	case o.cc == "none", o.cc == "feedback":
		return nil, nil
	}
	spec, err := cc.Parse(o.cc)
	return spec, err
}

// New makes the two halves for one direction of one connection. The receiver shares nothing with
// others; for Homa use Endpoint.
func (s Spec) New(path cc.Path) (cc.Gate, cc.Granter, error) { return s.Endpoint().New(path) }

// Frames returns the length of a TOKEN on the wire, and that of the data which it releases. They
// determine the limits and thresholds of switches for tokens.
func (s Spec) Frames(path cc.Path) (token, data units.Bytes, err error) {
	o, err := s.read(&path)
	if err != nil {
		return 0, 0, err
	}
	return TokenWire, o.wire(o.k, path.Payload), nil
}

// Share returns the fraction of a link to which switches limit tokens on this path, or 0 if they do
// not.
func (s Spec) Share(path cc.Path) (float64, error) {
	o, err := s.read(&path)
	if err != nil || !o.limiter {
		return 0, err
	}
	return Limiter(TokenWire, o.wire(o.k, path.Payload)), nil
}

// Endpoint returns a new Endpoint of this scheme.
func (s Spec) Endpoint() *Endpoint { return &Endpoint{spec: s} }

// Endpoint makes the senders and receivers of one endpoint, a pair for each direction of a
// connection. Its receivers share a schedule.
type Endpoint struct {
	spec     Spec
	schedule schedule
}

// Spec returns the point of the design space.
func (e *Endpoint) Spec() Spec { return e.spec }

// New makes the two halves for one flow. It returns an error if they cannot work on this path.
func (e *Endpoint) New(path cc.Path) (cc.Gate, cc.Granter, error) {
	if path.LineRate <= 0 || path.BaseRTT <= 0 || path.Payload <= 0 {
		return nil, nil, fmt.Errorf("tocc: line rate %v, base round trip %v and payload %v of a "+
			"packet, want all of them above 0", path.LineRate, path.BaseRTT, path.Payload)
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

// algorithm makes the token CC of one flow, for which a token is a packet of K bytes.
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
			"tocc: %v: tokens give delay, marks with echo=data, and nothing else: %w", s, err)
	}
	return a, nil
}

// plan is the options together with what follows from them on a path.
type plan struct {
	options
	path       cc.Path
	bdp        units.Bytes // line rate times base round trip, on the wire
	kw         units.Bytes // K_w: what a token releases, on the wire
	unit       units.Bytes // payload of a full packet
	tokenClass uint8
	sizes      []units.Bytes // cutoffs between the unscheduled priorities
}

const (
	ect0 = 0b10 // ECN capable (RFC 3168)
)

func newPlan(o options, path cc.Path) (*plan, error) {
	sizes, err := o.levels()
	o.maxWindow = min(o.maxWindow, windowLimit)
	o.window = min(o.window, o.maxWindow)
	return &plan{
		options: o, path: path, bdp: path.BDP(), unit: path.Payload,
		kw:         o.wire(o.k, path.Payload),
		tokenClass: uint8(o.tokenDSCP)<<2 | ect0,
		sizes:      sizes,
	}, err
}

// spacing returns Releases of a TOKEN that releases so much: the next TOKEN follows after the time
// that this takes on the link, including the TOKEN's own share if there is a limiter, excluding it
// otherwise (NDP's pulls).
func (p *plan) spacing(wire units.Bytes) units.Bytes {
	switch {
	case !p.pace:
		return 0
	case !p.limiter:
		return max(1, wire-TokenWire)
	}
	return wire
}
