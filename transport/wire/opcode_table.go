package wire

import "github.com/goroce/goroce/internal/extension"

// operations is IB table 38 by the lower five bits of the opcode, which mean the same in every
// service. What follows from these facts — lengths, names, rules — is computed from them, so that
// a header's presence and its length cannot disagree.
var operations = [...]OpcodeInfo{
	0x00: {Name: "SEND_FIRST", Kind: Send, First: true},
	0x01: {Name: "SEND_MIDDLE", Kind: Send},
	0x02: {Name: "SEND_LAST", Kind: Send, Last: true},
	0x03: {Name: "SEND_LAST_IMM", Kind: Send, Last: true, Imm: true},
	0x04: {Name: "SEND_ONLY", Kind: Send, First: true, Last: true},
	0x05: {Name: "SEND_ONLY_IMM", Kind: Send, First: true, Last: true, Imm: true},
	0x06: {Name: "WRITE_FIRST", Kind: Write, First: true, RETH: true},
	0x07: {Name: "WRITE_MIDDLE", Kind: Write},
	0x08: {Name: "WRITE_LAST", Kind: Write, Last: true},
	0x09: {Name: "WRITE_LAST_IMM", Kind: Write, Last: true, Imm: true},
	0x0a: {Name: "WRITE_ONLY", Kind: Write, First: true, Last: true, RETH: true},
	0x0b: {Name: "WRITE_ONLY_IMM", Kind: Write, First: true, Last: true, RETH: true, Imm: true},
	0x0c: {Name: "READ_REQ", Kind: Read, First: true, Last: true, RETH: true},
	0x0d: {Name: "READ_RESP_FIRST", Kind: ReadResponse, First: true, AETH: true},
	0x0e: {Name: "READ_RESP_MIDDLE", Kind: ReadResponse},
	0x0f: {Name: "READ_RESP_LAST", Kind: ReadResponse, Last: true, AETH: true},
	0x10: {Name: "READ_RESP_ONLY", Kind: ReadResponse, First: true, Last: true, AETH: true},
	0x11: {Name: "ACK", Kind: Ack, First: true, Last: true, AETH: true},
	0x12: {Name: "ATOMIC_ACK", Kind: AtomicAck, First: true, Last: true, AETH: true},
	0x13: {Name: "CMP_SWAP", Kind: CmpSwap, First: true, Last: true, AtomicETH: true},
	0x14: {Name: "FETCH_ADD", Kind: FetchAdd, First: true, Last: true, AtomicETH: true},
	0x16: {Name: "SEND_LAST_INV", Kind: Send, Last: true, Inv: true},
	0x17: {Name: "SEND_ONLY_INV", Kind: Send, First: true, Last: true, Inv: true},
}

var opcodes = table38()

func table38() (table [256]OpcodeInfo) {
	for i, row := range operations {
		op := Opcode(i)
		if row.Kind == 0 {
			continue
		}
		table[op] = row.in(RC)
		if op <= RCWriteOnlyImm {
			table[UCSendFirst+op] = row.in(UC)
		}
		if op == RCSendOnly || op == RCSendOnlyImm {
			table[UDSendOnly-RCSendOnly+op] = row.in(UD)
		}
	}
	table[CNP] = OpcodeInfo{Name: "CNP", Valid: true, Transport: CNPTransport, Kind: CNPKind,
		First: true, Last: true, Ext: cnpLen}
	table[Probe] = OpcodeInfo{Name: "PROBE", Transport: RC, Kind: Extension,
		Ext: XCHLen + extension.ProbeLen}
	table[ProbeAck] = OpcodeInfo{Name: "PROBE_ACK", Transport: RC, Kind: Extension,
		Ext: XCHLen + extension.ProbeEchoLen}
	table[RTS] = OpcodeInfo{Name: "RTS", Transport: RC, Kind: Extension,
		Ext: XCHLen + extension.RTSLen}
	table[Token] = OpcodeInfo{Name: "TOKEN", Transport: RC, Kind: Extension,
		Ext: XCHLen + extension.TokenLen}
	table[CREDIT] = OpcodeInfo{Name: "CREDIT", Transport: RC, Kind: Extension,
		Ext: XCHLen + extension.CreditLen}
	table[XACK] = OpcodeInfo{Name: "XACK", Transport: RC, Kind: Extension, Ext: XCHLen + AETHLen}
	table[XDATA] = OpcodeInfo{Name: "XDATA", Transport: RC, Kind: Extension, Ext: XCHLen + InnerLen}
	table[SRC] = OpcodeInfo{Name: "SRC", Transport: RC, Kind: Extension, Ext: XCHLen + srcLen}
	return table
}

// in completes a row for service t.
func (i OpcodeInfo) in(t Transport) OpcodeInfo {
	i.Valid, i.Transport, i.Name = true, t, t.String()+"_"+i.Name
	i.DETH = t == UD
	i.Payload = i.Kind == Send || i.Kind == Write || i.Kind == ReadResponse
	i.Request = i.Kind != ReadResponse && i.Kind != Ack && i.Kind != AtomicAck
	for _, h := range []struct {
		present bool
		len     uint8
	}{
		{i.DETH, DETHLen}, {i.RETH, RETHLen}, {i.AETH, AETHLen}, {i.AtomicETH, atomicETHLen},
		{i.Kind == AtomicAck, atomicAckETHLen}, {i.Imm, ImmDtLen}, {i.Inv, iethLen},
	} {
		if h.present {
			i.Ext += h.len
		}
	}
	return i
}
