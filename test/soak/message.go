package main

import (
	"fmt"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// mistake is a deliberate error of a message.
type mistake int

const (
	mistakeNone       mistake = iota
	mistakeKey                // an unknown remote key
	mistakeBounds             // an access past the end of the region
	mistakeAccess             // a region without the access right
	mistakeDomain             // a region of another protection domain
	mistakeAlignment          // an unaligned atomic
	mistakeLocalKey           // an unknown local key
	mistakeLength             // longer than the receive
	mistakeReceive            // a receive with an unknown local key
	mistakeInvalidate         // a key that must not be invalidated
	mistakeNoReceive          // a message for which no receive is ever posted
	mistakeQKey               // a datagram with a wrong Q_Key
)

var mistakeNames = [...]string{"", "wrong key", "out of bounds", "no right", "other domain",
	"unaligned", "wrong local key",
	"longer than the receive", "receive into foreign memory", "invalidates a plain region",
	"no receive", "wrong Q_Key"}

// outcome is the status with which each end of a reliable connection completes a mistake.
// Unreliable connections report none.
type outcome struct {
	sender   transport.Status
	receiver transport.Status // of the receive that it consumes; success: it consumes none
}

var outcomes = [...]outcome{
	mistakeKey:        {sender: transport.StatusRemAccessErr},
	mistakeBounds:     {sender: transport.StatusRemAccessErr},
	mistakeAccess:     {sender: transport.StatusRemAccessErr},
	mistakeDomain:     {sender: transport.StatusRemAccessErr},
	mistakeAlignment:  {sender: transport.StatusRemInvReqErr},
	mistakeLocalKey:   {sender: transport.StatusLocProtErr},
	mistakeLength:     {transport.StatusRemInvReqErr, transport.StatusLocLenErr},
	mistakeReceive:    {transport.StatusRemOpErr, transport.StatusLocProtErr},
	mistakeInvalidate: {transport.StatusRemAccessErr, transport.StatusLocProtErr},
	mistakeNoReceive:  {sender: transport.StatusRNRRetryExcErr},
}

// progress is the state of a message.
type progress uint8

const (
	waiting progress = iota
	posted
	succeeded
	failed // or flushed
)

// message is one work request of a script.
type message struct {
	number    int // in its script
	op        transport.Op
	size      int
	at        units.Time // earliest time to post it
	mistake   mistake
	signaled  bool
	fence     bool
	solicited bool
	inline    bool
	imm       uint32
	readsBack *message // READ: the WRITE whose destination it reads
	resends   *message // SEND or WRITE: the fenced READ whose result it sends
	key       payload

	progress    progress
	arrived     bool   // complete at the receiver, and verified there
	local       pieces // source, or destination of READ and atomics
	remote      pieces // destination of WRITE, source of READ
	users       int    // of local and remote: itself, and messages that resend or read back
	atomic      *atomicUse
	invalidates *arena // OpSendInv: the region that it invalidates
}

// hasResponse reports whether the request returns data.
func (m *message) hasResponse() bool { return m.op >= transport.OpRead }

func (m *message) isAtomic() bool { return m.op >= transport.OpCmpSwap }

func (m *message) isWrite() bool {
	return m.op == transport.OpWrite || m.op == transport.OpWriteImm
}

// consumesReceive reports whether the message consumes a receive.
func (m *message) consumesReceive() bool {
	return m.op <= transport.OpSendInv || m.op == transport.OpWriteImm
}

// receiveBytes returns the length of the payload in the receive.
func (m *message) receiveBytes() int {
	if m.op <= transport.OpSendInv {
		return m.size
	}
	return 0
}

func (m *message) String() string {
	s := fmt.Sprintf("message %d (%v of %d bytes", m.number, m.op, m.size)
	if m.mistake != mistakeNone {
		s += ", " + mistakeNames[m.mistake]
	}
	return s + ")"
}

// packets returns the number of packets of the message at a path MTU.
func (m *message) packets(mtu units.Bytes) int { return max(1, (m.size+int(mtu)-1)/int(mtu)) }

// badKey turns a valid key into an unknown one by exclusive or.
const badKey = 0x5a5a5a00

// datagramRoom is the length of the GRH before the payload in a receive of a datagram.
const datagramRoom = wire.GRHLen
