package tocc

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// A testbedScheme is how the testbed's hosts are controlled.
type testbedScheme string

const (
	testbedDCQCN testbedScheme = "DCQCN"
	testbedToCC  testbedScheme = "ToCC"
	// as published: every cut lowers the target rate, not only the first of a run
	testbedClamped testbedScheme = "DCQCN, clamped target"
)

var testbedSchemes = []testbedScheme{testbedDCQCN, testbedToCC}

// testbedK is the bytes that a token releases. The paper has 2 to 8 KB.
const testbedK = 4 * units.KiB

// testbedShare is the limit of the token queue.
func testbedShare() float64 {
	return tocc.Limiter(tocc.TokenWire, tocc.Wire(testbedK, testbedPayload))
}

// The paper does not describe its switches. These are those of HPCC's testbed, which has hosts of
// the same rate, with the buffer of a switch of that time.
const testbedBuffer = units.Bytes(16_000_000)

var testbedECN = fabric.ECN{Kmin: 100_000, Kmax: 400_000, Pmax: 0.2}

// testbedSwitches have PFC, and limit tokens to their part of the link, for which no token is lost.
func testbedSwitches() fabric.SwitchConfig {
	switches := fabric.HPCCSwitch(testbedBuffer, 0.125, testbedECN, units.Microsecond, 0)
	of := switches.Queues
	switches.Queues = func(r units.BitRate) fabric.Queues {
		qs := of(r)
		qs[0].Headroom = fabric.Headroom(r, units.Microsecond, units.Microsecond,
			testbedFrame+wire.RETHLen+4, 480)
		released := tocc.Wire(testbedK, testbedPayload)
		qs[tokens] = fabric.Queue{Reserve: 16 * units.KiB, Share: testbedShare(),
			ECN: qs[0].ECN.Scale(float64(tocc.TokenWire) / float64(released))}
		qs[ackQueue].Reserve = 16 * units.KiB
		return qs
	}
	return switches
}

// scheme returns the set-up of endpoints and switches.
func (s testbedScheme) scheme() (sim.Scheme, error) {
	scheme := sim.Scheme{AnswerClass: answerClass, CNPInterval: nicCNPs, Switch: testbedSwitches()}
	var err error
	switch s {
	case testbedDCQCN:
		// NICs have no window, and this one has no effect, because a queue pair has less
		// outstanding.
		scheme.Control, err = cc.Parse("dcqcn-nic:window=4MiB")
	case testbedClamped:
		scheme.Control, err = cc.Parse("dcqcn-nic:window=4MiB,clamp_target=on")
	case testbedToCC:
		if scheme.Control, err = cc.Parse("fixed:window=4MiB"); err != nil {
			return scheme, err
		}
		scheme.Selective = true
		var spec tocc.Spec
		spec, err = tocc.Parse(fmt.Sprintf("unsch=0,k=%d", int64(testbedK)))
		scheme.Tokens = &spec
	default:
		err = fmt.Errorf("tocc: unknown scheme %q", s)
	}
	return scheme, err
}
