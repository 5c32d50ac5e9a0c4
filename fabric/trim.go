package fabric

import (
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// maxUntrimmed is the maximum length of frames that are moved to the headers' queue without
// trimming.
const maxUntrimmed = 2*minFrame - frameCheck

// trimmedPayload is the number of bytes kept after the BTH of a trimmed frame: the common header of
// goroce's extension and the inner opcode. Over IPv4 the result is the shortest Ethernet frame, the
// 64 bytes of NDP.
const trimmedPayload = 6

// trim handles a frame that arrives at a full queue. It either trims the frame and enqueues its
// header, or trims the newest queued frame and enqueues the arriving one in its place.
func (s *Switch) trim(in, out *Port, q *queue, f *frame) {
	if q.config.TrimNewest && q.tail.from != nil && s.net.rng.Uint32()&1 != 0 &&
		q.tail.len > maxUntrimmed && f.len > maxUntrimmed {
		newest := out.takeNewest(f.prio)
		from := newest.from
		s.release(newest)
		s.accept(in, out, q, f)
		in, f = from, newest
	}
	q.stats.Trimmed++
	f.trim(q.config)
	s.accept(in, out, &out.queues[f.prio], f)
}

// takeNewest removes the newest frame of a queue. It traverses the queue, whose length Trim limits.
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
		q.notify(p.net.now)
	}
	return newest
}

// trim removes the payload.
func (f *frame) trim(c *Queue) {
	f.prio = uint8(c.TrimTo)
	if f.len <= maxUntrimmed || f.l3 == 0 {
		return
	}
	ip, length := f.mem[f.l3:], int(f.l3)+wire.UDPLen+wire.BTHLen+trimmedPayload
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
