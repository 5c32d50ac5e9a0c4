package transport

import (
	"math/bits"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
)

// psnWindow is how many PSNs selective repeat covers, on either side of a connection.
const psnWindow = extension.MaxSACKBits

// psnSet is a set of PSNs less than psnWindow apart. A PSN's bit is its remainder, so that nothing
// moves when the window does.
type psnSet [psnWindow / 64]uint64

func (s *psnSet) has(p wire.PSN) bool { return s[p/64%psnWords]>>(p%64)&1 != 0 }
func (s *psnSet) add(p wire.PSN)      { s[p/64%psnWords] |= 1 << (p % 64) }
func (s *psnSet) remove(p wire.PSN)   { s[p/64%psnWords] &^= 1 << (p % 64) }

const psnWords = psnWindow / 64

func (s *psnSet) isEmpty() bool { return *s == psnSet{} }

// next returns the first member at or after p.
func (s *psnSet) next(p wire.PSN) (member wire.PSN, ok bool) {
	for range psnWords + 1 { // the first word twice: its bits before p come last
		if v := s[p/64%psnWords] >> (p % 64); v != 0 {
			return p.Add(uint32(bits.TrailingZeros64(v))), true
		}
		p = p.Add(64 - uint32(p%64))
	}
	return 0, false
}

// word returns the members among the 32 PSNs from p on, p in the lowest bit.
func (s *psnSet) word(p wire.PSN) uint32 { return uint32(s.word64(p)) }

// word64 returns the members among the 64 PSNs from p on, p in the lowest bit.
func (s *psnSet) word64(p wire.PSN) uint64 {
	i, shift := p/64%psnWords, p%64
	return s[i]>>shift | s[(i+1)%psnWords]<<(64-shift)
}

// within reports whether psn is less than a window ahead of una.
func within(una, psn wire.PSN) bool { return uint32(psn.Sub(una)) < psnWindow }
