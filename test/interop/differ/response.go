package differ

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
)

// Response is a responder's packet, reduced to the fields that both must send alike.
type Response struct {
	Op       wire.Opcode
	PSN      int32         // relative to the case's
	Syndrome wire.Syndrome // of opcodes with an AETH
	MSN      uint32
	Original uint64 // of an atomic
	Len      int
	Sum      uint32 // CRC-32 of the payload
	Fault    string // why a requester would drop it
}

// parseResponse parses a responder's frame.
func (c *Case) parseResponse(frame []byte) Response {
	var p wire.Packet
	if err := p.Parse(frame); err != nil {
		return Response{Fault: err.Error()}
	}
	a := Response{
		Op:  p.Op,
		PSN: int32(p.PSN-c.PSN) << 8 >> 8,
		Len: len(p.Payload()),
		Sum: crc32.ChecksumIEEE(p.Payload()),
	}
	if info := p.Op.Info(); info.AETH {
		a.Syndrome, a.MSN = p.AETH().Syndrome, p.AETH().MSN.Get()
	}
	switch {
	case p.Op == wire.RCAtomicAck:
		a.Original = p.AtomicAck()
	case p.Op == wire.CNP: // its PSN is meaningless
		a.PSN = 0
	}
	switch {
	case !p.ICRC():
		a.Fault = "wrong ICRC"
	case p.DestQP != requesterQPN:
		a.Fault = fmt.Sprintf("for queue pair %#x", uint32(p.DestQP))
	case p.SrcIP() != responder[c.V6] || p.DstIP() != requester[c.V6]:
		a.Fault = fmt.Sprintf("from %v to %v", p.SrcIP(), p.DstIP())
	case p.PKey != wire.DefaultPKey:
		a.Fault = fmt.Sprintf("P_Key %#x", p.PKey)
	}
	return a
}

// absolute returns the PSN as in the packet.
func (a Response) absolute(c *Case) wire.PSN { return c.PSN.Add(uint32(a.PSN) & wire.PSNMask) }

// String describes an response.
func (a Response) String() string {
	if a.Op == 0 && a.Fault != "" {
		return "no packet: " + a.Fault
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v psn %+d", a.Op, a.PSN)
	if a.Op.Info().AETH {
		fmt.Fprintf(&b, " %v msn %d", a.Syndrome, a.MSN)
	}
	switch {
	case a.Op == wire.RCAtomicAck:
		fmt.Fprintf(&b, " original %#x", a.Original)
	case a.Op.Info().Payload:
		fmt.Fprintf(&b, " %d bytes %08x", a.Len, a.Sum)
	}
	if a.Fault != "" {
		b.WriteString(", " + a.Fault)
	}
	return b.String()
}

// nak reports whether responses are a single NAK of a code.
func nak(responses []Response, code uint8) bool {
	return len(responses) == 1 && responses[0].Op == wire.RCAck &&
		responses[0].Syndrome == wire.NakSyndrome(code)
}

// ack reports whether responses are a single ACK.
func ack(responses []Response) bool {
	return len(responses) == 1 && responses[0].Op == wire.RCAck && responses[0].Syndrome.IsAck()
}

// completionFlags are the extra fields of a completion.
type completionFlags uint8

const (
	withImm completionFlags = 1 << iota
	withInv
	withGRH
)

// flagsOf returns the flags of one of our completions.
func flagsOf(w *transport.WorkCompletion) (f completionFlags) {
	if w.WithImm {
		f |= withImm
	}
	if w.WithInv {
		f |= withInv
	}
	if w.WithGRH {
		f |= withGRH
	}
	return f
}

// Completion is the completion of a receive. If it failed, only the status is valid.
type Completion struct {
	ID     uint64
	Status transport.Status
	Op     transport.Op
	Flags  completionFlags
	Len    uint32
	Imm    uint32
	SrcQP  wire.QPN
}

func (w Completion) String() string {
	if w.Status != transport.StatusSuccess {
		return fmt.Sprintf("receive %d: %v", w.ID, w.Status)
	}
	return fmt.Sprintf(
		"receive %d: %v of %d bytes, flags %b, immediate %#x, from queue pair %#x",
		w.ID,
		w.Op,
		w.Len,
		w.Flags,
		w.Imm,
		uint32(w.SrcQP),
	)
}

// normal clears the fields that are not valid.
func (w Completion) normal() Completion {
	if w.Status != transport.StatusSuccess {
		return Completion{ID: w.ID, Status: w.Status}
	}
	if w.Flags&(withImm|withInv) == 0 {
		w.Imm = 0
	}
	if w.Flags&withGRH == 0 {
		w.SrcQP = 0
	}
	return w
}

// Effect is what packets did beside the responses.
type Effect struct {
	State       transport.State
	PSN         int32           // expected next by an RC queue pair that works
	Completions []Completion    // since the last look
	Memory      [regions]uint64 // FNV-1a of each
}

// Responder is one of the two implementations.
type Responder interface {
	// Open creates the queue pair of a case, with fresh memory.
	Open(c *Case) error
	// Send delivers packets together and returns all responses to them.
	Send(c *Case, packets []Packet) ([]Response, error)
	// Look returns the effect of the packets so far; each completion only once.
	Look(c *Case) (*Effect, error)
	// Close destroys the queue pair.
	Close() error
	// Dump returns the content of a region.
	Dump(region int) ([]byte, error)
}

// expects records the PSN that a queue pair expects. It may differ for UC, which does not report
// gaps.
func (e *Effect) expects(c *Case, psn wire.PSN) {
	if c.Type == transport.RC && e.State == transport.ReadyToSend {
		e.PSN = int32(psn-c.PSN) << 8 >> 8
	}
}

// String returns state and PSN.
func (e *Effect) String() string { return fmt.Sprintf("%v expects %+d", e.State, e.PSN) }

func (e *Effect) equal(o *Effect) bool {
	return e.State == o.State && e.PSN == o.PSN && e.Memory == o.Memory &&
		slices.Equal(e.Completions, o.Completions)
}
