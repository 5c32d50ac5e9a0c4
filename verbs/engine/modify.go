package engine

import (
	"fmt"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/verbs/protocol"
)

// Bits of enum ibv_qp_attr_mask.
const (
	attrState           = 1 << 0
	attrCurState        = 1 << 1
	attrSQDNotify       = 1 << 2
	attrAccess          = 1 << 3
	attrPKeyIndex       = 1 << 4
	attrPort            = 1 << 5
	attrQKey            = 1 << 6
	attrPath            = 1 << 7
	attrMTU             = 1 << 8
	attrTimeout         = 1 << 9
	attrRetryCount      = 1 << 10
	attrRNRRetry        = 1 << 11
	attrRQPSN           = 1 << 12
	attrMaxRdAtomic     = 1 << 13
	attrMinRNRTimer     = 1 << 15
	attrSQPSN           = 1 << 16
	attrMaxDestRdAtomic = 1 << 17
	attrDestQPN         = 1 << 20
)

// transition is a change of state with the attributes that it must and may have (InfiniBand spec
// 11.2.5.2, table 92). Those of alternate paths are not supported.
type transition struct {
	from, to           transport.State
	required, optional [3]uint32 // by transport.QPType
}

const (
	later    = attrCurState | attrAccess
	laterRC  = later | attrMinRNRTimer
	laterUD  = attrCurState | attrQKey
	initPort = attrPKeyIndex | attrPort
	peer     = attrPath | attrMTU | attrDestQPN | attrRQPSN
	rcRTR    = peer | attrMaxDestRdAtomic | attrMinRNRTimer
	rcRTS    = attrTimeout | attrRetryCount | attrRNRRetry | attrSQPSN | attrMaxRdAtomic
)

var transitions = []transition{
	{transport.Reset, transport.Init,
		[3]uint32{initPort | attrAccess, initPort | attrAccess, initPort | attrQKey}, [3]uint32{}},
	{transport.Init, transport.Init, [3]uint32{},
		[3]uint32{initPort | attrAccess, initPort | attrAccess, initPort | attrQKey}},
	{transport.Init, transport.ReadyToReceive, [3]uint32{rcRTR, peer, 0},
		[3]uint32{attrAccess | attrPKeyIndex, attrAccess | attrPKeyIndex,
			attrPKeyIndex | attrQKey}},
	{transport.ReadyToReceive, transport.ReadyToSend, [3]uint32{rcRTS, attrSQPSN, attrSQPSN},
		[3]uint32{laterRC, later, laterUD}},
	{transport.ReadyToSend, transport.ReadyToSend, [3]uint32{}, [3]uint32{laterRC, later, laterUD}},
	{transport.ReadyToSend, transport.SQDrained, [3]uint32{},
		[3]uint32{attrSQDNotify, attrSQDNotify, attrSQDNotify}},
	{transport.SQDrained, transport.ReadyToSend, [3]uint32{}, [3]uint32{laterRC, later, laterUD}},
	{transport.SQErrored, transport.ReadyToSend, [3]uint32{}, [3]uint32{later, later, laterUD}},
}

// check reports whether a queue pair may go to a state with the attributes of mask.
func checkTransition(kind transport.QPType, from, to transport.State, mask uint32) error {
	mask &^= attrState
	if to == transport.Reset || to == transport.Errored {
		if mask&^attrCurState != 0 {
			return fmt.Errorf("attributes %#x with %v, want none: %w", mask, to,
				transport.ErrInvalid)
		}
		return nil
	}
	for i := range transitions {
		t := &transitions[i]
		if t.from != from || t.to != to {
			continue
		}
		required, optional := t.required[kind], t.optional[kind]
		if mask&required != required || mask&^(required|optional) != 0 {
			return fmt.Errorf("%v to %v with attributes %#x, want %#x and possibly %#x: %w", from,
				to, mask, required, optional, transport.ErrInvalid)
		}
		return nil
	}
	return fmt.Errorf("%v to %v: %w", from, to, transport.ErrInvalid)
}

func (s *Session) modifyQP(_ *transport.Endpoint, r *protocol.QPAttr) (answer, error) {
	o, err := find[*queuePair](s, r.Handle)
	if err != nil {
		return answer{}, err
	}
	return answer{}, o.modify(r)
}

