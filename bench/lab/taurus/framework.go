package taurus

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload/ccp"
	"github.com/goroce/goroce/nicoffload/pcc"
	"github.com/goroce/goroce/units"
)

// A framework is where congestion control runs, and what it hears of.
type framework string

const (
	taurusCC   framework = "TAURUS"            // the split: iDCTCP, with hostCC at the receiver
	withoutCC  framework = "TAURUS w/o hostCC" // the split without signals of the host
	docaPCC    framework = "DOCA-PCC"          // its RTT template on the NIC, without signals of the host
	ccpPerACK  framework = "CCP"               // iDCTCP in an agent that hears of each ACK, beside a transport in software
	decideDOCA           = 2 * units.Microsecond
	serviceCCP           = 250 * units.Nanosecond // of a report
	softPacket           = 80 * units.Nanosecond  // of a packet in software
)

// control is the congestion control of its flows.
func (f framework) control() (cc.Control, error) {
	if f == docaPCC {
		return pcc.Spec{}, nil
	}
	return idctcp.control()
}

// controller makes what runs it on a host.
func (f framework) controller(line units.BitRate) func(int, units.Time) (cc.Controller, error) {
	switch f {
	case docaPCC:
		return func(int, units.Time) (cc.Controller, error) {
			return pcc.NewController(pcc.Config{LineRate: line, Delay: decideDOCA})
		}
	case ccpPerACK:
		return func(int, units.Time) (cc.Controller, error) {
			c, _, err := ccp.New(ccp.Config{Program: ccp.PerAck, Service: serviceCCP, Payload: payload}, true)
			return c, err
		}
	}
	return split.controller
}
