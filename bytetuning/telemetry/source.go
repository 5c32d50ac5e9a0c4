package telemetry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goroce/goroce/units"
)

// Source is a telemetry tool. It either polls (Sampling 0) or receives reports from a fraction
// Sampling of the packets.
type Source struct {
	Name string
	// Period is the time between polls, or between the messages of an in-band source's sink; 0
	// means a message for every report.
	Period   units.Duration
	Sampling float64 // reports per packet of an in-band source; 0 for out-of-band sources
}

// InBand reports whether the source samples packets.
func (s Source) InBand() bool { return s.Sampling > 0 }

// sources are those of table 7. SNMP's 0.03 Hz is a poll every 30 s, the shortest interval in
// section 5.4. INT reports every 16th packet, as in the example of equation 16, to a sink that
// forwards counts and the newest report a thousand times per second.
var sources = map[string]Source{
	"snmp":  {Name: "snmp", Period: 30 * units.Second},
	"ont":   {Name: "ont", Period: units.Second},
	"sflow": {Name: "sflow", Sampling: 1. / 16384},
	"int":   {Name: "int", Period: units.Millisecond, Sampling: 1. / 16},
}

// Names returns the names that Named accepts, sorted.
func Names() []string { return slices.Sorted(maps.Keys(sources)) }

// Named returns the source of a name, which is case-insensitive.
func Named(name string) (Source, error) {
	s, ok := sources[strings.ToLower(name)]
	if !ok {
		return Source{}, fmt.Errorf("telemetry: unknown source %q; want one of %s", name,
			strings.Join(Names(), ", "))
	}
	return s, nil
}

// Compressed returns the source for a simulation in which second stands for a second: polls and
// reports are more frequent by the same factor.
func (s Source) Compressed(second units.Duration) Source {
	s.Period = units.Duration(float64(s.Period) * second.Seconds())
	s.Sampling = min(1, s.Sampling/second.Seconds())
	return s
}

// Network is the size of the monitored network, which determines the overhead of a source.
type Network struct {
	Hosts, Switches, Ports int // ports of each switch
	Queues                 int // of each port
	Hops                   int // of a path
	// Packets is the total number of packets per second at the sampling points.
	Packets float64
}

// Cluster returns the paper's first cluster: 40 hosts, seven switches. The 32 ports per switch are
// our assumption.
func Cluster() Network { return Network{Hosts: 40, Switches: 7, Ports: 32, Queues: 8, Hops: 5} }

// Sizes of encodings, in bytes. The paper does not define the contents of a sample; these are
// standard formats with the fields that a tuner needs.
const (
	// frame is Ethernet, IPv4 and UDP around a datagram, with check sequence, preamble and gap.
	frame = 14 + 20 + 8 + 24
	// varbind is an SNMP variable (RFC 3416): sequence, an object identifier of some 16 bytes, a
	// 64-bit counter.
	varbind = 2 + 18 + 10
	// varbinds is the number of variables that fit a datagram of 1400 bytes, and message is the
	// size of the remaining fields.
	varbinds = 45
	message  = 40
	// update is a leaf of a gNMI notification in protobuf, with interface and queue in the prefix:
	// path elements of about 40 bytes and a value.
	update = 52
	// updates is the number of leaves in an IP packet of 1500 bytes over TCP.
	updates = 27
	// perQueue counts the values read per queue (bytes, packets, drops, marks, length), perPort
	// those per port (bytes in and out, pauses in and out).
	perQueue = 5
	perPort  = 4
	// sflowSample is a flow sample of sFlow 5 with 128 bytes of header and the queue's length.
	sflowSample = 28 + 32 + 16 + 128 + 12
	// intReport is an INT telemetry report (report header 16, the packet's headers 54, INT shim and
	// header 16). intHop is what each switch adds: its ID, the queue length, the time.
	intReport = 16 + 54 + 16
	intHop    = 12
)

// SampleBytes returns the size on the wire of one sample: the state of the whole network for a
// polling source, the path of one packet for an in-band one.
func (s Source) SampleBytes(n Network) units.Bytes {
	leaves := n.Switches * n.Ports * (n.Queues*perQueue + perPort)
	packed := func(each, together int) units.Bytes {
		datagrams := (leaves + together - 1) / together
		return units.Bytes(leaves*each + datagrams*(frame+message))
	}
	switch s.Name {
	case "snmp":
		return 2 * packed(varbind, varbinds) // the request lists the same variables as the response
	case "ont":
		return packed(update, updates)
	case "sflow":
		return frame + sflowSample
	}
	return units.Bytes(frame + intReport + n.Hops*intHop)
}

// Overhead returns the bandwidth that the source uses.
func (s Source) Overhead(n Network) units.BitRate {
	perSecond := n.Packets * s.Sampling
	if s.Period > 0 {
		perSecond = 1 / s.Period.Seconds()
	}
	return units.BitRate(perSecond * float64(s.SampleBytes(n).Bits()))
}
