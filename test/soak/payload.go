package main

import "encoding/binary"

// payload is the content of a message: any byte of it can be told from its key and its offset.
type payload uint64

// payloadOf makes the content of one message that no other has.
func payloadOf(seed uint64, side, message int) payload {
	return payload(scramble(seed + scramble(uint64(side)<<32|uint64(message))))
}

// scramble is a hash of 64 bits (the finalizer of SplitMix64, Steele et al., OOPSLA 2014).
func scramble(v uint64) uint64 {
	v += 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// word is the eight bytes at offset 8*i.
func (p payload) word(i uint64) uint64 {
	v := (uint64(p) + i) * 0x9e3779b97f4a7c15
	return v ^ v>>29
}

func (p payload) at(offset int) byte { return byte(p.word(uint64(offset/8)) >> (8 * (offset % 8))) }

// fill writes what the message has from offset on.
func (p payload) fill(b []byte, offset int) {
	for len(b) > 0 && offset%8 != 0 {
		b[0] = p.at(offset)
		b, offset = b[1:], offset+1
	}
	i := uint64(offset / 8)
	for ; len(b) >= 8; b, i = b[8:], i+1 {
		binary.LittleEndian.PutUint64(b, p.word(i))
	}
	for j := range b {
		b[j] = p.at(int(i)*8 + j)
	}
}

// differs answers the first place at which b is not what the message has from offset on; -1 when
// there is none.
func (p payload) differs(b []byte, offset int) int {
	at := 0
	for ; at < len(b) && (offset+at)%8 != 0; at++ {
		if b[at] != p.at(offset+at) {
			return at
		}
	}
	i := uint64((offset + at) / 8)
	for ; len(b)-at >= 8 && binary.LittleEndian.Uint64(b[at:]) == p.word(i); i++ {
		at += 8
	}
	for ; at < len(b); at++ {
		if b[at] != p.at(offset+at) {
			return at
		}
	}
	return -1
}
