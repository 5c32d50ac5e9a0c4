package chakra

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// The fields of the schema's message Node.
const (
	fieldID       protowire.Number = 1
	fieldName     protowire.Number = 2
	fieldType     protowire.Number = 3
	fieldCtrlDeps protowire.Number = 4
	fieldDataDeps protowire.Number = 5
	fieldDuration protowire.Number = 7
	fieldAttr     protowire.Number = 10
)

// maxDuration is the longest node: a day.
const maxDuration = 24 * 3600 * units.Second

func parseNode(message []byte) (n Node, err error) {
	err = fields(message, func(field protowire.Number, value uint64, data []byte) (err error) {
		switch field {
		case fieldID:
			n.ID = value
		case fieldName:
			n.Name = string(data)
		case fieldType:
			n.Kind = Kind(min(value, 255))
		case fieldCtrlDeps, fieldDataDeps:
			n.After, err = appendNumbers(n.After, value, data)
		case fieldDuration:
			if value > uint64(maxDuration/units.Microsecond) {
				return fmt.Errorf("duration of %d µs, want at most %v", value, maxDuration)
			}
			n.Duration = units.Duration(value) * units.Microsecond
		case fieldAttr:
			return n.parseAttribute(data)
		}
		return err
	})
	if err == nil {
		err = n.check()
	}
	if err != nil {
		err = fmt.Errorf("node %d %q: %w", n.ID, n.Name, err)
	}
	return n, err
}

// appendNumbers appends a field of repeated numbers: one of them, or several packed in data.
func appendNumbers(to []uint64, value uint64, data []byte) ([]uint64, error) {
	if data == nil {
		return append(to, value), nil
	}
	for len(data) > 0 {
		v, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		to, data = append(to, v), data[n:]
	}
	return to, nil
}

// fields calls f for every field of a message: with a number, or with bytes.
func fields(b []byte, f func(field protowire.Number, value uint64, data []byte) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var value uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(b)
		case protowire.Fixed64Type:
			value, n = protowire.ConsumeFixed64(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := f(number, value, data); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// parseAttribute parses an attribute: its name, and a value of any of the schema's types, of which
// integers and strings matter here.
func (n *Node) parseAttribute(message []byte) error {
	var name, text string
	var value uint64
	err := fields(message, func(field protowire.Number, v uint64, data []byte) error {
		switch field {
		case 1:
			name = string(data)
		case 7, 9, 11, 13, 21: // int32, int64, uint32, uint64 and fixed64
			value = v
		case 15, 19: // sint32 and sint64
			value = uint64(protowire.DecodeZigZag(v))
		case 29:
			text = string(data)
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch name {
	case "comm_type":
		if value >= uint64(operations) {
			return fmt.Errorf("collective operation %d out of range [0, %d)", value, operations)
		}
		n.Operation = Operation(value)
	case "comm_size":
		if value > uint64(workload.MaxFlow) {
			return fmt.Errorf("size of %d bytes out of range [1, %d]", value,
				int64(workload.MaxFlow))
		}
		n.Bytes = units.Bytes(value)
	case "comm_src":
		if n.Kind == Receive {
			n.Peer = int(value)
		}
	case "comm_dst":
		if n.Kind == Send {
			n.Peer = int(value)
		}
	case "comm_tag":
		n.Tag = int(value)
	case "pg_name":
		n.Group = text
	}
	return nil
}

func (n *Node) check() error {
	switch n.Kind {
	case Send, Receive, Collective:
		if n.Bytes == 0 && (n.Kind != Collective || n.Operation != Barrier) {
			return errors.New("size of 0 bytes: want a positive comm_size")
		}
	case 0:
		return errors.New("no type")
	}
	return nil
}
