package perftest

import (
	"fmt"
	"strings"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/hostsense"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
)

// validateCredits checks that --carc suits the test.
func (s *Settings) validateCredits(p *problems) {
	if s.Cache == nil {
		return
	}
	t := s.Test
	p.when(t.isOneSided(), "--carc: credits apply to SENDs and WRITEs, not to %s", t.Name())
	p.when(!t.isOneSided() && s.Connection != transport.RC, "--connection %v: --carc needs RC",
		s.Connection)
	p.when(t.Verb == Write && !s.WriteWithImm, "--carc: the receiver must see completions to "+
		"return credits; add --write_with_imm")
	p.when(t.Kind == Bandwidth && s.Cache.RequestResponse(),
		"--carc mode=rr: %s has no responses", t.Name())
	p.when(s.Queues > 1, "--queues %d: --carc supports one queue", s.Queues)
}

// machineCache returns the properties of the machine's last-level cache, zero where unknown.
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

// openCache makes the cache model shared by the queue pairs of the set.
func (l *queueSet) openCache() {
	if spec := l.settings.Cache; spec != nil {
		l.cache = spec.On(machineCache()).Endpoint()
	}
}

// creditFeatures are the extension features that queue pairs with credits add to the offer.
const creditFeatures = wire.FeatureCredit | wire.FeatureHost | wire.FeatureAnswers |
	wire.FeatureWrites

// offerCredits adds the credit features and the initial credits of a queue pair, the minimum of
// all, to the offer. To determine them it installs provisional gates; the final ones follow when
// the peer is known.
func (l *queueSet) offerCredits(ep *transport.Endpoint) error {
	if l.cache == nil || l.settings.CM {
		return nil
	}
	path := l.path(wire.Agreement{Features: l.offer.Features}, ep.Query().PathMTU)
	for i := range l.pairs {
		gate, granter, err := l.cache.New(path)
		if err != nil {
			return fmt.Errorf("--carc %s", strings.TrimPrefix(err.Error(), "carc: "))
		}
		attr := initAttr()
		attr.Gate, attr.Granters = gate, []cc.Granter{granter}
		if err := l.pairs[i].qp.Modify(transport.Init, attr); err != nil {
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
