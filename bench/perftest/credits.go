package perftest

import (
	"fmt"
	"strings"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/internal/hostsense"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
)

// validateCredits says what credits are not for.
func (s *Settings) validateCredits(p *problems) {
	if s.Cache == nil {
		return
	}
	t := s.Test
	p.when(t.oneSided(), "--carc: credits are for SENDs and WRITEs; what %s asks for comes without",
		t.Name())
	p.when(!t.oneSided() && s.Connection != transport.RC, "--connection %v: --carc needs RC",
		s.Connection)
	p.when(t.Verb == Write && !s.WriteWithImm, "--carc: the receiver of a WRITE hears nothing of "+
		"it, and so cannot say when it has consumed it; give --write_with_imm")
	p.when(t.Kind == Bandwidth && s.Cache.RequestResponse(),
		"--carc mode=rr: in %s nothing responds to a message", t.Name())
	p.when(s.Queues > 1, "--queues %d: --carc has the cache of one polling core", s.Queues)
}

// machineCache is what the machine tells of its last-level cache; nothing where it does not.
func machineCache() (c carc.Cache) {
	host := hostsense.This()
	llc, err := host.LLC()
	if err != nil {
		return c
	}
	c.Size, c.Line = llc.Size, llc.Line
	c.DDIO, _ = host.DDIO()
	return c
}

// openCache makes the cache that the lane's queue pairs share.
func (l *lane) openCache() {
	if spec := l.settings.Cache; spec != nil {
		l.cache = spec.On(machineCache()).Endpoint()
	}
}

// creditFeatures are those that the offer takes from the queue pairs.
const creditFeatures = wire.FeatureCredit | wire.FeatureHost | wire.FeatureAnswers |
	wire.FeatureWrites

// offerCredits adds to the offer what a credit is for, and how many each queue pair gives at first:
// the fewest of all. For that they take part now; how the peer's are is not known yet.
func (l *lane) offerCredits(ep *transport.Endpoint) error {
	if l.cache == nil || l.settings.CM {
		return nil
	}
	path := l.path(wire.Agreement{Features: l.offer.Features},
		transport.PathMTUFor(ep.Port().Info().MTU))
	for i := range l.pairs {
		gate, granter, err := l.cache.New(path)
		if err != nil {
			return fmt.Errorf("--carc %s", strings.TrimPrefix(err.Error(), "carc: "))
		}
		if err := l.pairs[i].qp.Admit(gate, granter); err != nil {
			return err
		}
	}
	for i := range l.pairs {
		o := l.pairs[i].qp.Offer()
		l.offer.Features |= o.Features & creditFeatures
		l.offer.LineShift = o.LineShift
		if l.offer.Credits == 0 || o.Credits < l.offer.Credits {
			l.offer.Credits = o.Credits
		}
	}
	return nil
}
