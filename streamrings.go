package goroce

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/goroce/goroce/internal/connect"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

const (
	// kindSetting is the setting of a Hello that has the kind of the connection. Without one it is
	// for messages.
	kindSetting = "kind"
	streamKind  = "stream"

	// defaultStreamBuffer is Options.StreamBuffer's default: 80 µs at 100 Gbit/s.
	defaultStreamBuffer = units.MiB
	minStreamBuffer     = 4 * units.KiB
	maxStreamBuffer     = 256 * units.MiB

	// streamDepth is how many WRITEs of a stream may be in flight. What is written meanwhile goes
	// with the next, so that small writes do not cost one message each.
	streamDepth = 32
	// streamChunk is the longest WRITE of a stream. The receiver reads it when it is complete.
	streamChunk = 64 * int(units.KiB)
)

// The immediate data of a stream's WRITE: how many bytes of the other direction its sender has
// read, modulo 2^31, and whether its own direction ends after this WRITE.
const (
	streamEnd  = 1 << 31
	streamRead = streamEnd - 1
)

var (
	errKind           = errors.New("use Dial with Listen, and DialStream with ListenStream")
	errStreamProtocol = errors.New("the peer violates the protocol of streams")
)

// streamRings are the two directions of a stream. Positions count bytes from the beginning of the
// stream; a position's place in a ring is the remainder by its size.
type streamRings struct {
	conn *Conn
	size uint64 // of this side's ring and of its send buffer

	in, out     []byte // the ring, and the send buffer
	inMR, outMR *transport.MemoryRegion

	arrived, consumed atomic.Uint64 // received; of these read
	ended             atomic.Bool   // the peer's direction ends at arrived
	reader            streamWaiter

	written, acked atomic.Uint64 // in the send buffer; of these acknowledged
	finished       atomic.Bool   // this side's direction ends at written
	writer         streamWaiter
	drained        chan struct{} // closed when everything is acknowledged, the end too

	asked      atomic.Bool   // serve is due
	advertised atomic.Uint64 // consumed, as the peer was last sent it

	// The polling core's.
	theirs       connect.Region // the peer's ring
	posted, read uint64         // sent; of these read by the peer, as its messages have it
	endPosted    bool
	inFlight     int // WRITEs
	untilEnd     int // of these up to that of the end, if it is posted
	next         request
}

func newStream(c *Conn, size units.Bytes) *Stream {
	s := &Stream{readDeadline: newDeadline(), writeDeadline: newDeadline(),
		closed: make(chan struct{})}
	s.conn, s.size, s.drained = c, uint64(size), make(chan struct{})
	s.reader.wake, s.writer.wake = make(chan struct{}, 1), make(chan struct{}, 1)
	return s
}

func (s *streamRings) allocate() { s.in, s.out = make([]byte, s.size), make([]byte, s.size) }

// receives is the number of WRITEs that the peer may have in flight: each is received in the round
// in which it arrives, before it is acknowledged.
func (s *streamRings) receives() int { return sendDepth }

func (s *streamRings) create(ep *transport.Endpoint) error {
	var err error
	if s.outMR, err = ep.RegisterMemory(s.conn.pd, s.out, 0); err != nil {
		return err
	}
	if s.inMR, err = ep.RegisterMemory(s.conn.pd, s.in,
		transport.LocalWrite|transport.RemoteWrite); err != nil {
		return err
	}
	for range s.receives() {
		if err := s.conn.qp.PostRecv(&transport.RecvRequest{}); err != nil {
			return err
		}
	}
	return nil
}

// describe names the kind of connection, and the ring.
func (s *streamRings) describe(mine *connect.Hello) {
	mine.Settings = map[string]string{kindSetting: streamKind}
	mine.Regions = []connect.Region{{Addr: s.inMR.Addr, Len: s.size, RKey: s.inMR.RKey}}
}

// meet takes the peer's ring.
func (s *streamRings) meet(theirs *connect.Hello) error {
	switch kind := theirs.Settings[kindSetting]; {
	case kind == "":
		return fmt.Errorf("the peer's connection is for messages, this side's is a stream: %w",
			errKind)
	case kind != streamKind:
		return fmt.Errorf("the peer's connection is of kind %q, this side's is a stream: %w", kind,
			errKind)
	case len(theirs.Regions) != 1:
		return fmt.Errorf("the Hello of a stream has %d regions, want 1: %w", len(theirs.Regions),
			connect.ErrMalformed)
	}
	r := theirs.Regions[0]
	if r.Len < uint64(minStreamBuffer) || r.Len > uint64(maxStreamBuffer) || r.Addr+r.Len < r.Addr {
		return fmt.Errorf("the peer's stream buffer has %d bytes at %#x, want %d to %d bytes: %w",
			r.Len, r.Addr, int64(minStreamBuffer), int64(maxStreamBuffer), connect.ErrMalformed)
	}
	s.theirs = r
	return nil
}

