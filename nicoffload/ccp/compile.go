package ccp

import (
	"fmt"
	"strconv"
	"strings"
)

// Compile compiles a program in CCP's language: one (def ...), followed by (when condition
// statement...) in order.
//
//	(def (gain 2) (Report (volatile acked 0) (rtt +infinity)))
//	(when true (:= Report.acked (+ Report.acked Ack.bytes_acked)) (fallthrough))
//	(when (> Micros 100) (report) (:= Micros 0))
//
// The operators are + - * / < > == && || max min max_wrap ewma if !if; && is a product and || a
// maximum of operands 0 and 1. The statements besides := are (report), (fallthrough) and (reset),
// which is (:= Micros 0). A # begins a comment that extends to the end of the line.
func Compile(id uint32, text string) (*Program, error) {
	c := compiler{names: map[string]Register{
		"Cwnd": {Implicit, Cwnd}, "Rate": {Implicit, Rate}, "Micros": {Implicit, Micros},
		"true": {Immediate, 1}, "false": {Immediate, 0}, "+infinity": {Immediate, wireInfinity},
	}}
	for i, name := range primitiveNames {
		c.names[name] = Register{Primitive, uint32(i)}
	}
	forms, err := parse(text)
	if err == nil {
		err = c.program(forms)
	}
	if err != nil {
		return nil, fmt.Errorf("ccp: program: %w", err)
	}
	return NewProgram(id, c.expressions, c.instructions)
}

var primitiveNames = [primitives]string{
	"Ack.bytes_acked", "Ack.bytes_misordered", "Ack.ecn_bytes", "Ack.ecn_packets",
	"Ack.lost_pkts_sample", "Ack.now",
	"Ack.packets_acked", "Ack.packets_misordered", "Flow.bytes_in_flight", "Flow.bytes_pending",
	"Flow.packets_in_flight",
	"Flow.rate_incoming", "Flow.rate_outgoing", "Flow.rtt_sample_us", "Flow.was_timeout",
}

var operators = map[string]Op{
	"+": opAdd, "-": opSub, "*": opMul, "/": opDiv, "<": opLt, ">": opGt, "==": opEquiv,
	"&&": opMul, "||": opMax,
	"max": opMax, "min": opMin, "max_wrap": opMaxWrap, "ewma": opEWMA, "if": opIf, "!if": opNotIf,
}

// form is a word, or a list of forms.
type form struct {
	word string
	list []form
}

func (f form) String() string {
	if f.word != "" {
		return f.word
	}
	var parts []string
	for _, e := range f.list {
		parts = append(parts, e.String())
	}
	return "(" + strings.Join(parts, " ") + ")"
}

// head returns the first word of a list.
func (f form) head() string {
	if len(f.list) == 0 {
		return ""
	}
	return f.list[0].word
}

// maxDepth bounds the nesting of a program, and with it the recursion.
const maxDepth = 100

func parse(text string) ([]form, error) {
	stack := [][]form{nil}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		for _, w := range strings.Fields(strings.NewReplacer("(", " ( ", ")",
			" ) ").Replace(line)) {
			top := len(stack) - 1
			switch w {
			case "(":
				if top == maxDepth {
					return nil, fmt.Errorf("more than %d nested parentheses", maxDepth)
				}
				stack = append(stack, nil)
			case ")":
				if top == 0 {
					return nil, fmt.Errorf("unmatched )")
				}
				stack[top-1] = append(stack[top-1], form{list: stack[top]})
				stack = stack[:top]
			default:
				stack[top] = append(stack[top], form{word: w})
			}
		}
	}
	if len(stack) > 1 {
		return nil, fmt.Errorf("%d unclosed parentheses", len(stack)-1)
	}
	return stack[0], nil
}

type compiler struct {
	names             map[string]Register
	controls, reports uint32
	expressions       []Expression
	instructions      []Instruction
	temporaries       uint32
}

func (c *compiler) program(forms []form) error {
	if len(forms) == 0 || forms[0].head() != "def" {
		return fmt.Errorf("want (def ...) at the beginning")
	}
	for _, d := range forms[0].list[1:] {
		if d.head() != "Report" {
			if err := c.define(d, "", Control, VolatileControl, &c.controls,
				MaxControl); err != nil {
				return err
			}
			continue
		}
		for _, r := range d.list[1:] {
			if err := c.define(r, "Report.", Report, VolatileReport, &c.reports,
				MaxReport); err != nil {
				return err
			}
		}
	}
	for _, w := range forms[1:] {
		if err := c.when(w); err != nil {
			return err
		}
	}
	return nil
}

