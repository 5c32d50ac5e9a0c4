package nicoffload

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// op is the type of a command, byte 4 of its Slot. A command takes one Slot.
type op uint8

const (
	opResult    op = 1
	opConfigure op = 2
	opAggregate op = 3
	opExtract   op = 4
	opProbe     op = 5
	opHello     op = 6 // an agent has started, which knows no flow yet
)

// command is a decoded command. Its op determines which of the other fields is valid.
type command struct {
	op          op
	flow        Handle
	result      cc.Decision
	binding     Binding
	aggregation Aggregation
	extraction  Extraction
}

const (
	flagHold  = 1
	flagBrief = 1
)

func (c *command) encode(b []byte) {
	b = b[:Slot]
	clear(b)
	le.PutUint32(b, uint32(c.flow))
	b[4] = uint8(c.op)
	switch c.op {
	case opResult:
		d := &c.result
		if d.Hold {
			b[5] = flagHold
		}
		le.PutUint16(b[6:], uint16(d.Tags))
		le.PutUint64(b[8:], uint64(d.Window))
		le.PutUint64(b[16:], uint64(d.Rate))
		le.PutUint64(b[24:], uint64(d.ProbeAt))
	case opConfigure:
		n := &c.binding
		if n.Brief {
			b[5] = flagBrief
		}
		le.PutUint16(b[6:], n.ProbePackets)
		le.PutUint16(b[8:], uint16(n.Events))
		le.PutUint16(b[10:], uint16(n.Raw))
		le.PutUint16(b[12:], uint16(n.Merged))
		le.PutUint64(b[16:], uint64(n.RTO))
		le.PutUint64(b[24:], uint64(n.ProbeEvery))
	case opAggregate:
		a := &c.aggregation
		le.PutUint16(b[6:], uint16(a.Threshold))
		le.PutUint64(b[8:], uint64(a.Accumulable))
		le.PutUint64(b[16:], uint64(a.Coalescent))
		le.PutUint64(b[24:], uint64(a.Deadline))
	case opExtract:
		e := &c.extraction
		b[5] = uint8(e.Packet)
		le.PutUint16(b[6:], e.ID)
		le.PutUint16(b[8:], e.Offset)
		le.PutUint16(b[10:], e.Length)
	}
}

// decode reads a Slot, and returns an error for an invalid command.
func (c *command) decode(b []byte) error {
	b = b[:Slot]
	*c = command{op: op(b[4]), flow: Handle(le.Uint32(b))}
	switch c.op {
	case opResult:
		decodeResult(b, &c.result)
		return validResult(&c.result)
	case opConfigure:
		c.binding = Binding{
			Brief: b[5]&flagBrief != 0, ProbePackets: le.Uint16(b[6:]),
			Events: cc.EventSet(le.Uint16(b[8:])), Raw: cc.EventSet(le.Uint16(b[10:])),
			Merged:     cc.EventSet(le.Uint16(b[12:])),
			RTO:        units.Duration(le.Uint64(b[16:])),
			ProbeEvery: units.Duration(le.Uint64(b[24:])),
		}
		return c.binding.Validate()
	case opAggregate:
		c.aggregation = Aggregation{
			Threshold: units.Bytes(le.Uint16(b[6:])), Accumulable: units.Duration(le.Uint64(b[8:])),
			Coalescent: units.Duration(le.Uint64(b[16:])),
			Deadline:   units.Duration(le.Uint64(b[24:])),
		}
		return c.aggregation.Validate()
	case opExtract:
		c.extraction = Extraction{Packet: PacketType(b[5]), ID: le.Uint16(b[6:]),
			Offset: le.Uint16(b[8:]), Length: le.Uint16(b[10:])}
		return c.extraction.Validate()
	case opProbe, opHello:
		return nil
	}
	return fmt.Errorf("nicoffload: unknown command %d", c.op)
}

func decodeResult(b []byte, d *cc.Decision) {
	*d = cc.Decision{
		Hold: b[5]&flagHold != 0, Tags: cc.BoltFlags(le.Uint16(b[6:])),
		Window: units.Bytes(le.Uint64(b[8:])), Rate: units.BitRate(le.Uint64(b[16:])),
		ProbeAt: units.Time(le.Uint64(b[24:])),
	}
}

// validResult rejects values that no algorithm decides.
func validResult(d *cc.Decision) error {
	if d.Window < 0 || d.Rate < 0 {
		return fmt.Errorf("nicoffload: result: window %v and rate %v, want neither negative",
			d.Window, d.Rate)
	}
	return nil
}
