package packet

// hairpinDepth is how many frames to ourselves may wait. It is a power of 2.
const hairpinDepth = 512

// Hairpin is a Port that receives the frames which are sent to its own MAC address. The port that
// it wraps would send them to others, who drop them.
type Hairpin struct {
	port   Port
	mac    MAC
	alone  bool
	frames [hairpinDepth]Buf
	added  uint
	taken  uint
}

// NewHairpin wraps a port. Alone means that nothing is at its other end, so that frames to others
// are dropped instead of filling its queue.
func NewHairpin(port Port, alone bool) *Hairpin {
	return &Hairpin{port: port, mac: port.Info().MAC, alone: alone}
}

// Info implements Port.
func (h *Hairpin) Info() Info { return h.port.Info() }

// Alloc implements Port.
func (h *Hairpin) Alloc(bufs []Buf) int { return h.port.Alloc(bufs) }

// Free implements Port.
func (h *Hairpin) Free(bufs []Buf) { h.port.Free(bufs) }

func (h *Hairpin) isOurs(b *Buf) bool {
	return b.Len() >= len(h.mac) && MAC(b.Data()[:len(h.mac)]) == h.mac
}

// Send implements Port.
func (h *Hairpin) Send(class Class, bufs []Buf) int {
	for i := 0; i < len(bufs); {
		if h.isOurs(&bufs[i]) {
			if h.added-h.taken == hairpinDepth {
				return i
			}
			h.frames[h.added%hairpinDepth] = bufs[i]
			h.added++
			i++
			continue
		}
		end := i + 1
		for end < len(bufs) && !h.isOurs(&bufs[end]) {
			end++
		}
		if n := h.sendOut(class, bufs[i:end]); n < end-i {
			return i + n
		}
		i = end
	}
	return len(bufs)
}

func (h *Hairpin) sendOut(class Class, bufs []Buf) int {
	if h.alone {
		h.port.Free(bufs)
		return len(bufs)
	}
	return h.port.Send(class, bufs)
}

// Recv implements Port. Neither our own frames nor those of others wait while half of a burst is
// free.
func (h *Hairpin) Recv(bufs []Buf) int {
	n := h.take(bufs[:len(bufs)/2])
	n += h.port.Recv(bufs[n:])
	return n + h.take(bufs[n:])
}

func (h *Hairpin) take(bufs []Buf) (n int) {
	for n < len(bufs) && h.taken != h.added {
		bufs[n] = h.frames[h.taken%hairpinDepth]
		h.taken++
		n++
	}
	return n
}
