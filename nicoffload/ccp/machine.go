package ccp

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/goroce/goroce/units"
)

// RegisterType is the type of a register.
type RegisterType uint8

// The types of registers (libccp's numbers).
const (
	Control RegisterType = iota
	Immediate
	Implicit
	Local
	Primitive
	VolatileReport
	Report
	Temporary
	VolatileControl
)

// Register identifies a register; for an Immediate, Index is the value.
type Register struct {
	Type  RegisterType
	Index uint32
}

// The implicit registers.
const (
	flag uint32 = iota
	fallThrough
	shouldReport
	Micros // time since it was set to 0, µs
	Cwnd   // bytes
	Rate   // bytes per second
	implicits
)

// The primitives: values of the datapath about an acknowledgement and its flow.
const (
	BytesAcked uint32 = iota
	BytesMisordered
	ECNBytes
	ECNPackets
	LostPackets
	Now // µs
	PacketsAcked
	PacketsMisordered
	BytesInFlight
	BytesPending
	PacketsInFlight
	RateIncoming // bytes per second
	RateOutgoing
	RTTSample // µs
	WasTimeout
	primitives
)

// Op is the operation of an instruction.
type Op uint8

// The instructions.
const (
	opAdd Op = iota
	opBind
	opDef
	opDiv
	opEquiv
	opEWMA
	opGt
	opIf
	opLt
	opMax
	opMaxWrap
	opMin
	opMul
	opNotIf
	opSub
	ops
)

// Instruction computes Result = Left Op Right.
type Instruction struct {
	Op                  Op
	Result, Left, Right Register
}

// Expression is a when clause: the ranges of instructions that are its condition and its body.
type Expression struct{ CondStart, Cond, BodyStart, Body uint32 }

const (
	scratch = 8
	// wireInfinity represents +infinity in messages, infinity in registers.
	wireInfinity = 0x3fffffff
	infinity     = math.MaxUint32
)

// Program is a program that the datapath runs on every acknowledgement.
type Program struct {
	ID           uint32
	Expressions  []Expression
	Instructions []Instruction
	defs         int // number of leading instructions that initialize registers
	reports      int
}

// ErrProgram is returned by NewProgram for an invalid program.
var ErrProgram = errors.New("not a program")

// NewProgram returns the program of an Install message, after checking that every register exists
// and every expression lies within the instructions.
func NewProgram(id uint32, expressions []Expression, instructions []Instruction) (*Program, error) {
	if len(expressions) > MaxExpressions || len(instructions) > MaxInstructions {
		return nil, fmt.Errorf("ccp: %w: %d expressions and %d instructions", ErrProgram,
			len(expressions), len(instructions))
	}
	p := &Program{ID: id, Expressions: append([]Expression(nil), expressions...),
		Instructions: append([]Instruction(nil), instructions...)}
	for _, e := range expressions {
		if uint64(e.CondStart)+uint64(e.Cond) > uint64(len(instructions)) ||
			uint64(e.BodyStart)+uint64(e.Body) > uint64(len(instructions)) {
			return nil, fmt.Errorf("ccp: %w: expression %v, want ranges within %d instructions",
				ErrProgram, e, len(instructions))
		}
	}
	for i, in := range instructions {
		if in.Op >= ops || !in.Result.isWritable() || !in.Left.exists() || !in.Right.exists() {
			return nil, fmt.Errorf("ccp: %w: instruction %d is invalid: %v", ErrProgram, i, in)
		}
		if in.Op == opDef {
			if i != p.defs {
				return nil, fmt.Errorf("ccp: %w: instruction %d defines a register, want "+
					"definitions first", ErrProgram, i)
			}
			p.defs++
			if t := in.Result.Type; t == Report || t == VolatileReport {
				p.reports = max(p.reports, int(in.Result.Index)+1)
			}
		}
	}
	return p, nil
}

func (r Register) exists() bool {
	switch r.Type {
	case Immediate:
		return true
	case Implicit:
		return r.Index < implicits
	case Primitive:
		return r.Index < primitives
	case Local, Temporary:
		return r.Index < scratch
	case Report, VolatileReport:
		return r.Index < MaxReport
	case Control, VolatileControl:
		return r.Index < MaxControl
	}
	return false
}

func (r Register) isWritable() bool {
	return r.exists() && r.Type != Immediate && r.Type != Primitive
}

// Machine is the state of a program for one flow.
type Machine struct {
	program    *Program
	report     [MaxReport]uint64
	control    [MaxControl]uint64
	local      [scratch]uint64
	temporary  [scratch]uint64
	implicit   [implicits]uint64
	Primitives [primitives]uint64
	since      units.Time // start of Micros
}

// ErrArithmetic is returned by Run after an overflow, a negative result or a division by zero.
// There is no report, and only the registers written before have changed.
var ErrArithmetic = errors.New("arithmetic error in a CCP program")

// Change starts a program.
func (m *Machine) Change(p *Program, now units.Time) {
	prims := m.Primitives
	*m = Machine{program: p, Primitives: prims, since: now}
	m.define(false)
}

