package differ

import (
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
)

// mutation makes a correct packet another one. It reports whether an honest requester goes on
// behind the packet all the same, because nothing that counts is wrong with it.
type mutation struct {
	name  string
	apply func(g *generator, p *Packet) (advances bool)
	fits  func(p *Packet) bool // nil: every packet
}

// mutate applies a mutation that fits.
func (g *generator) mutate(p *Packet) (advances bool) {
	for {
		m := mutations[g.rng.IntN(len(mutations))]
		if m.fits == nil || m.fits(p) {
			was := *p
			p.What = m.name
			if advances = m.apply(g, p); !p.crashesRxe() {
				return advances
			}
			*p = was
		}
	}
}

// crashesRxe reports whether a packet ends rxe of Linux 6.1 with a kernel panic. A WRITE of nothing
// that has a payload all the same, in its packet or in one to come, is copied through a null
// pointer. And where UDP's length has no room for the headers, the ICRC is computed over nearly 4
// GiB.
func (p *Packet) crashesRxe() bool {
	body := p.Payload + -p.Payload&3 - int(p.Spoilt[SpoilCut])
	return p.kind() == wire.Write && p.Op.Info().First && p.Length == 0 &&
		(p.Payload > 0 || !p.Op.Info().Last) ||
		p.Spoilt[SpoilUDPLen] < 0 && body+int(p.Spoilt[SpoilUDPLen]) < 0
}

// wrong makes a mutation that nobody goes on behind.
func wrong(f func(g *generator, p *Packet)) func(*generator, *Packet) bool {
	return func(g *generator, p *Packet) bool { f(g, p); return false }
}

// harmless makes a mutation that changes nothing that counts.
func harmless(f func(g *generator, p *Packet)) func(*generator, *Packet) bool {
	return func(g *generator, p *Packet) bool { f(g, p); return true }
}

// spoilt is a mutation of one of the numbers.
func spoilt(how Spoil, numbers ...int64) func(*generator, *Packet) bool {
	return wrong(func(g *generator, p *Packet) { p.spoil(how, one(g.rng, numbers...)) })
}

func hasRETH(p *Packet) bool    { return p.Op.Info().RETH }
func hasPayload(p *Packet) bool { return p.Op.Info().Payload }
func hasKey(p *Packet) bool     { return p.Op.Info().RETH || p.Op.Info().AtomicETH }
func isRC(p *Packet) bool       { return p.Op.Info().Transport == wire.RC }
func isAtomic(p *Packet) bool   { return p.Op.Info().AtomicETH }
func isUD(p *Packet) bool       { return p.Op.Info().Transport == wire.UD }

