package wire

import "encoding/binary"

// ParseLike makes p a view of frame if its headers up to the extended ones differ in the PSN alone
// from those of the frame of which p is a view: then Parse would find the same again. It reports
// whether they do. If not, p is as before. The frame before must not have changed since.
func (p *Packet) ParseLike(frame []byte) bool {
	before := p.Frame
	if len(frame) < len(before) || p.isOfExtension() {
		return false
	}
	bth := int(p.BTHOff)
	if bth == overhead4-BTHLen { // the loop below, unrolled
		a, b := (*[overhead4]byte)(frame), (*[overhead4]byte)(before)
		if (le64(a[0:])^le64(b[0:]))|(le64(a[8:])^le64(b[8:]))|(le64(a[16:])^le64(b[16:]))|
			(le64(a[24:])^le64(b[24:]))|(le64(a[32:])^le64(b[32:]))|
			(le64(a[40:])^le64(b[40:])) != 0 {
			return false
		}
	} else {
		for at := 0; at < bth+4; at += 4 {
			if le32(frame[at:]) != le32(before[at:]) {
				return false
			}
		}
	}
	psn := binary.BigEndian.Uint64(frame[bth+BTHLen-8:])
	if (psn^binary.BigEndian.Uint64(before[bth+BTHLen-8:]))&^PSNMask != 0 {
		return false
	}
	p.Frame, p.PSN = frame[:len(before):len(before)], PSN(psn&PSNMask)
	return true
}

// isOfExtension reports whether the offsets of p depend on more than the headers up to the BTH.
func (p *Packet) isOfExtension() bool { return opcodes[p.Op].Kind == Extension }

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
