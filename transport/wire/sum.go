package wire

import "encoding/binary"

// minOnePass is the length, in bytes, from which a payload is copied and summed in one pass. The
// sum of the headers apart costs more than a second pass over a shorter one (BenchmarkSealCopy).
const minOnePass = 1024

// SealCopy copies a payload to offset at of a frame, where its headers end, and ends the frame as
// Seal does. It sums a long payload while it copies it, if this processor can. The two must not
// overlap.
func (t *Template) SealCopy(frame []byte, at int, payload []byte) {
	if len(payload) < minOnePass || !hasCopyCRC || t.noICRC {
		copy(frame[at:], payload)
		t.Seal(frame)
		return
	}
	t.sealCopy(frame, at, payload)
}

// sealCopy is SealCopy in one pass.
func (t *Template) sealCopy(frame []byte, at int, payload []byte) {
	end := at + len(payload)
	crc := copyCRC(t.sumHeaders(frame[:at]), frame[at:end], payload)
	if pad := frame[end : len(frame)-ICRCLen]; len(pad) > 0 {
		clear(pad)
		crc = updateCRC(crc, pad)
	}
	binary.LittleEndian.PutUint32(frame[len(frame)-ICRCLen:], crc)
}

// sumHeaders returns the invariant CRC of a frame's headers.
func (t *Template) sumHeaders(headers []byte) uint32 {
	b := headers[t.l3:]
	if Opcode(headers[t.len-BTHLen]) == XDATA {
		return icrcXDATA(b, int(t.len-t.l3)-BTHLen, t.v6)
	}
	return icrc(b, t.v6)
}
