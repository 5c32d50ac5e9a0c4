package sim

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Scheme holds everything that a comparison of schemes varies: congestion control, where it runs,
// admission, the traffic classes, and the configuration of the switches. [ParseScheme] returns the
// schemes of package cc with the switches that their authors use.
type Scheme struct {
	Name string // in tables and figures; "" is the name of Control
	// Control is the congestion control of senders, possibly with virtual priorities
	// (prioplus.Spec). Connections then agree to all extensions, except for selective repeat, which
	// needs Selective. If it is nil, Algorithm applies.
	Control cc.Factory
	// Algorithm makes the congestion control of one endpoint's connections if Control is nil. If
	// both are nil, the transport's default applies, a window of one MiB.
	Algorithm func() cc.Algorithm
	// Tokens, unless nil, is receiver-driven control; the granters of one receiver share state.
	// Admit, unless nil, makes gates and granters in its place.
	Tokens *tocc.Spec
	Admit  Admission
	// Cache, unless nil, adds credits for the receiver's cache. Credits, unless nil, makes gates
	// and granters in its place.
	Cache   *carc.Spec
	Credits Crediting
	// Controller, unless nil, makes the controller of a host's congestion control, such as
	// nicoffload's; nil runs it in line.
	Controller func(host int, now units.Time) (cc.Controller, error)

	// TrafficClass is the DSCP and ECN field of data. AnswerClass is that of ACKs and CNPs; 0 means
	// TrafficClass.
	TrafficClass, AnswerClass uint8
	// Of, unless nil, changes the service of one connection.
	Of func(Pair, *Service)
	// PerFlow, unless nil, gives every flow of the Traffic its own connection, with a service.
	PerFlow func(s *Simulation, f workload.Flow) (Service, error)

	// Switch configures every switch: its queues, marking, PFC, telemetry. Classify maps DSCP to
	// queues, see fabric.Config.
	Switch   fabric.SwitchConfig
	Classify [64]uint8
	// TrimmedDSCP is the DSCP of packets that switches trimmed; 0 if no switch trims.
	TrimmedDSCP uint8
	// CNPInterval is the minimum time between CNPs of a connection; 0 means transport's default.
	CNPInterval units.Duration
	// Selective turns on selective repeat, with the timeouts and bounds of Recovery; otherwise lost
	// packets are retransmitted by go-back-N.
	Selective bool
	Recovery  Recovery

	bolt bool // switches send reports to Bolt's senders
}

// Pair names a connection: the N-th, from 0, between two hosts.
type Pair struct{ From, To, N int }

// Admission makes the sender's gate and the receiver's granter of a connection. Both may be nil.
type Admission func(Pair, cc.Path) (cc.Gate, cc.Granter, error)

// Crediting makes the gate and the granter of credits for the receiver's cache. Both may be nil.
type Crediting func(Pair, cc.Path) (cc.CreditGate, cc.CreditGranter, error)

// PortWrapper returns a replacement of the port of a host.
type PortWrapper func(host int, p packet.Port) packet.Port

// Service configures one connection, or the connection of one flow.
type Service struct {
	Control                   cc.Factory
	Admit                     Admission
	Credits                   Crediting
	TrafficClass, AnswerClass uint8
	Class                     packet.Class // transmit queue of data, see transport.QPAttr
}

// Recovery configures the loss detection of selective repeat, see transport.QPAttr and
// transport.Config.
type Recovery struct {
	Reordering      units.Duration
	MaxHeld         int // buffers of an endpoint that hold packets out of order
	RTOLow, RTOHigh units.Duration
	MaxInFlight     units.Bytes
}

// title returns the name of the scheme for tables.
func (s *Scheme) title() string {
	switch {
	case s.Name != "":
		return s.Name
	case s.Tokens != nil:
		return s.Tokens.String()
	case s.Control != nil:
		return s.Control.String()
	}
	return "no control"
}

// service returns the service of a connection.
func (s *Scheme) service(p Pair) Service {
	service := Service{
		Control: s.Control, Admit: s.Admit, Credits: s.Credits,
		TrafficClass: s.TrafficClass, AnswerClass: s.AnswerClass,
	}
	if s.Of != nil {
		s.Of(p, &service)
	}
	return service
}

// instantiate returns a copy of the scheme with the state of Tokens and Cache for one simulation.
func (s *Scheme) instantiate() {
	if s.Tokens != nil && s.Admit == nil {
		s.Admit = grantingBy(*s.Tokens)
	}
	if s.Cache != nil && s.Credits == nil {
		spec, receivers := *s.Cache, map[int]*carc.Endpoint{}
		s.Credits = func(p Pair, path cc.Path) (cc.CreditGate, cc.CreditGranter, error) {
			if receivers[p.To] == nil {
				receivers[p.To] = spec.Endpoint()
			}
			return receivers[p.To].New(path)
		}
	}
}

