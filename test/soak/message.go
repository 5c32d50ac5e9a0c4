package main

import (
	"fmt"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// wrong is what is wrong with a message on purpose.
type wrong int

const (
	wrongNot        wrong = iota
	wrongKey              // a remote key that nobody has
	wrongBounds           // past the end of the region
	wrongAccess           // a region without the right
	wrongDomain           // a region of another protection domain
	wrongAlignment        // an atomic
	wrongLocalKey         // our own memory
	wrongLength           // longer than the receive
	wrongReceive          // a receive whose memory is not the receiver's
	wrongInvalidate       // a key that may not be invalidated
	wrongNever            // no receive is ever posted
	wrongQKey             // of a datagram
)

var wrongNames = [...]string{"", "wrong key", "out of bounds", "no right", "other domain",
	"unaligned", "wrong local key",
	"longer than the receive", "receive into foreign memory", "invalidates a plain region",
	"no receive", "wrong Q_Key"}

// fate is how both ends of a reliable connection learn of a mistake. Of unreliable ones neither
// does.
type fate struct {
	sender   transport.Status
	receiver transport.Status // of the receive it took; success: it takes none
}

var fates = [...]fate{
	wrongKey:        {sender: transport.StatusRemAccessErr},
	wrongBounds:     {sender: transport.StatusRemAccessErr},
	wrongAccess:     {sender: transport.StatusRemAccessErr},
	wrongDomain:     {sender: transport.StatusRemAccessErr},
	wrongAlignment:  {sender: transport.StatusRemInvReqErr},
	wrongLocalKey:   {sender: transport.StatusLocProtErr},
	wrongLength:     {transport.StatusRemInvReqErr, transport.StatusLocLenErr},
	wrongReceive:    {transport.StatusRemOpErr, transport.StatusLocProtErr},
	wrongInvalidate: {transport.StatusRemAccessErr, transport.StatusLocProtErr},
	wrongNever:      {sender: transport.StatusRNRRetryExcErr},
}

// progress is how far a message has come.
type progress uint8

const (
	waiting progress = iota
	posted
	succeeded
	failed // or flushed
)

// message is one work request of a script, from its draw to its end.
type message struct {
	number int // in its script
	op     transport.SendOp
	size   int
	at     units.Time // not posted before
	wrong  wrong
	flags  transport.SendFlags
	imm    uint32
	reads  *message // READ: the WRITE whose destination it reads back
	relays *message // SEND or WRITE: the READ whose result it sends, behind a fence
	key    payload

	progress progress
	arrived  bool   // whole at the receiver, and seen by it
	local    pieces // source, or destination of READ and atomics
	remote   pieces // destination of WRITE, source of READ
	users    int    // of local and remote: itself, and those that relay or read back
	atomic   *atomicUse
	doomed   *arena // OpSendInv: the region it ends
}

// answered says whether data comes back.
func (m *message) answered() bool { return m.op >= transport.OpRead }

func (m *message) isAtomic() bool { return m.op >= transport.OpCmpSwap }

func (m *message) isWrite() bool {
	return m.op == transport.OpWrite || m.op == transport.OpWriteImm
}

// consumes says whether it takes a receive.
func (m *message) consumes() bool {
	return m.op <= transport.OpSendInv || m.op == transport.OpWriteImm
}

// carries is the payload that lands in the receive.
func (m *message) carries() int {
	if m.op <= transport.OpSendInv {
		return m.size
	}
	return 0
}

func (m *message) String() string {
	s := fmt.Sprintf("message %d (%v of %d bytes", m.number, m.op, m.size)
	if m.wrong != wrongNot {
		s += ", " + wrongNames[m.wrong]
	}
	return s + ")"
}

// packets answers how many packets it takes at a path MTU.
func (m *message) packets(mtu units.Bytes) int { return max(1, (m.size+int(mtu)-1)/int(mtu)) }

// badKey is what makes a key one that nobody has.
const badKey = 0x5a5a5a00

var completionOps = [...]transport.CompletionOp{
	transport.OpSend: transport.CompSend, transport.OpSendImm: transport.CompSend,
	transport.OpSendInv: transport.CompSend,
	transport.OpWrite:   transport.CompWrite, transport.OpWriteImm: transport.CompWrite,
	transport.OpRead:    transport.CompRead,
	transport.OpCmpSwap: transport.CompCmpSwap, transport.OpFetchAdd: transport.CompFetchAdd,
}

// datagramRoom is what a receive for datagrams holds besides the payload.
const datagramRoom = wire.GRHLen
