package fabric

import (
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// wholeLen is up to which length frames are not worth a cut: they take their headers' place as they
// are.
const wholeLen = 2*shortest - frameCheck

// trimmedBehind is what is left behind the BTH of a trimmed frame: the common header of goroce's
// extension, and the opcode inside. Over IPv4 that makes the shortest frame there is, the 64 bytes
// of NDP.
const trimmedBehind = 6

// trim finds a place for a frame that came to a full queue: without its payload in another one, or
// whole in that of the newest frame that waits.
func (s *Switch) trim(in, out *Port, q *queue, f *frame) {
	if q.config.TrimNewest && q.tail.from != nil && s.net.rng.Uint32()&1 != 0 &&
		q.tail.len > wholeLen && f.len > wholeLen {
		newest := out.takeNewest(f.prio)
		from := newest.from
		s.release(newest)
		s.take(in, out, q, f)
		in, f = from, newest
	}
	q.stats.Trimmed++
	f.trim(q.config)
	s.take(in, out, &out.queues[f.prio], f)
}

// takeNewest takes the newest frame out of a queue. It walks the queue, which is as short as what
// is trimmed.
func (p *Port) takeNewest(of uint8) *frame {
	q := &p.queues[of]
	newest, at := q.tail, &q.head
	q.tail = nil
	for *at != newest {
		q.tail = *at
		at = &(*at).next
	}
	*at = nil
	if q.head == nil {
		p.filled &^= 1 << of
		q.deficit = 0
	}
	q.count--
	q.bytes -= units.Bytes(newest.size)
	if q.watch != nil {
		q.tell(p.net.now)
	}
	return newest
}

// trim cuts the payload off.
func (f *frame) trim(c *Queue) {
	f.prio = uint8(c.TrimTo)
	if f.len <= wholeLen || f.l3 == 0 {
		return
	}
	ip, length := f.mem[f.l3:], int(f.l3)+wire.UDPLen+wire.BTHLen+trimmedBehind
	if ip[0]>>4 == 4 {
		length += wire.IPv4Len
	} else {
		length += wire.IPv6Len
	}
	f.resize(length)
	if c.TrimDSCP != 0 {
		f.dscp = c.TrimDSCP
		f.setTOS(f.dscp<<2 | f.ecn)
	}
}
