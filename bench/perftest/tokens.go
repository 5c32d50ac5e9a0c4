package perftest

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// admission is a flag: what else than congestion control lets data go, tokens or credits, or a
// question.
type admission[S fmt.Stringer] struct {
	spec  **S
	parse func(string) (S, error)
	is    string // what it is, and what errors begin with
	asks  *admissionHelp
	help  admissionHelp
}

// Set reads the settings.
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

// Type names the argument.
func (a *admission[S]) Type() string { return a.is }

// admissionHelp is the error of a command line that asks what a flag may say.
type admissionHelp struct {
	flag  string
	write func(io.Writer) error
}

func (h admissionHelp) Error() string { return "help asked for: " + h.flag }

// validateTokens says what tokens are not for.
func (s *Settings) validateTokens(p *problems) {
	if s.Tokens == nil {
		return
	}
	p.when(s.Test.oneSided(),
		"--tocc: tokens are for SENDs and WRITEs; what %s asks for comes without", s.Test.Name())
	p.when(!s.Test.oneSided() && s.Connection != transport.RC, "--connection %v: --tocc needs RC",
		s.Connection)
}

// admit gives a queue pair its gates, and its granters for what the peer sends, as far as the peer
// agreed.
func (l *lane) admit(p *pair, agreed wire.Agreement, mtu units.Bytes) error {
	path := l.path(agreed, mtu)
	path.Seed = l.lots + uint32(p.number)
	var (
		gates    []cc.Gate
		granters []cc.Granter
	)
	if l.tokens != nil && agreed.Features&wire.FeatureToken != 0 {
		gate, granter, err := l.tokens.New(path)
		if err != nil {
			return fmt.Errorf("--tocc %s", strings.TrimPrefix(err.Error(), "tocc: "))
		}
		gates, granters = append(gates, gate), append(granters, granter)
	}
	if l.cache != nil && agreed.Features&wire.FeatureCredit != 0 {
		gate, granter, err := l.cache.New(path)
		if err != nil {
			return fmt.Errorf("--carc %s", strings.TrimPrefix(err.Error(), "carc: "))
		}
		gates, granters = append(gates, gate), append(granters, granter)
	}
	if gates == nil {
		return nil
	}
	return p.qp.Admit(cc.AllOf(gates...), granters...)
}

// without is why a run goes on without what this end was told to do; empty when it need not.
func (x *session) without(f wire.Features) string {
	s := x.settings
	flag := map[wire.Features]string{wire.FeatureToken: "--tocc", wire.FeatureCredit: "--carc"}[f]
	switch agreed := wire.Agree(x.mine.Extension, x.theirs.Extension); {
	case agreed.Features&f != 0:
		return ""
	case s.CM:
		return "with --rdma_cm the ends do not say what they can do beyond RoCEv2"
	case s.apart:
		return "the peer is taken for linux-rdma's perftest, which has none"
	}
	return "the peer was started without " + flag
}

// noteWithout says what the run goes on without.
func (x *session) noteWithout() {
	s := x.settings
	if why := x.without(wire.FeatureToken); s.Tokens != nil && why != "" {
		x.console.note("--tocc %v: going on without tokens: %s", s.Tokens, why)
	}
	if why := x.without(wire.FeatureCredit); s.Cache != nil && why != "" {
		x.console.note("--carc %v: going on without credits: %s", s.Cache, why)
	}
}

// controls is what controls the run, for people.
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
