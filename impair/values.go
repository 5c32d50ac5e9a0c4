package impair

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Values of rules, with units and names.
type (
	duration   units.Duration
	rate       units.BitRate
	size       units.Bytes
	share      float64
	numbers    []interval
	operations map[string]bool
)

// interval is the numbers from first to last.
type interval struct{ first, last uint32 }

// has reports whether n is in the set. The empty set has all.
func (s numbers) has(n uint32) bool {
	for _, i := range s {
		if i.first <= n && n <= i.last {
			return true
		}
	}
	return len(s) == 0
}

// UnmarshalYAML parses a duration with its unit.
func (d *duration) UnmarshalYAML(node *yaml.Node) error {
	v, err := units.ParseDuration(node.Value)
	if err != nil || v < 0 {
		return at(node, "%q is not a duration, such as 10us", node.Value)
	}
	*d = duration(v)
	return nil
}

// UnmarshalYAML parses a rate with its unit.
func (r *rate) UnmarshalYAML(node *yaml.Node) error {
	v, err := units.ParseBitRate(node.Value)
	if err != nil || v <= 0 {
		return at(node, "%q is not a rate, such as 10Gb/s", node.Value)
	}
	*r = rate(v)
	return nil
}

// UnmarshalYAML parses a number of bytes.
func (s *size) UnmarshalYAML(node *yaml.Node) error {
	v, err := units.ParseBytes(node.Value)
	if err != nil || v <= 0 {
		return at(node, "%q is not a size, such as 256KiB", node.Value)
	}
	*s = size(v)
	return nil
}

// UnmarshalYAML parses a probability: 1% or 0.01.
func (s *share) UnmarshalYAML(node *yaml.Node) error {
	text, percent := strings.CutSuffix(node.Value, "%")
	v, err := strconv.ParseFloat(text, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return at(node, "%q is not a probability, such as 1%% or 0.01", node.Value)
	}
	*s = share(v)
	return nil
}

// each calls f with each scalar of a node that is one, or a sequence of them.
func each(node *yaml.Node, f func(*yaml.Node) error) error {
	switch node.Kind {
	case yaml.ScalarNode:
		return f(node)
	case yaml.SequenceNode:
		for _, n := range node.Content {
			if n.Kind != yaml.ScalarNode {
				return at(n, "want a value, not a list or mapping")
			}
			if err := f(n); err != nil {
				return err
			}
		}
		return nil
	}
	return at(node, "want a value, or a list of values")
}

// UnmarshalYAML parses numbers, such as 0x11, 100-199 or [1, 5-7].
func (s *numbers) UnmarshalYAML(node *yaml.Node) error {
	return each(node, func(n *yaml.Node) error {
		low, high, isRange := strings.Cut(n.Value, "-")
		if !isRange {
			high = low
		}
		a, errA := strconv.ParseUint(strings.TrimSpace(low), 0, 32)
		b, errB := strconv.ParseUint(strings.TrimSpace(high), 0, 32)
		if errA != nil || errB != nil || a > b {
			return at(n, "%q is neither a number nor a range, such as 100-199", n.Value)
		}
		*s = append(*s, interval{uint32(a), uint32(b)})
		return nil
	})
}

// nak is the name of negative acknowledgements, which have the opcode of ACKs.
const nak = "NAK"

// known are the names of opcodes and operations.
var known = func() operations {
	names := operations{nak: true}
	for op := range 256 {
		if info := wire.Opcode(op).Info(); info.Kind != 0 {
			names[info.Name], names[info.Kind.String()] = true, true
		}
	}
	return names
}()

// UnmarshalYAML parses names of opcodes, such as RC_SEND_ONLY, or of operations, such as SEND.
func (o *operations) UnmarshalYAML(node *yaml.Node) error {
	*o = operations{}
	return each(node, func(n *yaml.Node) error {
		name := strings.ToUpper(n.Value)
		if !known[name] {
			return at(n, "%q is neither an opcode, such as RC_SEND_ONLY, nor an operation: SEND, "+
				"WRITE, READ_REQ, READ_RESP, ACK, NAK, ATOMIC_ACK, CMP_SWAP, FETCH_ADD, CNP, "+
				"EXTENSION", n.Value)
		}
		(*o)[name] = true
		return nil
	})
}

// has reports whether a packet is of one of the operations. The empty set has all.
func (o operations) has(p *wire.Packet) bool {
	if len(o) == 0 {
		return true
	}
	info := p.Op.Info()
	if o[info.Name] {
		return true
	}
	if info.Kind == wire.Ack || p.Op == wire.XACK {
		if p.AETH().Syndrome.IsAck() {
			return o[wire.Ack.String()]
		}
		return o[nak]
	}
	if p.Op == wire.XDATA {
		inner := p.Inner().Info()
		return o[inner.Name] || o[inner.Kind.String()]
	}
	return o[info.Kind.String()]
}
