package taurus

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/nicoffload/ccp"
	"github.com/goroce/goroce/nicoffload/pcc"
	"github.com/goroce/goroce/units"
)

// A framework is where congestion control runs, and the signals that it gets.
type framework string

const (
	// the split: iDCTCP, and hostCC in the receiver's agent
	coDesign framework = "TAURUS"
	deaf     framework = "TAURUS w/o hostCC" // the split without signals of the host
	// its RTT template on the NIC, without signals of the host
	docaPCC framework = "DOCA-PCC"
	// iDCTCP in an agent that gets each ACK, beside a transport in software
	ccpPerACK framework = "CCP"

	// To find the causes of differences: marks at a fifth of what HPCC's simulator has for DCTCP,
	earlyMarks framework = "TAURUS, K 60 KB"
	// and nine flows that together increase their rates as the template does for one
	smallSteps framework = "DOCA-PCC, AI a ninth"
)

// The catalogue's times: of DOCA PCC from a signal to a rate, of CCP's agent for a report, of its
// transport for a packet.
const (
	decision = 2 * units.Microsecond
	service  = 250 * units.Nanosecond
	perFrame = 80 * units.Nanosecond
)

// control returns the congestion control of its flows.
func (f framework) control() (cc.Factory, error) {
	switch f {
	case docaPCC:
		return pcc.Spec{}, nil
	case smallSteps:
		return pcc.Spec{Params: pcc.Params{AI: pcc.One / 20 / (writers + 1)}}, nil
	}
	return idctcp.control()
}

// controller makes the controller of a host.
func (f framework) controller(line units.BitRate) func(int, units.Time) (cc.Controller, error) {
	switch f {
	case docaPCC, smallSteps:
		return func(int, units.Time) (cc.Controller, error) {
			return pcc.NewController(pcc.Config{LineRate: line, Delay: decision})
		}
	case ccpPerACK:
		return func(int, units.Time) (cc.Controller, error) {
			c, _, err := ccp.New(ccp.Config{Program: ccp.PerAck, Service: service,
				Payload: payload}, true)
			return c, err
		}
	}
	return split.controller
}

// switches returns the marking, which is the same for all but one.
func (f framework) switches(l fabric.Link) fabric.SwitchConfig {
	if f == earlyMarks {
		return lossless(l, marking(dctcpK/5))
	}
	return idctcp.switches(l)
}

// hears reports whether it gets signals of congestion in the receiver.
func (f framework) hears() bool { return f == coDesign || f == earlyMarks }
