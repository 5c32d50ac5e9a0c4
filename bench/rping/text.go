package rping

import (
	"encoding/binary"
	"fmt"

	"github.com/goroce/goroce/transport"
)

// The letters of rping's texts: A to z in ASCII.
const (
	firstLetter = 'A'
	letters     = 'z' - 'A' + 1
)

// writeText fills b as rping does for its nth ping: a name, letters that start one later in each
// ping, and a final zero.
func writeText(b []byte, n int) {
	at := copy(b, fmt.Sprintf("rdma-ping-%d: ", n))
	for i := range b[at:] {
		b[at+i] = firstLetter + byte((n+i)%letters)
	}
	b[len(b)-1] = 0
}

// wordOf returns a text without its final zero, for printing.
func wordOf(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// advertLen is the length of every message: a buffer's address, as in struct rping_rdma_info.
const advertLen = 16

// advert locates a buffer.
type advert struct {
	addr uint64
	rkey uint32
	size uint32
}

func advertOf(mr *transport.MemoryRegion, size int) advert {
	return advert{mr.Addr, mr.RKey, uint32(size)}
}

func (a advert) put(b []byte) {
	binary.BigEndian.PutUint64(b, a.addr)
	binary.BigEndian.PutUint32(b[8:], a.rkey)
	binary.BigEndian.PutUint32(b[12:], a.size)
}

// parseAdvert parses a peer's message.
func parseAdvert(b []byte) (a advert, err error) {
	if len(b) != advertLen {
		return a, fmt.Errorf("message of %d bytes from the peer, want %d", len(b), advertLen)
	}
	a = advert{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]),
		binary.BigEndian.Uint32(b[12:])}
	return a, nil
}
