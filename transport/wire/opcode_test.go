package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestOpcodeTable is IB table 38 once more, written as the table is: header by header.
func TestOpcodeTable(t *testing.T) {
	const (
		first, last, only = "F", "L", "FL"
		payload, none     = true, false
	)
	known := map[Opcode]bool{}
	for _, c := range []struct {
		op      Opcode
		value   uint8
		name    string
		kind    Kind
		place   string
		headers string
		ext     uint8
		payload bool
		request bool
	}{
		{RCSendFirst, 0x00, "RC_SEND_FIRST", Send, first, "", 0, payload, true},
		{RCSendMiddle, 0x01, "RC_SEND_MIDDLE", Send, "", "", 0, payload, true},
		{RCSendLast, 0x02, "RC_SEND_LAST", Send, last, "", 0, payload, true},
		{RCSendLastImm, 0x03, "RC_SEND_LAST_IMM", Send, last, "Imm", 4, payload, true},
		{RCSendOnly, 0x04, "RC_SEND_ONLY", Send, only, "", 0, payload, true},
		{RCSendOnlyImm, 0x05, "RC_SEND_ONLY_IMM", Send, only, "Imm", 4, payload, true},
		{RCWriteFirst, 0x06, "RC_WRITE_FIRST", Write, first, "RETH", 16, payload, true},
		{RCWriteMiddle, 0x07, "RC_WRITE_MIDDLE", Write, "", "", 0, payload, true},
		{RCWriteLast, 0x08, "RC_WRITE_LAST", Write, last, "", 0, payload, true},
		{RCWriteLastImm, 0x09, "RC_WRITE_LAST_IMM", Write, last, "Imm", 4, payload, true},
		{RCWriteOnly, 0x0a, "RC_WRITE_ONLY", Write, only, "RETH", 16, payload, true},
		{RCWriteOnlyImm, 0x0b, "RC_WRITE_ONLY_IMM", Write, only, "RETH Imm", 20, payload, true},
		{RCReadRequest, 0x0c, "RC_READ_REQ", Read, only, "RETH", 16, none, true},
		{RCReadResponseFirst, 0x0d, "RC_READ_RESP_FIRST", ReadResponse, first, "AETH", 4, payload,
			false},
		{RCReadResponseMiddle, 0x0e, "RC_READ_RESP_MIDDLE", ReadResponse, "", "", 0, payload,
			false},
		{RCReadResponseLast, 0x0f, "RC_READ_RESP_LAST", ReadResponse, last, "AETH", 4, payload,
			false},
		{RCReadResponseOnly, 0x10, "RC_READ_RESP_ONLY", ReadResponse, only, "AETH", 4, payload,
			false},
		{RCAck, 0x11, "RC_ACK", Ack, only, "AETH", 4, none, false},
		{RCAtomicAck, 0x12, "RC_ATOMIC_ACK", AtomicAck, only, "AETH", 12, none, false},
		{RCCmpSwap, 0x13, "RC_CMP_SWAP", CmpSwap, only, "AtomicETH", 28, none, true},
		{RCFetchAdd, 0x14, "RC_FETCH_ADD", FetchAdd, only, "AtomicETH", 28, none, true},
		{RCSendLastInv, 0x16, "RC_SEND_LAST_INV", Send, last, "Inv", 4, payload, true},
		{RCSendOnlyInv, 0x17, "RC_SEND_ONLY_INV", Send, only, "Inv", 4, payload, true},

		{UCSendFirst, 0x20, "UC_SEND_FIRST", Send, first, "", 0, payload, true},
		{UCSendMiddle, 0x21, "UC_SEND_MIDDLE", Send, "", "", 0, payload, true},
		{UCSendLast, 0x22, "UC_SEND_LAST", Send, last, "", 0, payload, true},
		{UCSendLastImm, 0x23, "UC_SEND_LAST_IMM", Send, last, "Imm", 4, payload, true},
		{UCSendOnly, 0x24, "UC_SEND_ONLY", Send, only, "", 0, payload, true},
		{UCSendOnlyImm, 0x25, "UC_SEND_ONLY_IMM", Send, only, "Imm", 4, payload, true},
		{UCWriteFirst, 0x26, "UC_WRITE_FIRST", Write, first, "RETH", 16, payload, true},
		{UCWriteMiddle, 0x27, "UC_WRITE_MIDDLE", Write, "", "", 0, payload, true},
		{UCWriteLast, 0x28, "UC_WRITE_LAST", Write, last, "", 0, payload, true},
		{UCWriteLastImm, 0x29, "UC_WRITE_LAST_IMM", Write, last, "Imm", 4, payload, true},
		{UCWriteOnly, 0x2a, "UC_WRITE_ONLY", Write, only, "RETH", 16, payload, true},
		{UCWriteOnlyImm, 0x2b, "UC_WRITE_ONLY_IMM", Write, only, "RETH Imm", 20, payload, true},

		{UDSendOnly, 0x64, "UD_SEND_ONLY", Send, only, "DETH", 8, payload, true},
		{UDSendOnlyImm, 0x65, "UD_SEND_ONLY_IMM", Send, only, "DETH Imm", 12, payload, true},
		{CNP, 0x81, "CNP", CNPKind, only, "", 16, none, false},
	} {
		i := c.op.Info()
		known[c.op] = true
		assert.Equal(t, c.value, uint8(c.op), c.name)
		assert.True(t, i.Valid, c.name)
		assert.Equal(t, c.name, c.op.String())
		assert.Equal(t, c.name[:2], i.Transport.String()[:2])
		assert.Equal(t, Transport(c.op>>5), i.Transport, c.name)
		assert.Equal(t, c.kind, i.Kind, c.name)
		assert.Equal(t, c.place, words("", i.First, "F", i.Last, "L"), c.name)
		assert.Equal(t, c.headers, words(" ", i.DETH, "DETH", i.RETH, "RETH", i.AETH, "AETH",
			i.AtomicETH, "AtomicETH", i.Imm, "Imm", i.Inv, "Inv"), c.name)
		assert.Equal(t, c.ext, i.Ext, c.name)
		assert.Equal(t, c.payload, i.Payload, c.name)
		assert.Equal(t, c.request, i.Request, c.name)
	}
	for op := range 256 {
		assert.Equal(t, known[Opcode(op)], Opcode(op).Info().Valid, "opcode 0x%02x", op)
	}
	for op, name := range map[Opcode]string{Probe: "PROBE", ProbeAck: "PROBE_ACK", XACK: "XACK",
		XDATA: "XDATA"} {
		assert.Equal(t, name, op.String())
		assert.Equal(t, Extension, op.Info().Kind)
		assert.Equal(t, RC, op.Info().Transport, "the extension is for reliable connections")
	}
	assert.Equal(t, "opcode 0x15", Opcode(0x15).String())
	assert.Equal(t, "transport 7", Transport(7).String())
	assert.Equal(t, "READ_RESP", ReadResponse.String())
	assert.Equal(t, "kind 99", Kind(99).String())
}

// words joins those of a list of (bool, string) whose bool is true.
func words(separator string, pairs ...any) (s string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i].(bool) {
			if s != "" {
				s += separator
			}
			s += pairs[i+1].(string)
		}
	}
	return s
}
