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

// congestion is a repeatable flag: the congestion controls of the queue pairs, in turn.
type congestion struct {
	specs *[]cc.Spec
	help  *string // an algorithm to explain, when it was asked for
	given bool
}

// noHelp is an answer that nobody asked for.
const noHelp = "\x00"

// Set reads an algorithm and its parameters, or a question.
func (c *congestion) Set(v string) error {
	if name, asked := strings.CutPrefix(v, "help"); asked && (name == "" || name[0] == '=') {
		*c.help = strings.TrimPrefix(name, "=")
		return nil
	}
	spec, err := cc.Parse(v)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "cc: "))
	}
	if !c.given {
		*c.specs, c.given = nil, true
	}
	*c.specs = append(*c.specs, spec)
	return nil
}

func (c *congestion) String() string { return algorithms(*c.specs).String() }

// Type names the argument.
func (c *congestion) Type() string { return "algorithm" }

// ccHelp is the error of a command line that asks what an algorithm is.
type ccHelp string

func (h ccHelp) Error() string { return "help asked for: --cc " + string(h) }

// explain answers it.
func explain(stdout, stderr io.Writer, t Test, err error) int {
	var asked ccHelp
	errors.As(err, &asked)
	if err := cc.Help(stdout, string(asked)); err != nil {
		complain(stderr, t.Name(),
			fmt.Errorf("--cc help: %s", strings.TrimPrefix(err.Error(), "cc: ")))
		return exitFailed
	}
	return exitOK
}

// algorithms is what --cc says.
type algorithms []cc.Spec

func (c algorithms) String() string {
	var names []string
	for _, s := range c {
		names = append(names, s.String())
	}
	return strings.Join(names, " ")
}

func defaultAlgorithms() algorithms {
	spec, err := cc.Parse(fmt.Sprintf("fixed:window=%v", transport.DefaultWindow))
	if err != nil {
		panic(err)
	}
	return algorithms{spec}
}

// of is the algorithm of a queue pair.
func (c algorithms) of(number int) cc.Spec { return c[number%len(c)] }

// What a path is taken for where nobody knows better: a port that says no rate, and a round trip in
// a data centre.
const (
	defLineRate = 100 * units.Gbps
	defBaseRTT  = 20 * units.Microsecond
)

// path is what congestion control is told of the way to the peer. Before the peer is known, that is
// all that it might be.
func (l *lane) path(agreed wire.Agreement, mtu units.Bytes) cc.Path {
	s := l.settings
	p := cc.Path{LineRate: s.LineRate, BaseRTT: s.BaseRTT, Payload: mtu, Signals: cc.SignalDelay}
	if p.BaseRTT == 0 {
		p.BaseRTT = defBaseRTT
	}
	if p.LineRate == 0 {
		p.LineRate, p.Guessed = defLineRate, true
		if link, err := l.host.Device().Link(); err == nil && link.Mbps > 0 {
			p.LineRate, p.Guessed = units.BitRate(link.Mbps)*units.Mbps, false
		}
	}
	if agreed.Features&wire.FeatureTiming != 0 {
		p.Signals |= cc.SignalEndpoint | cc.SignalOneWay
	}
	if agreed.Features&wire.FeatureECNEcho != 0 {
		p.Signals |= cc.SignalMarks
	}
	return p
}

// control gives a queue pair its algorithm.
func (l *lane) control(p *pair, path cc.Path) error {
	control := l.settings.controlOf(p.number)
	path.Seed = l.lots + uint32(p.number)
	algorithm, err := control.New(path)
	if err != nil {
		return fmt.Errorf("--cc %v: %s", control, strings.TrimPrefix(err.Error(), "cc: "))
	}
	return p.qp.Control(algorithm)
}
