package transport

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

const trimmedDSCP = 50

// trimmed is what a switch leaves of a frame.
func trimmed(frame []byte) []byte {
	wire.IPv4(frame[14:]).SetTOS(trimmedDSCP << 2)
	wire.IPv4(frame[14:]).UpdateChecksum()
	return frame[:60]
}

// absent shows what the responder of a queue pair misses.
func (qp *QueuePair) absent() string {
	var ranges []string
	for first, n := qp.nextMissing(qp.resp.ePSN); n > 0; first, n = qp.nextMissing(first.Add(uint32(n))) {
		ranges = append(ranges, fmt.Sprintf("%d+%d", uint32(first), n))
	}
	return strings.Join(ranges, " ")
}

// What is missing follows from what came: whole, or cut to its headers. A number is the PSN of a packet that comes, with
// a minus one that comes trimmed.
func TestMissing(t *testing.T) {
	for _, c := range []struct {
		name    string
		comes   []int
		absent  string
		told    int // packets, each loss once
		dropped int
	}{
		{"nothing came", nil, "", 0, 0},
		{"in order", []int{100, 101, 102}, "", 0, 0},
		{"a gap", []int{100, 103}, "101+2", 2, 0},
		{"two gaps, told as they appear", []int{101, 103, 104, 107}, "100+1 102+1 105+2", 4, 0},
		{"a gap closes", []int{101, 100}, "", 1, 0},
		{"half of a gap closes", []int{100, 104, 102}, "101+1 103+1", 3, 0},
		{"twice", []int{102, 102}, "100+2", 2, 0},
		{"a header alone: what is before it waits in its queue", []int{100, -105}, "105+1", 1, 0},
		{"headers", []int{100, -103, -105, -104}, "103+3", 3, 0},
		{"what waited comes", []int{-103, 100, 101, 102}, "103+1", 1, 0},
		{"and goes on behind", []int{-103, 100, 101, 102, 104}, "103+1", 1, 0},
		{"the packet itself", []int{-103, 100, 101, 102, 103}, "", 1, 0},
		{"before its turn", []int{-103, 100, 103}, "101+2", 3, 0},
		{"trimmed again", []int{100, -103, -103}, "103+1", 2, 0},
		{"the expected one trimmed", []int{-100, 101}, "100+1", 1, 0},
		{"overtaken, then its header: told once", []int{100, 102, -101}, "101+1", 1, 0},
		{"overtaken, then its header, then trimmed again", []int{100, 102, -101, -101}, "101+1", 2, 0},
		{"header of what is here", []int{102, -102}, "100+2", 2, 1},
		{"header of what was executed", []int{100, -100}, "", 0, 1},
		{"the last that a SACK tells of", []int{-611}, "611+1", 1, 0},
		{"beyond", []int{-612}, "", 0, 1},
		{"a long row is told in parts", []int{400}, "100+255 355+45", 300, 0},
		{"what is too far tells nothing", []int{613}, "", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			p.b.trimmedDSCP = trimmedDSCP
			_, b := p.connected(selective())
			f := newForger(p, b)
			for i := range 20 {
				b.recv(t, uint64(i), 0, 1024)
			}
			cut := 0
			for _, psn := range c.comes {
				var spoil func([]byte) []byte
				if psn < 0 {
					psn, spoil = -psn, trimmed
					cut++
				}
				f.send(wire.Fields{Op: wire.RCSendOnly, PSN: wire.PSN(psn)}, 1000, nil, spoil)
				p.settle(units.Microsecond)
			}
			assert.Equal(t, c.absent, b.qp.absent())
			k := p.b.counters
			assert.EqualValues(t, c.told, k.Missing)
			assert.EqualValues(t, c.dropped, k.DropTrimmed)
			assert.EqualValues(t, cut-c.dropped, k.Trimmed)
			assert.Equal(t, c.absent == "", b.qp.resp.ahead == nil, "borrowed as long as something is missing")
			b.qp.ToReset()
			assert.Empty(t, b.qp.absent())
			p.conserved()
		})
	}
}

