package telemetry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goroce/goroce/units"
)

// Source is a way to learn of a port. It either polls, or has packets report, a part Sampling of
// them.
type Source struct {
	Name string
	// between polls; of an in-band source between what its sink sends on, 0 is every report
	Period   units.Duration
	Sampling float64 // reports of each packet, of an in-band source; 0 is none
}

// InBand says whether packets report.
func (s Source) InBand() bool { return s.Sampling > 0 }

// sources are table 7's. SNMP's 0.03 Hz is a poll each 30 s, the shortest that section 5.4 gives;
// INT reports each 16th packet, as in the example of equation 16, to a sink that sends on counts
// and the newest report a thousand times a second.
var sources = map[string]Source{
	"snmp":  {Name: "snmp", Period: 30 * units.Second},
	"ont":   {Name: "ont", Period: units.Second},
	"sflow": {Name: "sflow", Sampling: 1. / 16384},
	"int":   {Name: "int", Period: units.Millisecond, Sampling: 1. / 16},
}

// Names answers the names that Named knows.
func Names() []string { return slices.Sorted(maps.Keys(sources)) }

// Named answers the source of a name.
func Named(name string) (Source, error) {
	s, ok := sources[strings.ToLower(name)]
	if !ok {
		return Source{}, fmt.Errorf("telemetry: no source %q; there are %s", name,
			strings.Join(Names(), ", "))
	}
	return s, nil
}

// Compressed answers the source for simulations in which a second is so much shorter: it polls, and
// has packets report, so much more often.
func (s Source) Compressed(second units.Duration) Source {
	s.Period = units.Duration(float64(s.Period) * second.Seconds())
	s.Sampling = min(1, s.Sampling/second.Seconds())
	return s
}

// Network is what a source has to be read from, for its overhead.
type Network struct {
	Hosts, Switches, Ports int // ports of each switch
	Queues                 int // of each port
	Hops                   int // of a path
	// Packets is how many packets a second pass where they are sampled, in all.
	Packets float64
}

// Cluster is the paper's first one: 40 hosts, seven switches. Ports are ours: 32 of each.
func Cluster() Network { return Network{Hosts: 40, Switches: 7, Ports: 32, Queues: 8, Hops: 5} }

// Encodings, in bytes. They are ours, as the paper does not say what a sample contains: standard
// formats, of the fields that a tuner needs.
const (
	// frame is Ethernet, IPv4 and UDP around a datagram, with check sequence, preamble and gap.
	frame = 14 + 20 + 8 + 24
	// varbind is an SNMP variable (RFC 3416): sequence, an object identifier of some 16 bytes, a
	// 64-bit counter.
	varbind = 2 + 18 + 10
	// varbinds is how many of them a datagram of 1400 bytes has room for, and message is the rest
	// of it.
	varbinds = 45
	message  = 40
	// update is a leaf of a gNMI notification as protobuf, prefixed by interface and queue: path
	// elements of some 40 bytes and a value.
	update = 52
	// updates is how many leaves an IP packet of 1500 bytes over TCP carries.
	updates = 27
	// counters is what is read of each queue (bytes, packets, drops, marks, length) and of each
	// port (bytes in and out, pauses in and out).
	perQueue = 5
	perPort  = 4
	// sflowSample is a flow sample of sFlow 5 with 128 bytes of header and the queue's length.
	sflowSample = 28 + 32 + 16 + 128 + 12
	// intReport is a telemetry report of INT (report header 16, the packet's headers 54, INT's shim
	// and header 16), and intHop what a switch adds to it: its id, the queue's length, the time.
	intReport = 16 + 54 + 16
	intHop    = 12
)

// SampleBytes is what one sample of the source takes on the wire: the state of the whole network
// for a source that polls, the path of one flow for one that samples packets.
func (s Source) SampleBytes(n Network) units.Bytes {
	leaves := n.Switches * n.Ports * (n.Queues*perQueue + perPort)
	packed := func(each, together int) units.Bytes {
		datagrams := (leaves + together - 1) / together
		return units.Bytes(leaves*each + datagrams*(frame+message))
	}
	switch s.Name {
	case "snmp":
		return 2 * packed(varbind, varbinds) // the request names what the answer has
	case "ont":
		return packed(update, updates)
	case "sflow":
		return frame + sflowSample
	}
	return units.Bytes(frame + intReport + n.Hops*intHop)
}

// Overhead is the bandwidth that the source takes.
func (s Source) Overhead(n Network) units.BitRate {
	perSecond := n.Packets * s.Sampling
	if s.Period > 0 {
		perSecond = 1 / s.Period.Seconds()
	}
	return units.BitRate(perSecond * float64(s.SampleBytes(n).Bits()))
}