// mutations are all.
var mutations = []mutation{
	// Sequence numbers.
	{"PSN ahead", wrong(func(g *generator, p *Packet) { p.PSN += 1 + int32(g.rng.IntN(3)) }), nil},
	{"PSN far", wrong(func(g *generator, p *Packet) {
		p.PSN += one(g.rng, int32(1<<22), 1<<23-1, 1<<23, 1<<23+1, -1<<22, int32(g.rng.IntN(1<<24)))
	}), nil},
	{"old PSN", wrong(func(g *generator, p *Packet) { p.PSN -= 1 + int32(g.rng.IntN(4)) }), nil},
	{"said again", wrong(again), nil},
	{"said again", wrong(again), nil},
	{"said again, in part", wrong(againInPart), isRC},

	// Opcodes.
	{
		"another opcode of the service",
		wrong(func(g *generator, p *Packet) { p.Op = p.Op&0xe0 + wire.Opcode(g.rng.IntN(0x18)) }),
		nil,
	},
	{
		"any opcode",
		wrong(func(g *generator, p *Packet) { p.Op = wire.Opcode(g.rng.IntN(256)) }),
		nil,
	},
	{"FIRST, MIDDLE or LAST for another", wrong(misplaced), hasPayload},
	{"SEND with invalidate", wrong(func(g *generator, p *Packet) {
		p.Op, p.Region = wire.RCSendOnlyInv, one(g.rng, regionAll, regionLocal, regionOther)
		p.Payload = min(p.Payload, g.c.MTU)
	}), isRC},
	{"an answer to nothing", wrong(func(g *generator, p *Packet) {
		p.Op = one(
			g.rng,
			wire.RCAck,
			wire.RCAck,
			wire.RCReadResponseOnly,
			wire.RCReadResponseMiddle,
			wire.RCAtomicAck,
		)
		p.Syndrome = one(
			g.rng,
			wire.SyndromeAck,
			wire.RNRSyndrome(5),
			wire.NakSyndrome(wire.NakPSNSequence),
			wire.NakSyndrome(wire.NakInvalidRequest),
			0xff,
		)
		if p.Op == wire.RCAck || p.Op == wire.RCAtomicAck {
			p.Payload = 0
		}
	}), isRC},

	// Lengths.
	{"another payload length", wrong(func(g *generator, p *Packet) {
		p.Payload = max(
			0,
			one(
				g.rng,
				0,
				p.Payload-1,
				p.Payload+1,
				p.Payload-4,
				p.Payload+4,
				g.c.MTU-4,
				min(g.c.MTU+4, 4096),
			),
		)
	}), hasPayload},
	{"wrong pad count", spoilt(SpoilPad, 1, 2, 3), nil},
	{"cut short", spoilt(SpoilCut, 1, 2, 4, 4, 8, 12, 16, 28), nil},
	{"wrong UDP length", spoilt(SpoilUDPLen, -4, -1, 1, 4, 400, -12), nil},
	{"another RETH length", wrong(func(g *generator, p *Packet) {
		p.Length = one(
			g.rng,
			0,
			p.Length+1,
			p.Length-1,
			p.Length+4,
			uint32(g.c.MTU),
			uint32(g.c.MTU+1),
			1<<31,
			1<<31+1,
			1<<32-1,
			regionSize+1,
		)
	}), hasRETH},

	// Rights.
	{"wrong R_Key", spoilt(SpoilKey, 1, 0x80, 0x100, 1<<30, 0xffffff00), hasKey},
	{
		"another region",
		wrong(func(g *generator, p *Packet) { p.Region = g.rng.IntN(regions) }),
		hasKey,
	},
	{"beyond the region", wrong(func(g *generator, p *Packet) {
		p.Offset = one(
			g.rng,
			-1,
			-8,
			regionSize-int64(p.Length)+1,
			regionSize-7,
			regionSize,
			regionSize+8,
			1<<40,
			-1<<40,
		)
	}), hasKey},
	{
		"up to the end of the region",
		harmless(
			func(_ *generator, p *Packet) { p.Offset = max(0, regionSize-int64(max(8, p.Length))) },
		),
		hasKey,
	},
	{
		"misaligned",
		wrong(func(g *generator, p *Packet) { p.Offset += 1 + int64(g.rng.IntN(7)) }),
		isAtomic,
	},
	{"wrong Q_Key", spoilt(SpoilQKey, 1, 0x80000000), isUD},

	// What every packet has.
	{"TVer", spoilt(SpoilTVer, 1, 8, 15), nil},
	{"another P_Key", spoilt(SpoilPKey, 0x7fff, 0x1234, 0x8001, 0, 0xfffe), nil},
	{"wrong ICRC", spoilt(SpoilICRC, 1, 0x80000000, 0xffffffff), nil},
	{"another queue pair", spoilt(SpoilQPN, 0x1000, 0x800000), nil},
	{"another source", spoilt(SpoilSource, 1), func(p *Packet) bool { return !isUD(p) }},

	// What changes nothing.
	{
		"reserved bits of byte 4",
		harmless(func(g *generator, p *Packet) { p.spoil(SpoilByte4, int64(g.rng.IntN(0x100))) }),
		nil,
	},
	{
		"reserved bits of byte 8",
		harmless(func(g *generator, p *Packet) { p.spoil(SpoilByte8, int64(g.rng.IntN(0x80))) }),
		nil,
	},
	{"MigReq", harmless(func(_ *generator, p *Packet) { p.MigReq = true }), nil},
	{"Solicited", harmless(func(_ *generator, p *Packet) { p.Solicited = true }), nil},
	{"AckReq the other way", harmless(func(_ *generator, p *Packet) { p.AckReq = !p.AckReq }), nil},
	{
		"another UDP source port",
		harmless(func(g *generator, p *Packet) { p.spoil(SpoilUDPPort, int64(g.rng.IntN(1000))) }),
		nil,
	},
	{
		"TOS",
		harmless(
			func(g *generator, p *Packet) { p.spoil(SpoilTOS, one(g.rng, int64(1), 2, 3, 0x68)) },
		),
		nil,
	},
}

// again repeats one of the packets that were sent.
func again(g *generator, p *Packet) {
	if n := len(g.sent); n > 0 {
		what := p.What
		*p = g.sent[max(0, n-1-g.rng.IntN(6))]
		p.What, p.Together = what, false
	}
}

// againInPart repeats a READ or a packet with something else in it.
func againInPart(g *generator, p *Packet) {
	again(g, p)
	mtu := g.c.MTU
	switch {
	case p.Op == wire.RCReadRequest && g.rng.IntN(2) == 0 && int(p.Length) > mtu:
		p.PSN++
		p.Offset += int64(mtu)
		p.Length -= uint32(mtu)
	case p.Op == wire.RCReadRequest:
		p.Length = uint32(g.rng.IntN(int(min(p.Length, regionSize)) + 1))
	case isAtomic(p):
		p.Operands[0]++
		p.Op = one(g.rng, wire.RCCmpSwap, wire.RCFetchAdd)
	default:
		p.Payload = g.rng.IntN(mtu)
		p.AckReq = !p.AckReq
	}
}

// misplaced gives a packet another place in its message.
func misplaced(g *generator, p *Packet) {
	places := []wire.Opcode{0, 1, 2, 3, 4, 5}
	base := wire.RCSendFirst
	if p.Op.Info().Kind == wire.Write {
		base = wire.RCWriteFirst
	}
	if g.rng.IntN(4) == 0 {
		base = wire.RCWriteFirst - base // SEND for WRITE, and the other way
	}
	p.Op = p.Op&0xe0 + base + one(g.rng, places...)
	if p.Op.Info().RETH && p.Length == 0 {
		p.Length = uint32(p.Payload)
	}
	if g.c.Type == transport.UD {
		p.Op = wire.UDSendOnly
	}
}
