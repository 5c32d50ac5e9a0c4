package perftest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// admission is a flag for admission control beside congestion control, tokens or credits, or a
// request for help.
type admission[S fmt.Stringer] struct {
	spec  **S
	parse func(string) (S, error)
	is    string // name, and prefix of errors
	asks  *admissionHelp
	help  admissionHelp
}

// Set parses the settings.
func (a *admission[S]) Set(v string) error {
	if v == "help" {
		*a.asks = a.help
		return nil
	}
	spec, err := a.parse(v)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), a.is+": "))
	}
	*a.spec = &spec
	return nil
}

func (a *admission[S]) String() string {
	if a.spec == nil || *a.spec == nil {
		return ""
	}
	return (**a.spec).String()
}

// Type returns the argument's name for --help.
func (a *admission[S]) Type() string { return a.is }

// admissionHelp is the error of a command line that requests help on a flag.
type admissionHelp struct {
	flag  string
	print func(io.Writer) error
}

func (h admissionHelp) Error() string { return "help requested: " + h.flag }

func (h admissionHelp) write(w io.Writer) error { return h.print(w) }

// validateTokens checks that --tocc suits the test.
func (s *Settings) validateTokens(p *problems) {
	if s.Tokens == nil {
		return
	}
	p.when(s.Test.isOneSided(), "--tocc: tokens apply to SENDs and WRITEs, not to %s",
		s.Test.Name())
	p.when(!s.Test.isOneSided() && s.Connection != transport.RC, "--connection %v: --tocc needs RC",
		s.Connection)
}

// admission makes a queue pair's gates, and its granters for what the peer sends, as far as the
// peer agreed.
func (l *queueSet) admission(p *pair, agreed wire.Agreement, mtu units.Bytes) (cc.Gate,
	[]cc.Granter, error) {
	path := l.path(agreed, mtu)
	path.Seed = l.flowSeed + uint32(p.number)
	var (
		gates    []cc.Gate
		granters []cc.Granter
	)
	if l.tokens != nil && agreed.Features&wire.FeatureToken != 0 {
		gate, granter, err := l.tokens.New(path)
		if err != nil {
			return nil, nil, fmt.Errorf("--tocc %s", strings.TrimPrefix(err.Error(), "tocc: "))
		}
		gates, granters = append(gates, gate), append(granters, granter)
	}
	if l.cache != nil && agreed.Features&wire.FeatureCredit != 0 {
		gate, granter, err := l.cache.New(path)
		if err != nil {
			return nil, nil, fmt.Errorf("--carc %s", strings.TrimPrefix(err.Error(), "carc: "))
		}
		gates, granters = append(gates, gate), append(granters, granter)
	}
	return cc.AllOf(gates...), granters, nil
}

// without returns why a requested feature is not used, or "" if it is.
func (x *session) without(f wire.Features) string {
	s := x.settings
	flag := map[wire.Features]string{wire.FeatureToken: "--tocc", wire.FeatureCredit: "--carc"}[f]
	switch agreed := wire.Agree(x.mine.Extension, x.theirs.Extension); {
	case agreed.Features&f != 0:
		return ""
	case s.CM:
		return "--rdma_cm does not negotiate extensions of RoCEv2"
	case s.withOFED:
		return "linux-rdma's perftest does not support it"
	}
	return "the peer was started without " + flag
}

// noteWithout prints which requested features are not used.
func (x *session) noteWithout() {
	s := x.settings
	if why := x.without(wire.FeatureToken); s.Tokens != nil && why != "" {
		x.console.note("--tocc %v: going on without tokens: %s", s.Tokens, why)
	}
	if why := x.without(wire.FeatureCredit); s.Cache != nil && why != "" {
		x.console.note("--carc %v: going on without credits: %s", s.Cache, why)
	}
	if a := x.withoutMarks(); a != "" {
		x.console.note("--cc %s: nothing on port %s marks packets, so it never reduces; "+
			"loop:ecn=100KiB,400KiB marks them", a, s.Device)
	}
}

// withoutMarks returns the first algorithm that reduces only on marks, if this end sends and its
// port leads to no switch that could set them.
func (x *session) withoutMarks() string {
	s := x.settings
	u, err := dpdk.ParseURL(s.Device)
	if in, _ := x.host.Device().Bottleneck(); err != nil || in != nil && in.Kmax > 0 ||
		x.server && !s.Bidirectional {
		return ""
	}
	if !slices.Contains([]dpdk.Scheme{dpdk.Loop, dpdk.Memif, dpdk.Null}, u.Scheme) {
		return ""
	}
	for _, spec := range s.Congestion {
		if spec.ByMarks() {
			return spec.Name()
		}
	}
	return ""
}

// controls formats what controls the run.
func (x *session) controls() string {
	s := x.settings
	text := s.controls()
	if s.Tokens != nil && x.without(wire.FeatureToken) == "" {
		text += fmt.Sprintf(" on tokens of %v", s.Tokens)
	}
	if s.Cache != nil && x.without(wire.FeatureCredit) == "" {
		text += fmt.Sprintf(" within the cache of %v", s.Cache)
	}
	return text
}
