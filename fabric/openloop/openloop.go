package openloop

import (
	"encoding/binary"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Frame is a frame to send.
type Frame struct {
	At   units.Time // earliest time; if it has passed, as soon as the NIC accepts the frame
	Len  int        // of the frame without check sequence, at least MinLen
	Dst  int        // destination host
	Port uint16     // UDP source port, which identifies the flow
	DSCP uint8
	ECN  uint8
	Tag  uint64 // carried in the frame, returned in Arrival

	Class packet.Class
}

// Offsets in a frame: Ethernet, IPv4, UDP, the time of sending and the tag.
const (
	atIP   = 14
	atUDP  = atIP + 20
	atSent = atUDP + 8
	atTag  = atSent + 8
	// MinLen is the length of the shortest frame.
	MinLen = atTag + 8
)

// Arrival is a frame that a station received.
type Arrival struct {
	Sent    units.Time // when the NIC accepted it
	Arrived units.Time
	Tag     uint64
	Len     int
	CE      bool
	DSCP    uint8
}

// Station is a fabric.Poller that sends and receives frames.
type Station struct {
	host    *fabric.Host
	net     *fabric.Network
	next    func() (Frame, bool)
	receive func(Arrival)
	ahead   Frame
	have    bool
	bufs    [1]packet.Buf
	headers [][]byte
	in      [packet.Burst]packet.Buf

	Sent, SentBytes         uint64
	Received, ReceivedBytes uint64
}

// Put runs a new Station on a host. next returns the frames to send in order of time, and false
// after the last. receive is called for each arrival. Either may be nil.
func Put(net *fabric.Network, h *fabric.Host, next func() (Frame, bool),
	receive func(Arrival)) *Station {
	s := &Station{host: h, net: net, next: next, receive: receive}
	s.advance()
	h.Run(s)
	return s
}

func (s *Station) advance() {
	if s.have = s.next != nil; s.have {
		s.ahead, s.have = s.next()
	}
}

// Poll implements fabric.Poller.
func (s *Station) Poll(now units.Time) units.Time {
	for {
		n := s.host.NIC().Recv(s.in[:])
		for i := range n {
			s.take(&s.in[i])
		}
		s.host.NIC().Free(s.in[:n])
		if n < len(s.in) {
			break
		}
	}
	for s.have && !s.ahead.At.After(now) {
		if !s.send(now) {
			return now.Add(units.Forever) // polled again when the queue has room
		}
		s.advance()
	}
	if s.have {
		return s.ahead.At
	}
	return now.Add(units.Forever)
}

func (s *Station) take(b *packet.Buf) {
	data := b.Data()
	s.Received++
	s.ReceivedBytes += uint64(len(data))
	if s.receive == nil {
		return
	}
	a := Arrival{Arrived: b.Time, Len: len(data)}
	if len(data) >= MinLen {
		a.Sent = units.Time(binary.BigEndian.Uint64(data[atSent:]))
		a.Tag = binary.BigEndian.Uint64(data[atTag:])
		tos := wire.View[wire.IPv4](data[atIP:]).TOS
		a.CE, a.DSCP = tos&3 == wire.ECNCE, tos>>2
	}
	s.receive(a)
}

// send builds the next frame and passes it to the NIC. It reports whether the NIC accepted it.
func (s *Station) send(now units.Time) bool {
	nic, f := s.host.NIC(), &s.ahead
	if nic.Alloc(s.bufs[:]) == 0 {
		return false
	}
	b := &s.bufs[0]
	b.SetLen(max(f.Len, MinLen))
	data := b.Data()
	copy(data, s.header(f.Dst))
	ip := wire.View[wire.IPv4](data[atIP:])
	ip.TotalLen.Set(uint16(len(data) - atIP))
	ip.TOS = f.DSCP<<2 | f.ECN
	ip.UpdateChecksum()
	binary.BigEndian.PutUint16(data[atUDP:], f.Port)
	binary.BigEndian.PutUint16(data[atUDP+4:], uint16(len(data)-atUDP))
	binary.BigEndian.PutUint64(data[atSent:], uint64(now))
	binary.BigEndian.PutUint64(data[atTag:], f.Tag)
	if nic.Send(f.Class, s.bufs[:]) == 0 {
		nic.Free(s.bufs[:])
		return false
	}
	s.Sent++
	s.SentBytes += uint64(len(data))
	return true
}

// header returns the headers of frames to a host, with the fields that all of them share.
func (s *Station) header(dst int) []byte {
	for len(s.headers) <= dst {
		s.headers = append(s.headers, nil)
	}
	if s.headers[dst] == nil {
		h := make([]byte, atSent)
		to, from := s.net.Host(dst), s.host
		dstMAC, srcMAC := to.NIC().Info().MAC, from.NIC().Info().MAC
		copy(h, dstMAC[:])
		copy(h[6:], srcMAC[:])
		binary.BigEndian.PutUint16(h[12:], 0x0800)
		h[atIP], h[atIP+9] = 0x45, 17 // IPv4 without options, UDP
		wire.View[wire.IPv4](h[atIP:]).TTL = 64
		source, dest := from.Addrs()[0].Addr().As4(), to.Addrs()[0].Addr().As4()
		copy(h[atIP+12:], source[:])
		copy(h[atIP+16:], dest[:])
		binary.BigEndian.PutUint16(h[atUDP+2:], 7) // the discard service
		s.headers[dst] = h
	}
	return s.headers[dst]
}