// Of what was kept so long as there was room, and dropped after, the latter is missing, too.
func TestMissingForWantOfBuffers(t *testing.T) {
	p := newPair(t)
	p.b.maxHeld = 2
	_, b := p.connected(selective())
	f := newForger(p, b)
	for psn := wire.PSN(101); psn < 106; psn++ {
		f.send(wire.Fields{Op: wire.RCSendOnly, PSN: psn}, 1000, nil, nil)
	}
	p.settle(units.Microsecond)
	assert.Equal(t, "100+1 103+3", b.qp.absent())
	assert.EqualValues(t, 4, p.b.counters.Missing)
	p.conserved()
}

// Headers that say nothing are dropped, each under its own name, and change nothing.
func TestDroppedHeaders(t *testing.T) {
	data := wire.Fields{Op: wire.RCWriteMiddle, PSN: 101}
	for _, c := range []struct {
		name   string
		fields wire.Fields
		plain  bool  // go-back-N
		dscp   uint8 // that the endpoint was told
		addr   func(*wire.Address)
		spoil  func([]byte) []byte
		count  func(*Counters) uint64
	}{
		{"nobody trims", data, false, 0, nil, nil, func(c *Counters) uint64 { return c.DropTruncated }},
		{"another DSCP", data, false, 51, nil, nil, func(c *Counters) uint64 { return c.DropTruncated }},
		{"broken in another way", data, false, trimmedDSCP, nil, func(f []byte) []byte { f[24]++; return f }, func(c *Counters) uint64 { return c.DropIPHeader }},
		{"half a BTH", data, false, trimmedDSCP, nil, func(f []byte) []byte { return f[:50] }, func(c *Counters) uint64 { return c.DropTruncated }},
		{"another queue pair", data, false, trimmedDSCP, func(a *wire.Address) { a.DestQP += 5 }, nil, func(c *Counters) uint64 { return c.DropUnknownQP }},
		{"another service", wire.Fields{Op: wire.UCWriteMiddle, PSN: 101}, false, trimmedDSCP, nil, nil, func(c *Counters) uint64 { return c.DropWrongService }},
		{"another peer", data, false, trimmedDSCP, func(a *wire.Address) { a.Src = netip.MustParseAddr("10.0.0.9") }, nil, func(c *Counters) uint64 { return c.DropPeer }},
		{"another partition", data, false, trimmedDSCP, func(a *wire.Address) { a.PKey = 0x8123 }, nil, func(c *Counters) uint64 { return c.DropPKey }},
		{"a response", wire.Fields{Op: wire.RCReadResponseMiddle, PSN: 101}, false, trimmedDSCP, nil, nil, func(c *Counters) uint64 { return c.DropTrimmed }},
		{"go-back-N", data, true, trimmedDSCP, nil, nil, func(c *Counters) uint64 { return c.DropTrimmed }},
		{"another tag", wire.Fields{Op: wire.XDATA, PSN: 101}, false, trimmedDSCP, nil, func(f []byte) []byte { f[54] = 0x10; return f }, func(c *Counters) uint64 { return c.DropTag }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			p.b.trimmedDSCP = c.dscp
			o := selective()
			if c.plain {
				o = defaults()
			}
			_, b := p.connected(o)
			p.settle(units.Microsecond)
			f := newForger(p, b)
			if c.addr != nil {
				c.addr(&f.addr)
			}
			was := p.b.counters
			f.send(c.fields, 1024, nil, func(frame []byte) []byte {
				frame = trimmed(frame)
				if c.spoil != nil {
					frame = c.spoil(frame)
				}
				return frame
			})
			p.settle(units.Microsecond)
			assert.EqualValues(t, 1, c.count(&p.b.counters)-c.count(&was), "%+v", p.b.counters)
			assert.Nil(t, b.qp.resp.ahead)
			assert.Zero(t, p.b.counters.Trimmed)
			p.conserved()
		})
	}
}
