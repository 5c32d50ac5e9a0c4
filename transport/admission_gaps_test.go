package transport

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

const trimmedDSCP = 50

// trimmed returns what a switch leaves of a frame that it trims.
func trimmed(frame []byte) []byte {
	wire.View[wire.IPv4](frame[14:]).TOS = trimmedDSCP << 2
	wire.View[wire.IPv4](frame[14:]).UpdateChecksum()
	return frame[:60]
}

// missingString lists what the responder of a queue pair misses.
func (qp *QueuePair) missingString() string {
	var ranges []string
	missing, _ := qp.adm.missingRanges()
	for _, r := range missing {
		ranges = append(ranges, fmt.Sprintf("%d+%d", uint32(r.First), r.Count))
	}
	return strings.Join(ranges, " ")
}

// granted is a connection whose responder has a granter.
func granted(t *testing.T, o sideOptions) (p *pair, b *side, r *plainGranter) {
	p, _, b, _, r = admittedPair(t, o)
	p.b.trimmedDSCP = trimmedDSCP
	for i := range 20 {
		b.recv(t, uint64(i), 0, 1024)
	}
	return p, b, r
}

// What is missing follows from the packets that arrived, in full or trimmed to their headers. A
// number is the PSN of a packet that arrives; a negative one arrives trimmed.
func TestMissing(t *testing.T) {
	for _, c := range []struct {
		name     string
		arrivals []int
		missing  string
		reported int // packets reported missing, each loss once
		dropped  int
	}{
		{"nothing came", nil, "", 0, 0},
		{"in order", []int{100, 101, 102}, "", 0, 0},
		{"a gap", []int{100, 103}, "101+2", 2, 0},
		{"two gaps, reported as they appear", []int{101, 103, 104, 107}, "100+1 102+1 105+2", 4, 0},
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
		{"overtaken, then its header: reported once", []int{100, 102, -101}, "101+1", 1, 0},
		{"overtaken, then its header, then trimmed again", []int{100, 102, -101, -101}, "101+1", 2,
			0},
		{"header of what is here", []int{102, -102}, "100+2", 2, 1},
		{"header of what was executed", []int{100, -100}, "", 0, 1},
		{"the last that a SACK covers", []int{-611}, "611+1", 1, 0},
		{"beyond", []int{-612}, "", 0, 1},
		{"a long row is listed in parts", []int{400}, "100+255 355+45", 300, 0},
		{"headers of two windows", []int{-101, 100, 101, 102}, "", 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, b, r := granted(t, selective())
			f := newForger(p, b)
			headers := 0
			for _, psn := range c.arrivals {
				var spoil func([]byte) []byte
				if psn < 0 {
					psn, spoil = -psn, trimmed
					headers++
				}
				f.send(wire.Fields{Op: wire.RCSendOnly, PSN: wire.PSN(psn)}, 1000, nil, spoil)
				p.settle(units.Microsecond)
			}
			assert.Equal(t, c.missing, b.qp.missingString())
			k := p.b.counters
			assert.EqualValues(t, c.reported, k.Missing)
			assert.Equal(t, c.reported, r.missing)
			assert.Equal(t, c.missing != "", b.qp.adm.hasMissing())
			assert.EqualValues(t, c.dropped, k.DropTrimmed)
			assert.EqualValues(t, headers-c.dropped, k.Trimmed)
			p.conserved()
		})
	}
}

// Trimmed packets are listed without others, once for each header, and after that with everything
// that is missing.
func TestTrimmedAreReportedOnce(t *testing.T) {
	p, b, _ := granted(t, selective())
	f := newForger(p, b)
	send := func(psn wire.PSN, spoil func([]byte) []byte) {
		f.send(wire.Fields{Op: wire.RCSendOnly, PSN: psn}, 1000, nil, spoil)
		p.settle(units.Microsecond)
	}
	list := func() ([]extension.Range, bool) { return b.qp.adm.missingRanges() }
	for _, step := range []struct {
		psn   wire.PSN
		spoil func([]byte) []byte
		first []extension.Range // of the next list, trimmed packets only
		after string            // of the list after it
	}{
		{104, trimmed, []extension.Range{{First: 104, Count: 1}}, "104+1"},
		{103, nil, nil, "100+3 104+1"},
		{106, trimmed, []extension.Range{{First: 106, Count: 1}}, "100+3 104+1 106+1"},
		{104, trimmed, []extension.Range{{First: 104, Count: 1}}, "100+3 104+1 106+1"},
		{104, nil, nil, "100+3 106+1"},
	} {
		send(step.psn, step.spoil)
		if step.first != nil {
			ranges, alone := list()
			require.True(t, alone)
			assert.Equal(t, step.first, ranges)
		}
		_, alone := list()
		assert.False(t, alone)
		assert.Equal(t, step.after, b.qp.missingString())
	}
}

// Packets that were dropped when there was no room any more are missing, those held are not.
func TestMissingWithoutBuffers(t *testing.T) {
	p, b, r := granted(t, selective())
	p.b.maxHeld = 2
	f := newForger(p, b)
	for psn := wire.PSN(101); psn < 106; psn++ {
		f.send(wire.Fields{Op: wire.RCSendOnly, PSN: psn}, 1000, nil, nil)
	}
	p.settle(units.Microsecond)
	assert.Equal(t, "103+3", b.qp.missingString(),
		"first without others: these packets are lost for certain")
	assert.Equal(t, "100+1 103+3", b.qp.missingString())
	assert.Equal(t, 4, r.missing)
	p.conserved()
}

// immediateGranter is a granter that has a TOKEN to send when something is missing.
type immediateGranter struct{ *plainGranter }

func (g immediateGranter) Missing(n int, bytes units.Bytes, now units.Time) {
	g.plainGranter.Missing(n, bytes, now)
	g.next = now
}

// A granter that is notified of missing packets sends its TOKEN at once, whatever the cause: a
// packet for which there is no buffer, or a READ behind a gap.
func TestTokenForMissingIsSentAtOnce(t *testing.T) {
	for name, come := range map[string]func(*forger, *pair){
		"no buffer": func(f *forger, p *pair) {
			p.b.maxHeld = 0
			f.send(wire.Fields{Op: wire.RCSendOnly, PSN: 102}, 1000, nil, nil)
		},
		"a READ": func(f *forger, _ *pair) {
			f.send(wire.Fields{Op: wire.RCReadRequest, PSN: 102}, 0, func(ext []byte) {
				wire.View[wire.RETH](ext).Set(addressBase, 0, 100)
			}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, b, r := granted(t, selective())
			b.qp.adm.granter = immediateGranter{plainGranter: r}
			come(newForger(p, b), p)
			p.settle(units.Microsecond)
			assert.NotZero(t, r.missing)
			assert.NotZero(t, p.b.counters.TokensSent)
		})
	}
}

// In a network that reorders, an overtaken packet is missing only after the reordering window; a
// trimmed packet is missing at once.
func TestMissingAfterReorderingWindow(t *testing.T) {
	const us = units.Microsecond
	o := selective()
	o.reordering = 8 * us
	p, b, r := granted(t, o)
	f := newForger(p, b)
	send := func(psn wire.PSN, spoil func([]byte) []byte) {
		f.send(wire.Fields{Op: wire.RCSendOnly, PSN: psn}, 1000, nil, spoil)
		p.settle(0)
	}
	expect := func(reported int, absent string) {
		t.Helper()
		assert.Equal(t, reported, r.missing)
		assert.Equal(t, absent, b.qp.missingString())
		assert.Equal(t, absent != "", b.qp.adm.hasMissing())
	}
	send(100, nil)
	send(103, nil)
	expect(0, "")
	p.settle(3 * us)
	send(106, nil)
	send(101, nil)
	send(108, trimmed)
	expect(1, "108+1")
	p.settle(7 * us) // 10 since 103 arrived, and the quarter that may be added
	expect(2, "102+1 108+1")
	p.settle(3 * us)
	expect(4, "102+1 104+2 108+1")
	for _, psn := range []wire.PSN{104, 102, 105, 107, 108} {
		send(psn, nil)
	}
	expect(4, "")
	send(111, nil)
	send(109, nil)
	send(110, nil)
	p.settle(20 * us)
	expect(4, "")
	p.conserved()
}

