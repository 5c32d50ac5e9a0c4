package goroce

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// Stream is a reliable stream of bytes in each direction. It is a net.Conn, and an io.ReaderFrom
// and io.WriterTo that save a copy. DialStream and the listener of ListenStream return it.
//
// Each direction has a ring buffer at the receiver. The sender's polling core WRITEs into it what
// the program has written, and no more than the receiver's program has made room for by reading
// (docs/streams.md). Options.StreamBuffer is the size of a ring.
type Stream struct {
	streamRings
	local, remote net.Addr

	readMu, writeMu             sync.Mutex
	readDeadline, writeDeadline *deadline

	closing sync.Once
	closed  chan struct{} // closed when Close begins
}

var (
	_ net.Conn      = (*Stream)(nil)
	_ io.ReaderFrom = (*Stream)(nil)
	_ io.WriterTo   = (*Stream)(nil)
)

// StreamAddr is the address of one end of a stream, or of a listener.
type StreamAddr struct {
	// Addr is the address of the handshake (TCP), with which DialStream reaches a listener.
	net.Addr
	// IP is the address of RoCEv2.
	IP netip.Addr
}

// Network returns "roce".
func (StreamAddr) Network() string { return "roce" }

// LocalAddr returns a StreamAddr.
func (s *Stream) LocalAddr() net.Addr { return s.local }

// RemoteAddr returns a StreamAddr.
func (s *Stream) RemoteAddr() net.Addr { return s.remote }

// Read reads what has arrived, and waits if that is nothing. The error is io.EOF after the peer's
// Close or CloseWrite, and otherwise a *net.OpError.
func (s *Stream) Read(p []byte) (int, error) {
	s.readMu.Lock()
	defer s.readMu.Unlock()
	if err := s.awaitData(len(p)); err != nil {
		return 0, s.opError("read", err)
	}
	for n := 0; ; {
		k := copy(p[n:], piece(s.readable()))
		s.consume(k)
		if n += k; k == 0 || n == len(p) {
			return n, nil
		}
	}
}

// piece returns the beginning of a part of a ring. Data is copied by pieces, so that the polling
// core sends one, or informs the peer of the room for another, while the next is copied.
func piece(b []byte) []byte { return b[:min(len(b), streamChunk)] }

// WriteTo writes all that arrives to w, from the receive buffer, until the end of the stream.
func (s *Stream) WriteTo(w io.Writer) (int64, error) {
	s.readMu.Lock()
	defer s.readMu.Unlock()
	for total := int64(0); ; {
		switch err := s.awaitData(1); {
		case errors.Is(err, io.EOF):
			return total, nil
		case err != nil:
			return total, s.opError("read", err)
		}
		n, err := w.Write(s.readable())
		s.consume(n)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
}

// Write copies p to the send buffer, and waits while that is full. The data are on their way when
// it returns. The error is a *net.OpError, with syscall.EPIPE if the peer has closed the stream.
func (s *Stream) Write(p []byte) (int, error) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	for n := 0; ; {
		if err := s.awaitSpace(len(p) - n); err != nil {
			return n, s.opError("write", err)
		}
		k := copy(piece(s.writable()), p[n:])
		s.commit(k)
		if n += k; n == len(p) {
			return n, nil
		}
	}
}

// ReadFrom reads r into the send buffer until its end. Other writes wait meanwhile.
func (s *Stream) ReadFrom(r io.Reader) (int64, error) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	for total := int64(0); ; {
		if err := s.awaitSpace(1); err != nil {
			return total, s.opError("write", err)
		}
		n, err := r.Read(s.writable())
		s.commit(n)
		total += int64(n)
		if errors.Is(err, io.EOF) {
			return total, nil
		} else if err != nil {
			return total, err
		}
	}
}

// awaitData waits until something can be read, if wanted is not 0.
func (s *Stream) awaitData(wanted int) error {
	return s.reader.await(s, s.readDeadline, func() (bool, error) {
		// before the loads of what has arrived: what came earlier is read first
		ended, failed := s.ended.Load(), isClosed(s.conn.failed)
		switch {
		case s.consumed.Load() < s.arrived.Load() || wanted == 0:
			return true, nil
		case ended:
			return false, io.EOF
		case failed:
			return false, s.conn.ended()
		}
		return false, nil
	})
}

// awaitSpace waits until something can be written, if wanted is not 0.
func (s *Stream) awaitSpace(wanted int) error {
	return s.writer.await(s, s.writeDeadline, func() (bool, error) {
		switch {
		case s.finished.Load():
			return false, net.ErrClosed
		case isClosed(s.conn.failed):
			if err := s.conn.ended(); !errors.Is(err, io.EOF) {
				return false, err
			}
			return false, syscall.EPIPE
		}
		return len(s.writable()) > 0 || wanted == 0, nil
	})
}

// opError returns an error as those of package net are.
func (s *Stream) opError(op string, err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if errors.Is(err, ErrClosed) {
		err = net.ErrClosed
	}
	return &net.OpError{Op: op, Net: s.local.Network(), Source: s.local, Addr: s.remote, Err: err}
}

// CloseWrite ends this side's direction: after what was written the peer reads io.EOF. This side
// can still read.
func (s *Stream) CloseWrite() error {
	if isClosed(s.closed) {
		return s.opError("close", net.ErrClosed)
	}
	s.finish()
	return nil
}

// Close ends the stream. It waits up to Options.Linger until the peer's receive buffer has what was
// written; otherwise the data are lost, the peer's Read returns an error other than io.EOF after
// what has arrived, and so does Close. What has arrived here and was not read is dropped.
func (s *Stream) Close() error {
	if onPollingCore() {
		return s.opError("close", ErrOnCore)
	}
	err := error(net.ErrClosed)
	s.closing.Do(func() {
		close(s.closed)
		err = s.end()
	})
	if err != nil {
		err = s.opError("close", err)
	}
	return err
}

// end sends what is left, up to Options.Linger, and ends the connection.
func (s *Stream) end() error {
	s.finish()
	var late <-chan time.Time
	if linger := s.conn.linger; linger >= 0 {
		timer := time.NewTimer(linger)
		defer timer.Stop()
		late = timer.C
	}
	var lost error
	select {
	case <-s.drained:
	case <-s.conn.failed:
	case <-late:
		lost = os.ErrDeadlineExceeded
	}
	return errors.Join(lost, s.conn.Abort())
}

// SetDeadline sets the deadlines of reading and writing, as net.Conn describes.
func (s *Stream) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

// SetReadDeadline sets the deadline of reading.
func (s *Stream) SetReadDeadline(t time.Time) error {
	return s.setDeadline(s.readDeadline, t)
}

// SetWriteDeadline sets the deadline of writing.
func (s *Stream) SetWriteDeadline(t time.Time) error {
	return s.setDeadline(s.writeDeadline, t)
}

func (s *Stream) setDeadline(d *deadline, t time.Time) error {
	if isClosed(s.closed) {
		return s.opError("set", net.ErrClosed)
	}
	d.set(t)
	return nil
}
