package differ

import (
	"math/rand/v2"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
)

// generator draws a case. It follows what an honest requester would say next.
type generator struct {
	rng  *rand.Rand
	c    *Case
	sent []Packet
	honest
}

// honest is what an honest requester knows.
type honest struct {
	psn   int32
	recvs int // left at the responder
	message
}

// message is the SEND or WRITE in progress; none when left is 0.
type message struct {
	write bool
	imm   bool
	total int
	left  int
	at    int64 // offset of a WRITE
}

// Generate draws the case of a seed.
func Generate(seed uint64) *Case {
	rng := rand.New(rand.NewPCG(seed, 0x7278656469666665)) // "rxediffe"
	c := &Case{
		Seed:  seed,
		V6:    rng.IntN(4) == 0,
		MTU:   one(rng, 256, 512, 1024, 1024, 2048, 4096),
		Timer: uint8(rng.IntN(32)),
		Recvs: one(
			rng,
			0,
			1,
			2,
			4,
			8,
			8,
			8,
		),
		RecvLen: one(rng, 64, 300, 1024, 2048),
		Reads:   one(rng, 0, 1, 4, 4, 16, 16),
		PSN: wire.PSN(
			one(rng, 0, 1, 0xfffff0, 0xffffff, 0x7ffff8, rng.IntN(1<<24)),
		),
		QKey:   rng.Uint32() >> 1,
		Access: regionAccess[regionAll],
	}
	switch n := rng.IntN(10); {
	case n < 7:
		c.Type = transport.RC
	case n < 9:
		c.Type = transport.UC
	default:
		c.Type = transport.UD
		c.MTU = 4096 // the link's
	}
	if rng.IntN(6) == 0 {
		c.Access = transport.LocalWrite | transport.Access(rng.IntN(8))<<1
	}
	g := &generator{rng: rng, c: c, honest: honest{recvs: c.Recvs}}
	for range 8 + rng.IntN(16) {
		g.step()
	}
	for range 3 { // whether it still answers
		g.add(g.next())
	}
	c.Packets = g.sent
	return c
}

// step adds a packet, of which about one in three is wrong, or a few correct ones that leave at
// once.
func (g *generator) step() {
	if g.c.Type == transport.RC && g.rng.IntN(20) == 0 {
		for range 1 + g.rng.IntN(6) {
			p := g.next()
			p.Together = true
			g.add(p)
		}
		g.add(g.next())
		return
	}
	before := g.honest
	p := g.next()
	if g.rng.IntN(3) == 0 {
		if advances := g.mutate(&p); !advances {
			g.honest = before
		}
	}
	g.add(p)
}

func (g *generator) add(p Packet) { g.sent = append(g.sent, p) }

// next is the packet that an honest requester sends next.
func (g *generator) next() Packet {
	if g.left == 0 {
		if p, whole := g.begin(); whole {
			return p
		}
	}
	return g.part()
}

// begin chooses a message. A READ or atomic is whole.
func (g *generator) begin() (p Packet, whole bool) {
	kinds := map[transport.QPType]int{transport.RC: 10, transport.UC: 6, transport.UD: 3}[g.c.Type]
	switch kind := g.rng.IntN(kinds); {
	case kind < 3:
		g.message = message{total: g.size(g.c.RecvLen)}
		if g.recvs == 0 && g.rng.IntN(4) > 0 && g.c.Type != transport.UD {
			return g.begin()
		}
	case kind < 6:
		g.message = message{
			write: true,
			total: g.size(regionSize / 2),
			at:    int64(g.rng.IntN(regionSize / 2)),
		}
	case kind < 8:
		return g.read(), true
	default:
		return g.atomic(), true
	}
	g.imm = g.rng.IntN(4) == 0 && (g.recvs > 0 || !g.write)
	g.left = g.total
	return p, false
}

// size draws the length of a message.
func (g *generator) size(most int) int {
	mtu := g.c.MTU
	n := one(g.rng, 0, 1, 2, 3, 4, 5, 17, mtu-1, mtu, mtu+1, 2*mtu, 3*mtu-2, g.rng.IntN(3*mtu))
	if g.c.Type == transport.UD {
		return min(n, mtu, max(0, most-wire.GRHLen))
	}
	return min(n, most)
}

// part is the next packet of the message in progress.
func (g *generator) part() Packet {
	first, mtu := g.left == g.total, g.c.MTU
	n := min(g.left, mtu)
	last := n == g.left
	p := Packet{
		Op:      g.opcode(first, last),
		PSN:     g.psn,
		Payload: n,
		AckReq:  last && g.rng.IntN(5) > 0 || g.rng.IntN(4) == 0,
	}
	p.Solicited = last && g.rng.IntN(6) == 0
	if p.Op.Info().RETH {
		p.Offset, p.Length = g.at, uint32(g.total)
	}
	if p.Op.Info().Imm {
		p.Imm = g.rng.Uint32()
	}
	if last && (!g.write || g.imm) {
		g.recvs = max(0, g.recvs-1)
	}
	g.left -= n
	g.psn++
	return p
}

func (g *generator) opcode(first, last bool) wire.Opcode {
	base := wire.RCSendFirst
	if g.write {
		base = wire.RCWriteFirst
	}
	op := base + 1
	switch {
	case first && last:
		op = base + 4
	case first:
		op = base
	case last:
		op = base + 2
	}
	if last && g.imm {
		op++
	}
	switch g.c.Type {
	case transport.UC:
		op += wire.UCSendFirst
	case transport.UD:
		op = wire.UDSendOnly
		if g.imm {
			op = wire.UDSendOnlyImm
		}
	}
	return op
}

func (g *generator) read() Packet {
	n := g.size(regionSize / 2)
	p := Packet{
		Op:     wire.RCReadRequest,
		PSN:    g.psn,
		AckReq: g.rng.IntN(4) > 0,
		Length: uint32(n),
		Offset: int64(g.rng.IntN(regionSize / 2)),
		Region: one(g.rng, regionAll, regionAll, regionRead),
	}
	g.psn += int32(max(1, (n+g.c.MTU-1)/g.c.MTU))
	return p
}

func (g *generator) atomic() Packet {
	p := Packet{
		Op:       one(g.rng, wire.RCCmpSwap, wire.RCFetchAdd),
		PSN:      g.psn,
		AckReq:   true,
		Offset:   int64(g.rng.IntN(8) * 8),
		Operands: [2]uint64{g.rng.Uint64(), g.rng.Uint64()},
	}
	if g.rng.IntN(2) == 0 { // what is there at first
		p.Operands[1] = 0
		memory := make([]byte, 64)
		fill(regionAll, memory)
		for i := range 8 {
			p.Operands[1] |= uint64(memory[int(p.Offset)+i]) << (8 * i)
		}
	}
	g.psn++
	return p
}

// one is one of several, each as likely.
func one[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }
