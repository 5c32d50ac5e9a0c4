package main

import "encoding/binary"

// payload is the content of a message, a function of its value and the offset.
type payload uint64

// newPayload returns content that differs from that of every other message.
func newPayload(seed uint64, end, message int) payload {
	return payload(scramble(seed + scramble(uint64(end)<<32|uint64(message))))
}

// scramble is a 64-bit hash (the finalizer of SplitMix64, Steele et al., OOPSLA 2014).
func scramble(v uint64) uint64 {
	v += 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// word returns the eight bytes at offset 8*i.
func (p payload) word(i uint64) uint64 {
	v := (uint64(p) + i) * 0x9e3779b97f4a7c15
	return v ^ v>>29
}

func (p payload) at(offset int) byte { return byte(p.word(uint64(offset/8)) >> (8 * (offset % 8))) }

// fill writes the message's content from offset on to b.
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

// mismatch returns the index of the first byte of b that differs from the content from offset on,
// and -1 if there is none.
func (p payload) mismatch(b []byte, offset int) int {
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