// checkStreamBuffer returns the size of a stream's buffers, for an Options.StreamBuffer.
func checkStreamBuffer(asked units.Bytes) (units.Bytes, error) {
	switch {
	case asked == 0:
		return defaultStreamBuffer, nil
	case asked < minStreamBuffer || asked > maxStreamBuffer:
		return 0, fmt.Errorf("StreamBuffer of %d bytes, want %d to %d: %w", int64(asked),
			int64(minStreamBuffer), int64(maxStreamBuffer), transport.ErrInvalid)
	}
	return asked, nil
}

// readable returns what can be read in one piece.
func (s *streamRings) readable() []byte {
	from := s.consumed.Load()
	n, at := s.arrived.Load()-from, from%s.size
	return s.in[at:min(at+n, s.size)]
}

// consume frees the first n bytes of readable. The peer is informed when that is a quarter of
// the ring, or with the next data of this side.
func (s *streamRings) consume(n int) {
	if s.consumed.Add(uint64(n))-s.advertised.Load() >= s.size/4 {
		s.ask()
	}
}

// writable returns the free part of the send buffer, in one piece.
func (s *streamRings) writable() []byte {
	from := s.written.Load()
	free, at := s.size-(from-s.acked.Load()), from%s.size
	return s.out[at:min(at+free, s.size)]
}

// commit sends the first n bytes of writable.
func (s *streamRings) commit(n int) {
	if n > 0 {
		s.written.Add(uint64(n))
		s.ask()
	}
}

// finish ends this side's direction.
func (s *streamRings) finish() {
	s.finished.Store(true)
	s.writer.signal()
	s.ask()
}

// ask makes the polling core call serve.
func (s *streamRings) ask() {
	if !s.asked.Swap(true) {
		// fails if the connection has ended, of which the next call is informed
		_ = s.conn.w.submit(&request{conn: s.conn, kind: own, tag: untagged})
	}
}

// serve sends. It runs on the polling core, as the methods below do.
func (s *streamRings) serve(int32) {
	s.asked.Store(false)
	s.send()
}

// send posts what may be sent: what the program has written, as far as the peer has room for it,
// the end, and how much has been read.
func (s *streamRings) send() {
	c := s.conn
	for s.inFlight < streamDepth {
		finished := s.finished.Load() // before written: nothing is written after it
		n := s.sendable()
		ends := finished && !s.endPosted && s.posted+uint64(n) == s.written.Load()
		consumed := s.consumed.Load()
		if n == 0 && !ends && consumed-s.advertised.Load() < s.size/4 || !c.begin() {
			return
		}
		s.advertised.Store(consumed)
		s.inFlight++
		s.next = request{conn: c, op: transport.OpWriteImm, tag: int32(n),
			remoteAddr: s.theirs.Addr + s.posted%s.theirs.Len, rkey: s.theirs.RKey,
			imm: uint32(consumed) & streamRead}
		if n > 0 {
			s.next.local = s.outMR.SGE(int(s.posted%s.size), n)
			s.posted += uint64(n)
		}
		if ends {
			s.next.imm |= streamEnd
			s.endPosted, s.untilEnd = true, s.inFlight
		}
		c.issue(&s.next)
	}
}

// sendable returns how many bytes the next WRITE may carry.
func (s *streamRings) sendable() int {
	if s.endPosted {
		return 0
	}
	return int(min(s.written.Load()-s.posted, s.read+s.theirs.Len-s.posted,
		s.size-s.posted%s.size, s.theirs.Len-s.posted%s.theirs.Len, uint64(streamChunk)))
}

// sent handles the end of a WRITE of n bytes.
func (s *streamRings) sent(n int32, ok bool) {
	s.inFlight--
	if !ok {
		return
	}
	s.acked.Add(uint64(n))
	if s.untilEnd > 0 {
		if s.untilEnd--; s.untilEnd == 0 {
			close(s.drained)
		}
	}
}

// received handles a WRITE of the peer.
func (s *streamRings) received(wc *transport.WorkCompletion) {
	arrived := s.arrived.Load() + uint64(wc.ByteLen)
	read := s.read + uint64((wc.Imm-uint32(s.read))&streamRead)
	if wc.Op != transport.OpRecvWriteImm || s.ended.Load() && wc.ByteLen > 0 ||
		read > s.posted || arrived-s.consumed.Load() > s.size {
		s.conn.setFailed(fmt.Errorf("goroce: connection to %v: %w", s.conn.peer,
			errStreamProtocol))
		_ = s.conn.qp.Modify(transport.Errored, transport.QPAttr{})
		return
	}
	s.read = read
	s.arrived.Store(arrived)
	if wc.Imm&streamEnd != 0 {
		s.ended.Store(true)
	}
	_ = s.conn.qp.PostRecv(&transport.RecvRequest{}) // the queue has room for what it had before
}

// reaped is called when a round's completions have been handled.
func (s *streamRings) reaped() {
	s.send()
	s.conn.woke(s.reader.signal())
	s.conn.woke(s.writer.signal())
}

// isDrained reports whether everything written has been acknowledged. A WRITE without data may be
// lost.
func (s *streamRings) isDrained(uint64) bool { return s.acked.Load() == s.written.Load() }

func (s *streamRings) destroy() {
	for _, mr := range []*transport.MemoryRegion{s.inMR, s.outMR} {
		if mr != nil {
			mr.Deregister()
		}
	}
}
