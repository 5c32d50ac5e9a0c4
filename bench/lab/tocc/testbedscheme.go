package tocc

import (
	"fmt"

	"github.com/goroce/goroce/bench/cluster"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// A testbedScheme is what controls the testbed's hosts.
type testbedScheme string

const (
	testbedDCQCN testbedScheme = "DCQCN"
	testbedToCC  testbedScheme = "ToCC"
)

var testbedSchemes = []testbedScheme{testbedDCQCN, testbedToCC}

// testbedShare is the limit of the token queue.
func testbedShare() float64 { return 94.0 / (94 + 4424) }

// Of its switches the paper says nothing. These are those of HPCC's testbed, which has hosts of the same rate, with
// the buffer of a switch of that time.
const testbedBuffer = units.Bytes(16_000_000)

var testbedECN = fabric.ECN{Kmin: 100_000, Kmax: 400_000, Pmax: 0.2}

// configs answers how endpoints and switches work.
func (s testbedScheme) configs() (cluster.Config, fabric.SwitchConfig, error) {
	switches := fabric.HPCCSwitch(testbedBuffer, 0.125, testbedECN, units.Microsecond, 0)
	of := switches.Queues
	switches.Queues = func(r units.BitRate) fabric.Queues {
		qs := of(r)
		qs[0].Headroom = fabric.Headroom(r, units.Microsecond, units.Microsecond, testbedFrame+wire.RETHLen+4, 480)
		qs[answers].Reserve = 16 * units.KiB
		return qs
	}
	switch s {
	case testbedDCQCN:
		// NICs have no window; nor has this one, for what may be outstanding of a queue pair is less.
		control, err := cc.Parse("dcqcn-nic:window=4MiB")
		return cluster.Config{Control: control, CNPInterval: 4 * units.Microsecond, AnswerClass: answerClass}, switches, err
	}
	return cluster.Config{}, switches, fmt.Errorf("no scheme %q", s)
}