// define compiles (name value) or (volatile name value).
func (c *compiler) define(f form, prefix string, t, volatile RegisterType, next *uint32,
	most uint32) error {
	l := f.list
	if len(l) == 3 && l[0].word == "volatile" {
		t, l = volatile, l[1:]
	}
	if len(l) != 2 || l[0].word == "" || l[1].word == "" {
		return fmt.Errorf("%v: want (name value)", f)
	}
	name := prefix + l[0].word
	if _, taken := c.names[name]; taken || strings.HasPrefix(l[0].word, "__") {
		return fmt.Errorf("name %q is already in use", name)
	}
	value, err := c.operand(l[1])
	if err != nil {
		return err
	}
	if value.Type != Immediate || *next == most {
		return fmt.Errorf("%v: want a number as value, and at most %d definitions", f, most)
	}
	r := Register{t, *next}
	*next++
	c.names[name] = r
	return c.emit(opDef, r, r, value)
}

func (c *compiler) when(f form) error {
	if f.head() != "when" || len(f.list) < 2 {
		return fmt.Errorf("%v: want (when condition ...)", f)
	}
	var e Expression
	e.CondStart = uint32(len(c.instructions))
	c.temporaries = 0
	condition, err := c.operand(f.list[1])
	if err != nil {
		return err
	}
	if err := c.emit(opBind, Register{Implicit, flag}, condition, condition); err != nil {
		return err
	}
	e.Cond = uint32(len(c.instructions)) - e.CondStart
	e.BodyStart = e.CondStart + e.Cond
	for _, s := range f.list[2:] {
		c.temporaries = 0
		if err := c.statement(s); err != nil {
			return err
		}
	}
	e.Body = uint32(len(c.instructions)) - e.BodyStart
	c.expressions = append(c.expressions, e)
	return nil
}

func (c *compiler) statement(f form) error {
	set := func(r uint32, v uint32) error {
		return c.emit(opBind, Register{Implicit, r}, Register{Immediate, v}, Register{Immediate, v})
	}
	switch f.String() {
	case "(report)":
		return set(shouldReport, 1)
	case "(fallthrough)":
		return set(fallThrough, 1)
	case "(reset)":
		return set(Micros, 0)
	}
	if f.head() != ":=" || len(f.list) != 3 {
		return fmt.Errorf("%v: want a statement", f)
	}
	target, ok := c.names[f.list[1].word]
	if !ok || !target.isWritable() {
		return fmt.Errorf("%v: %v is not writable", f, f.list[1])
	}
	if op, left, right, ok := c.operation(f.list[2]); ok {
		return c.apply(op, target, left, right)
	}
	value, err := c.operand(f.list[2])
	if err != nil {
		return err
	}
	return c.emit(opBind, target, value, value)
}

// operation splits (op left right).
func (c *compiler) operation(f form) (op Op, left, right form, ok bool) {
	if len(f.list) != 3 {
		return 0, form{}, form{}, false
	}
	op, ok = operators[f.head()]
	return op, f.list[1], f.list[2], ok
}

func (c *compiler) apply(op Op, result Register, left, right form) error {
	l, err := c.operand(left)
	if err != nil {
		return err
	}
	r, err := c.operand(right)
	if err != nil {
		return err
	}
	return c.emit(op, result, l, r)
}

// operand returns the register that holds the value of a form.
func (c *compiler) operand(f form) (Register, error) {
	if f.word != "" {
		if r, ok := c.names[f.word]; ok {
			return r, nil
		}
		n, err := strconv.ParseUint(f.word, 10, 32)
		if err != nil {
			return Register{}, fmt.Errorf("unknown name %q", f.word)
		}
		return Register{Immediate, uint32(n)}, nil
	}
	op, left, right, ok := c.operation(f)
	if !ok {
		return Register{}, fmt.Errorf("%v: want an expression", f)
	}
	if c.temporaries == scratch {
		return Register{}, fmt.Errorf("%v: more than %d temporary values", f, scratch)
	}
	t := Register{Temporary, c.temporaries}
	c.temporaries++
	return t, c.apply(op, t, left, right)
}

func (c *compiler) emit(op Op, result, left, right Register) error {
	if len(c.instructions) == MaxInstructions || len(c.expressions) == MaxExpressions {
		return fmt.Errorf("more than %d instructions or %d expressions", MaxInstructions,
			MaxExpressions)
	}
	c.instructions = append(c.instructions, Instruction{op, result, left, right})
	return nil
}
