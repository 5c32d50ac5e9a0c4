package ccp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var le = binary.LittleEndian

// Kind is the type of a message.
type Kind uint16

// The messages (libccp's serialize.h).
const (
	Create       Kind = iota // datapath to agent: a flow began
	Measure                  // a report
	Install                  // agent to datapath: a program
	UpdateFields             // new values of registers
	ChangeProg               // another program, with values
	Ready                    // the datapath is ready
)

// Limits of the format.
const (
	MaxMessage      = 32678
	MaxExpressions  = 256
	MaxInstructions = 256
	MaxReport       = 110
	MaxControl      = 110
	maxUpdates      = MaxControl + 2
	algorithmName   = 64
	headerLen       = 8
	updateLen       = 13
	createLen       = headerLen + 6*4 + algorithmName
)

// Message is one message of CCP. Its Kind determines which fields are valid.
type Message struct {
	Kind Kind
	Flow uint32 // the socket id

	InitCwnd, MSS    uint32 // Create
	SrcIP, SrcPort   uint32
	DstIP, DstPort   uint32
	Algorithm        string
	Program          uint32 // Measure, Install, ChangeProg: the uid
	Fields           []uint64
	Expressions      []Expression
	Instructions     []Instruction
	Updates          []Update
	Datapath         uint32 // Ready
	fieldsHere       [MaxReport]uint64
	updatesHere      [maxUpdates]Update
	expressionsHere  [MaxExpressions]Expression
	instructionsHere [MaxInstructions]Instruction
}

// Update is a new value for a register.
type Update struct {
	Register Register
	Value    uint64
}

// ErrMalformed is returned by Decode for a message that it cannot read.
var ErrMalformed = errors.New("malformed CCP message")

// Append appends the encoded message to b.
func (m *Message) Append(b []byte) []byte {
	start := len(b)
	b = le.AppendUint16(b, uint16(m.Kind))
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, m.Flow)
	switch m.Kind {
	case Create:
		for _, v := range [...]uint32{m.InitCwnd, m.MSS, m.SrcIP, m.SrcPort, m.DstIP, m.DstPort} {
			b = le.AppendUint32(b, v)
		}
		var name [algorithmName]byte
		copy(name[:algorithmName-1], m.Algorithm)
		b = append(b, name[:]...)
	case Measure:
		b = le.AppendUint32(b, m.Program)
		b = le.AppendUint32(b, uint32(len(m.Fields)))
		for _, v := range m.Fields {
			b = le.AppendUint64(b, v)
		}
	case Install:
		b = le.AppendUint32(b, m.Program)
		b = le.AppendUint32(b, uint32(len(m.Expressions)))
		b = le.AppendUint32(b, uint32(len(m.Instructions)))
		for _, e := range m.Expressions {
			for _, v := range [...]uint32{e.CondStart, e.Cond, e.BodyStart, e.Body} {
				b = le.AppendUint32(b, v)
			}
		}
		for _, i := range m.Instructions {
			b = append(b, uint8(i.Op))
			for _, r := range [...]Register{i.Result, i.Left, i.Right} {
				b = append(b, uint8(r.Type))
				b = le.AppendUint32(b, r.Index)
			}
		}
	case UpdateFields:
		b = m.appendUpdates(b)
	case ChangeProg:
		b = le.AppendUint32(b, m.Program)
		b = m.appendUpdates(b)
	case Ready:
		b = le.AppendUint32(b, m.Datapath)
	}
	le.PutUint16(b[start+2:], uint16(len(b)-start))
	return b
}

func (m *Message) appendUpdates(b []byte) []byte {
	b = le.AppendUint32(b, uint32(len(m.Updates)))
	for _, u := range m.Updates {
		b = append(b, uint8(u.Register.Type))
		b = le.AppendUint32(b, u.Register.Index)
		b = le.AppendUint64(b, u.Value)
	}
	return b
}

// Decode reads the message at the beginning of b and returns its length. It allocates only for the
// name of a Create; slices belong to the Message and are valid until the next Decode.
func (m *Message) Decode(b []byte) (int, error) {
	if len(b) < headerLen {
		return 0, fmt.Errorf("ccp: %w: %d bytes, want a header of %d", ErrMalformed, len(b),
			headerLen)
	}
	kind, length := Kind(le.Uint16(b)), int(le.Uint16(b[2:]))
	m.Kind, m.Flow = kind, le.Uint32(b[4:])
	bad := func() (int, error) {
		return 0, fmt.Errorf("ccp: %w: type %d of %d bytes", ErrMalformed, kind, length)
	}
	if length < headerLen || length > len(b) || length > MaxMessage {
		return bad()
	}
	body := b[headerLen:length]
	word := func(i int) uint32 { return le.Uint32(body[4*i:]) }
	switch kind {
	case Create:
		if length != createLen {
			return bad()
		}
		m.InitCwnd, m.MSS, m.SrcIP, m.SrcPort, m.DstIP, m.DstPort = word(0), word(1), word(2),
			word(3), word(4), word(5)
		name := body[24:]
		end := 0
		for end < len(name) && name[end] != 0 {
			end++
		}
		m.Algorithm = string(name[:end])
	case Measure:
		if len(body) < 8 || word(1) > MaxReport || len(body) != 8+8*int(word(1)) {
			return bad()
		}
		m.Program, m.Fields = word(0), m.fieldsHere[:word(1)]
		for i := range m.Fields {
			m.Fields[i] = le.Uint64(body[8+8*i:])
		}
	case Install:
		if len(body) < 12 || word(1) > MaxExpressions || word(2) > MaxInstructions ||
			len(body) != 12+16*int(word(1))+16*int(word(2)) {
			return bad()
		}
		m.Program, m.Expressions, m.Instructions = word(0), m.expressionsHere[:word(1)],
			m.instructionsHere[:word(2)]
		body = body[12:]
		for i := range m.Expressions {
			m.Expressions[i] = Expression{word(0), word(1), word(2), word(3)}
			body = body[16:]
		}
		for i := range m.Instructions {
			m.Instructions[i].Op = Op(body[0])
			for j, r := range [...]*Register{&m.Instructions[i].Result, &m.Instructions[i].Left,
				&m.Instructions[i].Right} {
				*r = Register{RegisterType(body[1+5*j]), le.Uint32(body[2+5*j:])}
			}
			body = body[16:]
		}
	case UpdateFields:
		if !m.decodeUpdates(body) {
			return bad()
		}
	case ChangeProg:
		if len(body) < 4 || !m.decodeUpdates(body[4:]) {
			return bad()
		}
		m.Program = word(0)
	case Ready:
		if len(body) != 4 {
			return bad()
		}
		m.Datapath = word(0)
	default:
		return bad()
	}
	return length, nil
}

// decodeUpdates reads the count as 32 bits, whereas libccp reads only one byte.
func (m *Message) decodeUpdates(b []byte) bool {
	if len(b) < 4 || le.Uint32(b) > maxUpdates || len(b) != 4+updateLen*int(le.Uint32(b)) {
		return false
	}
	m.Updates = m.updatesHere[:le.Uint32(b)]
	for i := range m.Updates {
		u := b[4+updateLen*i:]
		m.Updates[i] = Update{Register{RegisterType(u[0]), le.Uint32(u[1:])}, le.Uint64(u[5:])}
	}
	return true
}
