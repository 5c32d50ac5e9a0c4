package perftest

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// congestion is a repeatable flag: the congestion control algorithms of the queue pairs, in turn.
type congestion struct {
	specs *[]cc.Spec
	help  *string // the algorithm to explain if help was requested
	given bool
}

// ccHelpUnset is the value of congestion.help if no help was requested.
const ccHelpUnset = "\x00"

// Set parses an algorithm with its parameters, or a request for help.
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

// Type returns the argument's name for --help.
func (c *congestion) Type() string { return "algorithm" }

// ccHelp is the error of a command line that requests help on an algorithm.
type ccHelp string

func (h ccHelp) Error() string { return "help requested: --cc " + string(h) }

func (h ccHelp) write(w io.Writer) error {
	if err := cc.Help(w, string(h)); err != nil {
		return fmt.Errorf("--cc help: %s", strings.TrimPrefix(err.Error(), "cc: "))
	}
	return nil
}

// algorithms are the values of --cc.
type algorithms []cc.Spec

func (c algorithms) String() string {
	var names []string
	for _, s := range c {
		names = append(names, s.String())
	}
	return strings.Join(names, " ")
}

func defaultAlgorithms() algorithms {
	spec, err := cc.Parse(fmt.Sprintf("fixed:window=%v", endpoint.DefaultWindow))
	if err != nil {
		panic(err)
	}
	return algorithms{spec}
}

// of returns the algorithm of a queue pair.
func (c algorithms) of(number int) cc.Spec { return c[number%len(c)] }

// Defaults of a path: the line rate if the port reports none, and a data centre's round-trip time.
const (
	defLineRate = 100 * units.Gbps
	defBaseRTT  = 20 * units.Microsecond
)

// path returns the path to the peer as congestion control sees it. Before the peer is known, pass
// the features that may be negotiated.
func (l *queueSet) path(agreed wire.Agreement, mtu units.Bytes) cc.Path {
	s := l.settings
	p := cc.Path{LineRate: s.LineRate, BaseRTT: s.BaseRTT, Payload: mtu, Signals: cc.SignalDelay}
	if p.BaseRTT == 0 {
		p.BaseRTT = defBaseRTT
	}
	if p.LineRate == 0 {
		p.LineRate, p.Guessed = defLineRate, true
		if rate := l.host.Info(0).LinkRate; rate > 0 {
			p.LineRate, p.Guessed = rate, false
		} else if link, err := l.host.Device().Link(); err == nil && link.Mbps > 0 {
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

// algorithm makes the congestion control algorithm of a queue pair.
func (l *queueSet) algorithm(number int, path cc.Path) (cc.Algorithm, error) {
	control := l.settings.controlOf(number)
	path.Seed = l.flowSeed + uint32(number)
	algorithm, err := control.New(path)
	if err != nil {
		return nil, fmt.Errorf("--cc %v: %s", control, strings.TrimPrefix(err.Error(), "cc: "))
	}
	return algorithm, nil
}
