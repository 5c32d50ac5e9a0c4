package tocc

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// A scheme is how a network controls congestion.
type scheme string

const (
	dcqcn  scheme = "DCQCN" // a CNP each 4 µs, as in HPCC's simulator and in NICs
	timely scheme = "TIMELY"
	hpcc   scheme = "HPCC"
	seldom scheme = "DCQCN, CNPs each 50 µs" // as in DCQCN's paper

	unscheduled scheme = "ToCC"           // begins with up to a BDP without tokens
	scheduled   scheme = "ToCC w/o unsch" // sends nothing without

	credits scheme = "ExpressPass"
	homa    scheme = "Homa"
	ndp     scheme = "NDP"
	aeolus  scheme = "EP+Aeolus"
	endless scheme = "ToCC w/o volume control" // and without unscheduled packets
	homaTwo scheme = "Homa, 2 priorities"
	virtual scheme = "ToCC+PrioPlus" // without unscheduled packets
)

// reactive are the schemes without tokens, which PFC protects from loss; compared are they and
// ToCC.
var (
	reactive = []scheme{dcqcn, timely, hpcc}
	compared = append(reactive[:3:3], unscheduled, scheduled)
)

// method is the parts of a scheme.
type method struct {
	// Control is the congestion control of senders, and CNPs the minimum interval of a flow's CNPs
	// (0 means the transport's).
	Control string
	CNPs    units.Duration
	// Tokens is the scheme's point in the design space of package tocc; empty for none.
	Tokens string
	// Switches returns the switches of the scheme in a network.
	Switches func(network) fabric.SwitchConfig
	// Selective is selective repeat, for schemes that lose packets; the others go back. Reordering
	// is how much later than others packets may arrive without being lost.
	Selective  bool
	Reordering units.Duration
	// Priorities is the number of priorities of small flows in queues of their own (Homa), and
	// Channels that on the delay of tokens (PrioPlus).
	Priorities, Channels int
}

// schemes has a row for each. Reactive ones are HPCC's simulator's, to which the paper refers:
// DCQCN as in NICs, with the first set of the paper's footnote 1, and TIMELY and HPCC with their
// authors' parameters, in proportion to the round trip.
var schemes = map[scheme]method{
	dcqcn:  {Control: dcqcnSet1, CNPs: nicCNPs, Switches: lossless},
	seldom: {Control: dcqcnSet1, Switches: lossless},
	timely: {Control: "timely", Switches: lossless},
	hpcc:   {Control: "hpcc", Switches: telemetry},

	unscheduled: {Control: uncontrolled, Tokens: "tocc:" + tokenSet + byDCQCN, Switches: limiting,
		Selective: true},
	scheduled: {Control: uncontrolled, Tokens: "tocc-nounsch:" + tokenSet + byDCQCN,
		Switches: limiting, Selective: true},
	endless: {Control: uncontrolled, Tokens: "tocc-nounsch:volume=off," + tokenSet + byDCQCN,
		Switches: limiting, Selective: true},

	credits: {Control: uncontrolled, Tokens: "expresspass", Switches: crediting, Selective: true},
	aeolus: {Control: uncontrolled, Tokens: "expresspass+aeolus", Switches: dropping,
		Selective: true},
	ndp: {Control: uncontrolled, Tokens: "ndp", Switches: trimming, Selective: true,
		Reordering: ndpPatience},
	homa: {Control: uncontrolled, Tokens: "homa", Switches: prioritising, Selective: true,
		Reordering: homaReordering, Priorities: 8},
	homaTwo: {Control: uncontrolled, Tokens: "homa", Switches: prioritising, Selective: true,
		Reordering: homaReordering, Priorities: 2},
	virtual: {Control: uncontrolled, Tokens: "tocc-nounsch:cc=none," + tokenSet, Switches: limiting,
		Selective: true, Channels: 12},

	// Any congestion control, over tokens and over data.
	"ToCC, dcqcn": overTokens(dcqcnSet1), "dcqcn": overData(dcqcnSet1),
	"ToCC, dctcp": overTokens("dctcp"), "dctcp": overData("dctcp"),
	"ToCC, swift": overTokens(swiftNear), "swift": overData(swiftNear),
	"ToCC, timely": overTokens("timely"), "timely": overData("timely"),
}

// The paper's parameters of DCQCN (footnote 1), R_AI and R_HAI in proportion to a line of 100 Gb/s.
const (
	dcqcnSet1 = "dcqcn-nic:rate_period=900us,ai=0.0005line,hai=0.001line"
	dcqcnSet2 = "dcqcn-nic:rate_period=300us,ai=0.00005line,hai=0.0005line"
)

// tokenSet is two packets for a token, the least that the paper takes with packets of a KB; byDCQCN
// is the same DCQCN.
const (
	tokenSet = "k=2048B"
	byDCQCN  = ",cc=" + dcqcnSet1
)

// tokenShare is the limit of such tokens.
var tokenShare = tocc.Limiter(tocc.TokenWire, tocc.Wire(2*payload, payload))

// uncontrolled is for senders that wait for tokens.
const uncontrolled = "fixed"

// nicCNPs is the interval of CNPs on NVIDIA's NICs (min_time_between_cnps).
const nicCNPs = 4 * units.Microsecond

// buffer is shared by all ports of a switch, at any rate: HPCC's 32 MB. The paper gives only
// Homa's, 35 MB.
const buffer = 32 * 1000 * units.Bytes(1000)

// Queues of switches, by class selectors: ackQueue holds ACKs, which have answerClass, above all
// others; tokens holds TOKENs. The queues below hold data.
const (
	tokens      = 5
	ackQueue    = 7
	answerClass = ackQueue << 5
)

// lossless returns a switch with PFC as in HPCC's simulator: a port of the hosts' rate may take an
// eighth of the free buffer, one of twice the rate twice as much.
func lossless(n network) fabric.SwitchConfig {
	c := fabric.HPCCSwitch(buffer, 0.125, dataMarks.ecn(25*units.Gbps), n.Host.Delay, 0)
	of := c.Queues
	c.Queues = func(r units.BitRate) fabric.Queues {
		qs := of(r)
		qs[0].Alpha = min(0.5, 0.125*float64(r)/float64(n.Host.Rate))
		// Three times what a link holds is too little on slow links.
		qs[0].Headroom = max(qs[0].Headroom, fabric.Headroom(r, n.Host.Delay, n.Host.Delay,
			payload+headers, 480))
		return qs
	}
	return c
}

// headers is the maximum overhead of a frame.
const headers = 200

func telemetry(n network) fabric.SwitchConfig {
	c := lossless(n)
	c.INT = true
	return c
}

// limiting returns a switch that limits tokens to their part of the link, marks them, and drops
// those for which it has no room.
func limiting(network) fabric.SwitchConfig {
	return fabric.SwitchConfig{Buffer: buffer,
		Queues: func(r units.BitRate) fabric.Queues {
			var qs fabric.Queues
			qs[0].ECN = dataMarks.ecn(r)
			qs[tokens] = fabric.Queue{Share: tokenShare, ECN: tokenMarks.ecn(r)}
			return qs
		}}
}

func (s scheme) method() (method, cc.Factory, error) {
	m, ok := schemes[s]
	if !ok {
		return m, nil, fmt.Errorf("tocc: unknown scheme %q", s)
	}
	control, err := cc.Parse(m.Control)
	return m, control, err
}