// grantingBy is an Admission in which the granters of one receiver share state. It belongs to one
// simulation; Tokens makes one for each.
func grantingBy(spec tocc.Spec) Admission {
	receivers := map[int]*tocc.Endpoint{}
	return func(p Pair, path cc.Path) (cc.Gate, cc.Granter, error) {
		if receivers[p.To] == nil {
			receivers[p.To] = spec.Endpoint()
		}
		return receivers[p.To].New(path)
	}
}

// Watched is a control that wraps each of its algorithms, for example with a recorder.
func Watched(c cc.Factory, around func(cc.Algorithm) cc.Algorithm) cc.Factory {
	return watched{c, around}
}

type watched struct {
	cc.Factory
	around func(cc.Algorithm) cc.Algorithm
}

// New implements cc.Factory.
func (w watched) New(path cc.Path) (cc.Algorithm, error) {
	a, err := w.Factory.New(path)
	if err != nil {
		return nil, err
	}
	return w.around(a), nil
}

// ReplyDSCP is the DSCP of ACKs, CNPs and other replies in the schemes of [ParseScheme] and in a
// [Bottleneck]: class selector 7, which has a queue of its own above all others.
const ReplyDSCP = 56

// Marking thresholds at 100 Gb/s. Those of other rates are in proportion.
var (
	stepMarks = fabric.ECN{Kmin: 100_000, Kmax: 100_000, Pmax: 1}                   // DCTCP's K
	rampMarks = fabric.ECN{Kmin: 100 * units.KiB, Kmax: 400 * units.KiB, Pmax: 0.2} // DCQCN's
)

// ParseScheme returns the congestion control that cc.Parse parses, with the switches that it needs:
// a step of ECN for DCTCP and its variants, a ramp for DCQCN, telemetry for HPCC, reports for Bolt.
// Switches do not mark for other algorithms; set Switch to change that.
func ParseScheme(text string) (Scheme, error) {
	spec, err := cc.Parse(text)
	if err != nil {
		return Scheme{}, err
	}
	s := Scheme{Control: spec, AnswerClass: ReplyDSCP << 2}
	switch spec.Name() {
	case "dctcp", "d2tcp", "idctcp":
		s.Switch.Queues = Marking(stepMarks)
	case "dcqcn":
		s.Switch.Queues = Marking(rampMarks)
	case "dcqcn-nic":
		s.Switch.Queues, s.CNPInterval = Marking(rampMarks), 4*units.Microsecond
	case "hpcc":
		s.Switch.INT = true
	case "bolt":
		s.bolt = true
	}
	return s, nil
}

// ParseSchemes applies ParseScheme to several specifications.
func ParseSchemes(texts ...string) ([]Scheme, error) {
	schemes := make([]Scheme, len(texts))
	for i, text := range texts {
		var err error
		if schemes[i], err = ParseScheme(text); err != nil {
			return nil, err
		}
	}
	return schemes, nil
}

// Marking returns queues of which the first marks by RED. The thresholds are for links of 100 Gb/s;
// other rates have them in proportion.
func Marking(at100 fabric.ECN) func(units.BitRate) fabric.Queues {
	return func(r units.BitRate) fabric.Queues {
		return fabric.Queues{{ECN: at100.Scale(float64(r) / float64(100*units.Gbps))}}
	}
}

// admit gives the sender its gates and the receiver its granters.
func (s *Service) admit(p Pair, path cc.Path, sender, receiver *transport.QueuePair) error {
	var gates []cc.Gate
	var granters []cc.Granter
	take := func(gate cc.Gate, granter cc.Granter, err error) error {
		if gate != nil {
			gates, granters = append(gates, gate), append(granters, granter)
		}
		return err
	}
	if s.Admit != nil {
		if err := take(s.Admit(p, path)); err != nil {
			return err
		}
	}
	if s.Credits != nil {
		if err := take(s.Credits(p, path)); err != nil {
			return err
		}
	}
	if len(gates) == 0 {
		return nil
	}
	return errors.Join(
		sender.Modify(transport.Init, transport.QPAttr{Gate: cc.AllOf(gates...)}),
		receiver.Modify(transport.Init, transport.QPAttr{Granters: granters}))
}

func (p Pair) String() string { return fmt.Sprintf("%d to %d", p.From, p.To) }
