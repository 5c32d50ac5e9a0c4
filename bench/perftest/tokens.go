package perftest

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
)

// tokens is a flag: receiver-driven control, or a question.
type tokens struct {
	spec **tocc.Spec
	help *bool
}

// Set reads a point of the design space.
func (t *tokens) Set(v string) error {
	if v == "help" {
		*t.help = true
		return nil
	}
	spec, err := tocc.Parse(v)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "tocc: "))
	}
	*t.spec = &spec
	return nil
}

func (t *tokens) String() string {
	if *t.spec == nil {
		return ""
	}
	return (*t.spec).String()
}

// Type names the argument.
func (t *tokens) Type() string { return "tokens" }

// toccHelp is the error of a command line that asks what --tocc may say.
type toccHelp struct{}

func (toccHelp) Error() string { return "help asked for: --tocc" }

func (toccHelp) write(w io.Writer) error { return tocc.Help(w) }

// validateTokens says what tokens are not for.
func (s *Settings) validateTokens(p *problems) {
	if s.Tokens == nil {
		return
	}
	p.when(s.Test.oneSided(), "--tocc: tokens are for SENDs and WRITEs; what %s asks for comes without", s.Test.Name())
	p.when(!s.Test.oneSided() && s.Connection != transport.RC, "--connection %v: --tocc needs RC", s.Connection)
}

// admit gives a queue pair its gate, and its granter for what the peer sends.
func (l *lane) admit(p *pair, path cc.Path) error {
	if l.tokens == nil {
		return nil
	}
	path.Seed = uint32(l.host.Seed()) + uint32(p.number)
	gate, granter, err := l.tokens.New(path)
	if err == nil {
		err = p.qp.Admit(gate, granter)
	}
	if err != nil {
		return fmt.Errorf("--tocc %s", strings.TrimPrefix(err.Error(), "tocc: "))
	}
	return nil
}

// withoutTokens is why a run goes on without tokens; empty when it need not.
func (x *session) withoutTokens() string {
	s := x.settings
	switch agreed := wire.Agree(x.mine.Extension, x.theirs.Extension); {
	case s.Tokens == nil || agreed.Features&wire.FeatureToken != 0:
		return ""
	case s.CM:
		return "with --rdma_cm the ends do not say what they can do beyond RoCEv2"
	case s.apart:
		return "the peer is taken for linux-rdma's perftest, which has none"
	}
	return "the peer was started without --tocc"
}

// controls is what controls the run, for people.
func (x *session) controls() string {
	s := x.settings
	if s.Tokens == nil || x.withoutTokens() != "" {
		return s.controls()
	}
	return fmt.Sprintf("%s on tokens of %v", s.controls(), s.Tokens)
}