// Useless headers are dropped, each kind with its own counter, and have no effect.
func TestDroppedHeaders(t *testing.T) {
	data := wire.Fields{Op: wire.RCWriteMiddle, PSN: 101}
	for _, c := range []struct {
		name   string
		fields wire.Fields
		plain  bool  // go-back-N
		free   bool  // there is no granter
		dscp   uint8 // Config.TrimmedDSCP
		addr   func(*wire.Address)
		spoil  func([]byte) []byte
		count  func(*Stats) uint64
	}{
		{"no switch trims", data, false, false, 0, nil, nil, func(c *Stats) uint64 {
			return c.DropTruncated
		}},
		{"another DSCP", data, false, false, 51, nil, nil, func(c *Stats) uint64 {
			return c.DropTruncated
		}},
		{"broken in another way", data, false, false, trimmedDSCP, nil, func(f []byte) []byte {
			f[24]++
			return f
		}, func(c *Stats) uint64 { return c.DropIPHeader }},
		{"half a BTH", data, false, false, trimmedDSCP, nil, func(f []byte) []byte {
			return f[:50]
		}, func(c *Stats) uint64 { return c.DropTruncated }},
		{"another queue pair", data, false, false, trimmedDSCP, func(a *wire.Address) {
			a.DestQP += 5
		}, nil, func(c *Stats) uint64 { return c.DropUnknownQP }},
		{"another service", wire.Fields{Op: wire.UCWriteMiddle, PSN: 101}, false, false,
			trimmedDSCP, nil, nil, func(c *Stats) uint64 {
				return c.DropWrongService
			}},
		{"another peer", data, false, false, trimmedDSCP, func(a *wire.Address) {
			a.Src = netip.MustParseAddr("10.0.0.9")
		}, nil, func(c *Stats) uint64 { return c.DropPeer }},
		{"another partition", data, false, false, trimmedDSCP, func(a *wire.Address) {
			a.PKey = 0x8123
		}, nil, func(c *Stats) uint64 { return c.DropPKey }},
		{"a response", wire.Fields{Op: wire.RCReadResponseMiddle, PSN: 101}, false, false,
			trimmedDSCP, nil, nil, func(c *Stats) uint64 {
				return c.DropTrimmed
			}},
		{"go-back-N", data, true, false, trimmedDSCP, nil, nil, func(c *Stats) uint64 {
			return c.DropTrimmed
		}},
		{"no granter", data, false, true, trimmedDSCP, nil, nil, func(c *Stats) uint64 {
			return c.DropTrimmed
		}},
		{"another tag", wire.Fields{Op: wire.XDATA, PSN: 101}, false, false, trimmedDSCP, nil,
			func(f []byte) []byte {
				f[54] = 0x10
				return f
			}, func(c *Stats) uint64 { return c.DropTag }},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := selective()
			if c.plain {
				o = defaults()
			}
			p, b, r := granted(t, o)
			if c.free {
				p = newPair(t)
				_, b = p.connected(o)
				p.settle(10 * units.Microsecond)
			}
			p.b.trimmedDSCP = c.dscp
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
			assert.Zero(t, r.missing)
			assert.Zero(t, p.b.counters.Trimmed+p.b.counters.Missing)
			p.conserved()
		})
	}
}

// FuzzTrimmed checks that, whatever arrives, in full, trimmed or cut anywhere, the missing packets
// are ahead, not held and in order, and no fewer than reported to the granter.
func FuzzTrimmed(f *testing.F) {
	f.Add([]byte{0, 60, 3, 60, 3, 200, 4, 0, 1, 0}, uint8(trimmedDSCP))
	f.Add([]byte{200, 54, 255, 0, 100, 59, 0, 0}, uint8(trimmedDSCP))
	f.Add([]byte{5, 60, 5, 60, 9, 0}, uint8(0))
	f.Fuzz(func(t *testing.T, comes []byte, dscp uint8) {
		p, b, r := granted(t, selective())
		p.b.trimmedDSCP = dscp & 63
		fg := newForger(p, b)
		for i := 0; i+1 < min(len(comes), 80); i += 2 {
			left := int(comes[i+1])
			fg.send(wire.Fields{Op: wire.RCSendOnly, PSN: 100 + 3*wire.PSN(comes[i])}, 100, nil,
				func(frame []byte) []byte {
					if left == 0 {
						return frame
					}
					return trimmed(frame)[:min(left, 60)]
				})
			p.settle(units.Microsecond)
			missing := 0
			next := b.qp.rcv.ePSN
			ranges, _ := b.qp.adm.missingRanges()
			for _, m := range ranges {
				first := wire.PSN(m.First)
				require.False(t, first.Before(next))
				require.NotZero(t, m.Count)
				for psn := first; psn != first.Add(uint32(m.Count)); psn = psn.Add(1) {
					require.True(t, within(b.qp.rcv.ePSN, psn))
					require.True(t, psn == b.qp.rcv.ePSN || b.qp.rcv.reorder == nil ||
						!b.qp.rcv.reorder.present.has(psn))
					missing++
				}
				next = first.Add(uint32(m.Count))
			}
			require.GreaterOrEqual(t, r.missing, missing)
			require.Equal(t, b.qp.adm.hasMissing(), missing > 0 ||
				b.qp.adm.rcvMax.After(b.qp.rcv.ePSN))
		}
		require.EqualValues(t, r.missing, p.b.counters.Missing)
		p.conserved()
	})
}