// define initializes registers; after a report only the volatile ones.
func (m *Machine) define(volatileOnly bool) {
	for i := range m.program.defs {
		in := &m.program.Instructions[i]
		t := in.Result.Type
		if !volatileOnly || t == VolatileReport || t == VolatileControl {
			v := m.read(in.Right)
			if in.Right.Type == Immediate && in.Right.Index == wireInfinity {
				v = infinity
			}
			m.write(in.Result, v)
		}
	}
}

// Update sets a control register, the window or the rate. It returns false for other registers.
func (m *Machine) Update(u Update) bool {
	r := u.Register
	if !r.exists() || r.Type != Control && r.Type != VolatileControl &&
		(r.Type != Implicit || r.Index != Cwnd && r.Index != Rate) {
		return false
	}
	m.write(r, u.Value)
	return true
}

// Run runs the program once, with the flow's current window and rate, which the program may change.
// If send is true, the caller sends a report with Fields, and calls Reported afterwards.
func (m *Machine) Run(cwnd, rate uint64, now units.Time) (send bool, err error) {
	if m.Primitives[RTTSample] == 0 {
		m.Primitives[RTTSample] = infinity
	}
	im := &m.implicit
	im[flag], im[fallThrough], im[shouldReport], im[Cwnd], im[Rate] = 0, 0, 0, cwnd, rate
	im[Micros] = uint64(max(0, now.Sub(m.since)) / units.Microsecond)
	before := im[Micros]
	for i := range m.program.Expressions {
		e := &m.program.Expressions[i]
		if err := m.execute(e.CondStart, e.Cond); err != nil {
			return false, err
		}
		if im[flag] == 0 {
			continue
		}
		if err := m.execute(e.BodyStart, e.Body); err != nil {
			return false, err
		}
		if im[fallThrough] == 0 {
			break
		}
	}
	if im[Micros] < before {
		m.since = now.Add(-units.Duration(im[Micros]) * units.Microsecond)
	}
	return im[shouldReport] != 0, nil
}

// Decided returns the window and the rate after a Run.
func (m *Machine) Decided() (cwnd, rate uint64) { return m.implicit[Cwnd], m.implicit[Rate] }

// Fields returns the report registers, in the order of their definition.
func (m *Machine) Fields() []uint64 { return m.report[:m.program.reports] }

// Reported resets the volatile registers.
func (m *Machine) Reported() { m.define(true) }

func (m *Machine) execute(start, n uint32) error {
	for _, in := range m.program.Instructions[start : start+n] {
		left, right := m.read(in.Left), m.read(in.Right)
		var v uint64
		switch in.Op {
		case opAdd:
			sum, carry := bits.Add64(left, right, 0)
			if carry != 0 {
				return ErrArithmetic
			}
			v = sum
		case opSub:
			if right > left {
				return ErrArithmetic
			}
			v = left - right
		case opMul:
			hi, lo := bits.Mul64(left, right)
			if hi != 0 {
				return ErrArithmetic
			}
			v = lo
		case opDiv:
			if right == 0 {
				return ErrArithmetic
			}
			v = left / right
		case opBind, opDef:
			v = right
		case opEquiv:
			v = boolValue(left == right)
		case opGt:
			v = boolValue(left > right)
		case opLt:
			v = boolValue(left < right)
		case opMax:
			v = max(left, right)
		case opMaxWrap: // of two 32-bit numbers that wrap
			if v = left; int32(uint32(right)-uint32(left)) > 0 {
				v = right
			}
		case opMin:
			v = min(left, right)
		case opIf, opNotIf:
			if v = right; (left != 0) != (in.Op == opIf) {
				v = m.oldValue(in.Result)
			}
		case opEWMA: // left tenths of the old value, the rest of the new one
			old := m.oldValue(in.Result)
			if left > 10 || old > math.MaxUint64/16 || right > math.MaxUint64/16 {
				return ErrArithmetic
			}
			if v = right; old != 0 {
				v = (left*old + (10-left)*right) / 10
			}
		}
		m.write(in.Result, v)
	}
	return nil
}

// oldValue returns the value of a register before an instruction writes it; temporaries have none.
func (m *Machine) oldValue(r Register) uint64 {
	if r.Type == Temporary {
		return 0
	}
	return m.read(r)
}

func boolValue(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (m *Machine) read(r Register) uint64 {
	switch r.Type {
	case Immediate:
		return uint64(r.Index)
	case Implicit:
		return m.implicit[r.Index]
	case Primitive:
		return m.Primitives[r.Index]
	case Local:
		return m.local[r.Index]
	case Temporary:
		return m.temporary[r.Index]
	case Report, VolatileReport:
		return m.report[r.Index]
	}
	return m.control[r.Index]
}

func (m *Machine) write(r Register, v uint64) {
	switch r.Type {
	case Implicit:
		m.implicit[r.Index] = v
	case Local:
		m.local[r.Index] = v
	case Temporary:
		m.temporary[r.Index] = v
	case Report, VolatileReport:
		m.report[r.Index] = v
	case Control, VolatileControl:
		m.control[r.Index] = v
	}
}
