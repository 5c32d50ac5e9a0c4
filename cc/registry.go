package cc

import (
	"fmt"
	"regexp"
)

// Registration is an algorithm that can be named, with its parameters.
type Registration struct {
	Name  string  // lower-case letters, digits and dashes
	Title string  // one line, for Help
	Needs Signals // of the path, without which New refuses
	// New returns a Blueprint with nothing filled in.
	New func() Blueprint
}

// Blueprint is the parameters of one algorithm. It declares where each is stored; they are filled
// in, and Build makes the algorithm. The algorithm may keep the blueprint.
type Blueprint interface {
	Declare(s *Settings)
	Build(path Path) Algorithm
}

var algorithmName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// Register makes an algorithm known to Parse, Names and Help, and with them to every program that
// is linked with it: --cc name:key=value. Call it in the init function of the algorithm's package.
// It panics if the name is not well-formed or taken, or a default is outside what is valid.
func Register(r Registration) {
	if !algorithmName.MatchString(r.Name) {
		panic(fmt.Sprintf("cc: name %q: want lower-case letters, digits and dashes", r.Name))
	}
	if _, err := lookup(r.Name); err == nil {
		panic(fmt.Sprintf("cc: algorithm %q is registered twice", r.Name))
	}
	e := entry{r.Name, r.Title, r.Needs, func() blueprint { return registered{r.New()} }}
	algorithms = append(algorithms, e)
	if _, err := Parse(r.Name); err != nil {
		algorithms = algorithms[:len(algorithms)-1]
		panic(err.Error())
	}
}

// registered is the blueprint of an algorithm of another package.
type registered struct{ Blueprint }

func (r registered) declare(s *schema) {
	own := &Settings{}
	r.Declare(own)
	*s = own.schema
}

func (r registered) build(path Path) Algorithm { return r.Build(path) }

// algorithms are those of this package, then those registered. To add one here, write its file and
// a line.
var algorithms = []entry{
	{"bolt", "sub-RTT control by reports of switches (Bolt, NSDI'23)", SignalSRC, func() blueprint {
		return &boltParams{}
	}},
	{"d2tcp", "DCTCP whose cuts depend on deadlines (D2TCP, SIGCOMM'12)", SignalMarks,
		func() blueprint {
			return &d2tcpParams{}
		}},
	{"dcqcn", "rate control by CNPs, as in the paper (DCQCN, SIGCOMM'15)", 0, func() blueprint {
		return &dcqcnParams{}
	}},
	{"dcqcn-nic", "rate control by CNPs, as in NICs, all on timers", 0, func() blueprint {
		return &dcqcnNICParams{}
	}},
	{"dctcp", "AIMD in proportion to the share of marked packets (DCTCP, SIGCOMM'10, RFC 8257)",
		SignalMarks, func() blueprint {
			return &dctcpParams{}
		}},
	{"fixed", "no control: a window and a rate that never change", 0, func() blueprint {
		return &Fixed{}
	}},
	{"hpcc", "inflight bytes kept below capacity by in-band telemetry (HPCC, SIGCOMM'19)",
		SignalINT, func() blueprint {
			return &hpccParams{}
		}},
	{"idctcp", "DCTCP on the counted signals a NIC aggregates: ECE, RTO, OOO (TAURUS, CoNEXT'25)",
		SignalMarks, func() blueprint {
			return &idctcpParams{}
		}},
	{"ledbat", "a delay target beyond the least delay seen (LEDBAT, RFC 6817)", SignalDelay,
		func() blueprint {
			return &ledbatParams{}
		}},
	{"ledbat-dc", "LEDBAT with a known base delay, for data centres", SignalDelay,
		func() blueprint {
			return &ledbatParams{dataCentre: true}
		}},
	{"swift", "AIMD around a target delay, fabric and hosts apart (Swift, SIGCOMM'20)", SignalDelay,
		func() blueprint {
			return &swiftParams{}
		}},
	{"timely", "a rate steered by the gradient of the round-trip time (TIMELY, SIGCOMM'15)",
		SignalDelay, func() blueprint {
			return &timelyParams{}
		}},
}
