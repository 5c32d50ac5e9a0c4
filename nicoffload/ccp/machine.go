package ccp

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/goroce/goroce/units"
)

// RegisterType says which of the machine's registers is meant.
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

// Register names a register; of an Immediate, Index is the value.
type Register struct {
	Type  RegisterType
	Index uint32
}

// The implicit registers.
const (
	flag uint32 = iota
	fallThrough
	shouldReport
	Micros // since it was set to 0
	Cwnd   // bytes
	Rate   // bytes per second
	implicits
)

// The primitives: what the datapath tells of an acknowledgement and of its flow.
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

// Op is what an instruction does.
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

// Instruction is Result = Left Op Right.
type Instruction struct {
	Op                  Op
	Result, Left, Right Register
}

// Expression is a when: which instructions are its condition, and which its body.
type Expression struct{ CondStart, Cond, BodyStart, Body uint32 }

const (
	scratch = 8
	// wireInfinity is what +infinity is sent as; infinity is what it becomes.
	wireInfinity = 0x3fffffff
	infinity     = math.MaxUint32
)

// Program is what the datapath runs on every acknowledgement.
type Program struct {
	ID           uint32
	Expressions  []Expression
	Instructions []Instruction
	defs         int // the first instructions give registers their values
	reports      int
}

// ErrProgram is what NewProgram answers to what is none.
var ErrProgram = errors.New("not a program")

// NewProgram takes over what an Install said, or refuses it: every register is there, every
// expression within the instructions.
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
			return nil, fmt.Errorf("ccp: %w: an expression of instructions %v, there are %d",
				ErrProgram, e, len(instructions))
		}
	}
	for i, in := range instructions {
		if in.Op >= ops || !in.Result.writable() || !in.Left.there() || !in.Right.there() {
			return nil, fmt.Errorf("ccp: %w: instruction %d is %v", ErrProgram, i, in)
		}
		if in.Op == opDef {
			if i != p.defs {
				return nil, fmt.Errorf("ccp: %w: instruction %d defines, after others that do not",
					ErrProgram, i)
			}
			p.defs++
			if t := in.Result.Type; t == Report || t == VolatileReport {
				p.reports = max(p.reports, int(in.Result.Index)+1)
			}
		}
	}
	return p, nil
}

func (r Register) there() bool {
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

func (r Register) writable() bool { return r.there() && r.Type != Immediate && r.Type != Primitive }

// Machine is one flow's state of a program.
type Machine struct {
	program    *Program
	report     [MaxReport]uint64
	control    [MaxControl]uint64
	local      [scratch]uint64
	temporary  [scratch]uint64
	implicit   [implicits]uint64
	Primitives [primitives]uint64
	since      units.Time // Micros counts from here
}

// ErrArithmetic is what an invocation ends with that overflowed, went below 0, or divided by it:
// nothing is reported and nothing changes but the registers that were written before.
var ErrArithmetic = errors.New("arithmetic error in a CCP program")

// Change begins a program.
func (m *Machine) Change(p *Program, now units.Time) {
	prims := m.Primitives
	*m = Machine{program: p, Primitives: prims, since: now}
	m.define(false)
}

// define gives registers their first values; after a report only the volatile ones.
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

// Update sets a control register, the window or the rate, and refuses every other one.
func (m *Machine) Update(u Update) bool {
	r := u.Register
	if !r.there() || r.Type != Control && r.Type != VolatileControl &&
		(r.Type != Implicit || r.Index != Cwnd && r.Index != Rate) {
		return false
	}
	m.write(r, u.Value)
	return true
}

// Run is one invocation: with the window and the rate of the flow as the datapath has them, which
// it may change. It says whether to send what Fields answers, and Reported then.
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

// Decided answers the window and the rate after a Run.
func (m *Machine) Decided() (cwnd, rate uint64) { return m.implicit[Cwnd], m.implicit[Rate] }

// Fields are the report registers, in the order of their definition.
func (m *Machine) Fields() []uint64 { return m.report[:m.program.reports] }

// Reported sets what is volatile back.
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
			v = truth(left == right)
		case opGt:
			v = truth(left > right)
		case opLt:
			v = truth(left < right)
		case opMax:
			v = max(left, right)
		case opMaxWrap: // of two numbers of 32 bits that wrap
			if v = left; int32(uint32(right)-uint32(left)) > 0 {
				v = right
			}
		case opMin:
			v = min(left, right)
		case opIf, opNotIf:
			if v = right; (left != 0) != (in.Op == opIf) {
				v = m.old(in.Result)
			}
		case opEWMA: // of ten parts, left are the old value's
			old := m.old(in.Result)
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

// old is what a register had before an instruction writes it; what is between two has no past.
func (m *Machine) old(r Register) uint64 {
	if r.Type == Temporary {
		return 0
	}
	return m.read(r)
}

func truth(b bool) uint64 {
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