func (o *queuePair) modify(r *protocol.QPAttr) error {
	from := o.State()
	to := from
	if r.Mask&attrState != 0 {
		if r.State > uint32(transport.Errored) {
			return fmt.Errorf("state %d: %w", r.State, transport.ErrInvalid)
		}
		to = transport.State(r.State)
	}
	if r.Mask&attrCurState != 0 && r.CurState != uint32(from) {
		return fmt.Errorf("the queue pair is in %v, not in state %d: %w", from, r.CurState,
			transport.ErrInvalid)
	}
	if err := checkTransition(o.Type, from, to, r.Mask); err != nil {
		return err
	}
	next := o.merge(r)
	a, err := o.attributes(&next, r.Mask, to)
	if err != nil {
		return err
	}
	o.drain() // what was posted before belongs to the state before
	if to == transport.Reset {
		o.discard()
	}
	if from != to || to == transport.Init {
		if err := o.Modify(to, a); err != nil {
			return err
		}
	}
	if r.Mask&attrAccess != 0 {
		o.SetAccess(a.Access)
	}
	if r.Mask&attrQKey != 0 {
		o.SetQKey(r.QKey)
	}
	if r.Mask&attrMinRNRTimer != 0 && to == transport.ReadyToSend {
		if err := o.SetMinRNRTimer(r.MinRNRTimer); err != nil {
			return err
		}
	}
	if o.attr = next; to == transport.Reset {
		o.attr = protocol.QPAttr{}
		o.sendCQ.forget(o)
		o.recvCQ.forget(o)
	}
	return nil
}

// merge returns the attributes with those of r.
func (o *queuePair) merge(r *protocol.QPAttr) protocol.QPAttr {
	a := o.attr
	set := func(bit uint32, to *uint32, v uint32) {
		if r.Mask&bit != 0 {
			*to = v
		}
	}
	set8 := func(bit uint32, to *uint8, v uint8) {
		if r.Mask&bit != 0 {
			*to = v
		}
	}
	set(attrAccess, &a.Access, r.Access)
	set(attrQKey, &a.QKey, r.QKey)
	set(attrMTU, &a.MTU, r.MTU)
	set(attrRQPSN, &a.RQPSN, r.RQPSN)
	set(attrSQPSN, &a.SQPSN, r.SQPSN)
	set(attrDestQPN, &a.DestQPN, r.DestQPN)
	set8(attrSQDNotify, &a.SQDNotify, r.SQDNotify)
	set8(attrPort, &a.PortNum, r.PortNum)
	set8(attrTimeout, &a.Timeout, r.Timeout)
	set8(attrRetryCount, &a.RetryCount, r.RetryCount)
	set8(attrRNRRetry, &a.RNRRetry, r.RNRRetry)
	set8(attrMaxRdAtomic, &a.MaxRdAtomic, r.MaxRdAtomic)
	set8(attrMaxDestRdAtomic, &a.MaxDestRdAtomic, r.MaxDestRdAtomic)
	set8(attrMinRNRTimer, &a.MinRNRTimer, r.MinRNRTimer)
	if r.Mask&attrPKeyIndex != 0 {
		a.PKeyIndex = r.PKeyIndex
	}
	if r.Mask&attrPath != 0 {
		a.Path = r.Path
	}
	return a
}

// attributes translates the attributes for a transition to a state.
func (o *queuePair) attributes(r *protocol.QPAttr, mask uint32, to transport.State) (
	a transport.QPAttr, err error) {
	a = transport.QPAttr{QKey: r.QKey, PathMTU: mtuOf(r.MTU), DestQPN: wire.QPN(r.DestQPN),
		RecvPSN: wire.PSN(r.RQPSN & wire.PSNMask), SendPSN: wire.PSN(r.SQPSN & wire.PSNMask),
		MaxDestRdAtomic: int(r.MaxDestRdAtomic), MinRNRTimer: r.MinRNRTimer, Timeout: r.Timeout,
		RetryCount: r.RetryCount, RNRRetry: r.RNRRetry, MaxRdAtomic: int(r.MaxRdAtomic)}
	if mask&attrPort != 0 && r.PortNum != 1 || mask&attrPKeyIndex != 0 && r.PKeyIndex != 0 {
		return a, fmt.Errorf("port %d and pkey_index %d, want 1 and 0: %w", r.PortNum, r.PKeyIndex,
			transport.ErrInvalid)
	}
	if a.Access, err = qpAccess(r.Access); err != nil {
		return a, err
	}
	if to == transport.ReadyToReceive && o.Type != transport.UD {
		a.Path, err = o.session.engine.path(&r.Path)
	}
	return a, err
}

// qpAccess translates the access flags of a queue pair, of which local rights have no meaning.
func qpAccess(flags uint32) (transport.Access, error) { return access(flags &^ accessLocalWrite) }
