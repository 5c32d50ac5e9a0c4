package wire

import "encoding/binary"

// SrcIs reports whether p came from the peer that t sends to: its source and destination addresses
// are those of t, swapped. A connected queue pair accepts no others (IB 9.6.1.2).
func (p *Packet) SrcIs(t *Template) bool {
	if p.V6 != t.v6 {
		return false
	}
	if p.V6 {
		got, want := p.Frame[p.L3+8:p.L3+40], t.headers[t.l3+8:t.l3+40]
		return ne64(got) == ne64(want[16:]) && ne64(got[8:]) == ne64(want[24:]) &&
			ne64(got[16:]) == ne64(want) && ne64(got[24:]) == ne64(want[8:])
	}
	got, want := p.Frame[p.L3+12:p.L3+20], t.headers[t.l3+12:t.l3+20]
	return le32(got) == le32(want[4:]) && le32(got[4:]) == le32(want)
}

func ne64(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }
