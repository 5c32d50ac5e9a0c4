package goroce

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
)

// Memory is memory that operations of one connection read and write, and the peer's operations too
// if it has the handle (Remote) and the rights. It is registered until Deregister, or until the
// connection is closed.
type Memory struct {
	conn *Conn
	buf  []byte
	mr   *transport.MemoryRegion
	// uses counts the operations that use the memory; deregistered is added at the end.
	uses atomic.Int64
}

// deregistered makes Memory.uses negative for good.
const deregistered = -1 << 62

// Register makes buf available to operations of the connection: as their local memory, and to the
// peer with the given rights. Without any these are all rights but transport.RemoteInvalidate; a
// peer needs the handle to use them. No memory is copied or pinned.
//
// The polling core and the peer access buf at any time while it is registered. Synchronise by
// completions and messages: what a peer wrote is visible once a later message of it was received.
func (c *Conn) Register(buf []byte, rights ...transport.Access) (*Memory, error) {
	access := transport.LocalWrite // rights of the peer need it
	for _, a := range rights {
		access |= a
	}
	if len(rights) == 0 {
		access |= transport.RemoteRead | transport.RemoteWrite | transport.RemoteAtomic
	}
	m := &Memory{conn: c, buf: buf}
	var failure error
	err := c.w.do(func(ep *transport.Endpoint) {
		if c.destroyed {
			failure = c.ended()
			return
		}
		if m.mr, failure = ep.RegisterMemory(c.pd, buf, access); failure == nil {
			c.memories[m] = struct{}{}
		}
	})
	if err = errors.Join(err, failure); err != nil {
		return nil, fmt.Errorf("goroce: register %d bytes: %w", len(buf), err)
	}
	return m, nil
}

// Bytes returns the registered memory.
func (m *Memory) Bytes() []byte { return m.buf }

// Deregister ends the registration, and the peer's access. While operations of this side use the
// memory it has no effect and returns an error with transport.ErrBusy. Operations whose context
// ended use it until they end, too (OpError.Withdrawn).
func (m *Memory) Deregister() error {
	if !m.uses.CompareAndSwap(0, deregistered) {
		n := m.uses.Load()
		if n < 0 {
			return nil
		}
		return fmt.Errorf("goroce: deregister %d bytes: %d operations use them: %w", len(m.buf), n,
			transport.ErrBusy)
	}
	err := m.conn.w.do(func(*transport.Endpoint) {
		if _, registered := m.conn.memories[m]; registered {
			m.mr.Deregister()
			delete(m.conn.memories, m)
		}
	})
	if errors.Is(err, ErrClosed) {
		return nil // the host has released everything
	}
	return err
}

// acquire counts an operation. It reports whether the memory is registered.
func (m *Memory) acquire() bool {
	if m.uses.Add(1) > 0 {
		return true
	}
	m.uses.Add(-1)
	return false
}

func (m *Memory) release() { m.uses.Add(-1) }

// All returns all of the memory, as an operand.
func (m *Memory) All() Local { return Local{m, 0, len(m.buf)} }

// Slice returns n bytes at offset, as an operand. An operation checks the bounds.
func (m *Memory) Slice(offset, n int) Local { return Local{m, offset, n} }

// Local is a piece of registered memory as an operand: the source of a WRITE or SEND, the
// destination of a READ. The zero value is for operations without a payload.
type Local struct {
	memory    *Memory
	offset, n int
}

// Len returns the number of bytes.
func (l Local) Len() int { return l.n }

// Bytes returns the bytes, or nil if they lie outside of the memory.
func (l Local) Bytes() []byte {
	if l.memory == nil || l.offset < 0 || l.n < 0 || l.offset > len(l.memory.buf)-l.n {
		return nil
	}
	return l.memory.buf[l.offset : l.offset+l.n]
}

// check returns an error unless the operand can be one of an operation of c.
func (l Local) check(c *Conn) error {
	switch m := l.memory; {
	case m == nil && l.n == 0:
		return nil
	case m == nil:
		return fmt.Errorf("local memory that is not registered: %w", transport.ErrInvalid)
	case m.conn != c:
		return fmt.Errorf("local memory of another connection, want memory that Register of this "+
			"one returned: %w", transport.ErrInvalid)
	case l.offset < 0 || l.n < 0 || l.offset > len(m.buf)-l.n:
		return fmt.Errorf("%d bytes at offset %d of local memory of %d bytes: %w", l.n, l.offset,
			len(m.buf), transport.ErrInvalid)
	}
	return nil
}

// Remote is a handle of a peer's memory: what an operation needs to access it. Memory.Remote makes
// it, and the owner sends it to its peer in a message, for instance with MarshalBinary.
type Remote struct {
	Addr uint64 // of the first byte, as the peer's keys count
	Len  uint64 // bytes
	Key  uint32
	// QPN is the peer's queue pair for whose connection the memory is registered; 0 if this is not
	// known, as with a peer that is not of package goroce.
	QPN wire.QPN
}

// Remote returns the handle for the peer.
func (m *Memory) Remote() Remote {
	return Remote{Addr: m.mr.Addr, Len: uint64(len(m.buf)), Key: m.mr.RKey, QPN: m.conn.qp.Num}
}

// Slice returns the handle of n bytes at offset. An operation checks the bounds.
func (r Remote) Slice(offset, n int) Remote {
	if offset < 0 || n < 0 || uint64(offset) > r.Len || uint64(n) > r.Len-uint64(offset) {
		return Remote{Key: r.Key, QPN: outOfBounds}
	}
	r.Addr, r.Len = r.Addr+uint64(offset), uint64(n)
	return r
}

// outOfBounds marks the slice of a handle that lies outside of it. Queue pair numbers have 24 bits.
const outOfBounds wire.QPN = 1 << 31

// remoteSize is the length of an encoded Remote.
const remoteSize = 24

// MarshalBinary encodes a handle in 24 bytes, big endian: address (8), length (8), key (4), queue
// pair number (4).
func (r Remote) MarshalBinary() ([]byte, error) {
	return r.AppendBinary(make([]byte, 0, remoteSize))
}

// AppendBinary appends the encoding of MarshalBinary.
func (r Remote) AppendBinary(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint64(b, r.Addr)
	b = binary.BigEndian.AppendUint64(b, r.Len)
	b = binary.BigEndian.AppendUint32(b, r.Key)
	return binary.BigEndian.AppendUint32(b, uint32(r.QPN)), nil
}

// UnmarshalBinary decodes the encoding of MarshalBinary.
func (r *Remote) UnmarshalBinary(b []byte) error {
	if len(b) != remoteSize {
		return fmt.Errorf("goroce: remote handle of %d bytes, want %d: %w", len(b), remoteSize,
			transport.ErrInvalid)
	}
	d := Remote{Addr: binary.BigEndian.Uint64(b), Len: binary.BigEndian.Uint64(b[8:]),
		Key: binary.BigEndian.Uint32(b[16:]), QPN: wire.QPN(binary.BigEndian.Uint32(b[20:]))}
	switch {
	case d.QPN > 0xffffff:
		return fmt.Errorf("goroce: remote handle with queue pair number %#x, want 24 bits: %w",
			uint32(d.QPN), transport.ErrInvalid)
	case d.Addr+d.Len < d.Addr:
		return fmt.Errorf("goroce: remote handle of %d bytes at %#x, beyond the address space: %w",
			d.Len, d.Addr, transport.ErrInvalid)
	}
	*r = d
	return nil
}

// check returns an error unless c's operation on n bytes can access the memory.
func (r Remote) check(c *Conn, n int) error {
	switch {
	case r.QPN == outOfBounds:
		return fmt.Errorf("a slice outside of the remote memory: %w", transport.ErrInvalid)
	case r.QPN != 0 && r.QPN != c.peerQPN:
		return fmt.Errorf("remote memory of queue pair %#x, the connection's is %#x: %w",
			uint32(r.QPN), uint32(c.peerQPN), transport.ErrInvalid)
	case uint64(n) > r.Len:
		return fmt.Errorf("%d bytes in remote memory of %d: %w", n, r.Len, transport.ErrInvalid)
	}
	return nil
}
