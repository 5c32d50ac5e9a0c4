package fabric

import "github.com/goroce/goroce/units"

// TokenSwitch is the switch of receiver-driven congestion control, in the terms of its papers.
// Queue 7 and 6 are for what is short and must not wait: ACKs, grants, the headers of trimmed
// packets; unless Tokens names them, they are like those below, for data.
type TokenSwitch struct {
	Buffer units.Bytes // shared by all ports; 0 is as much as anybody wants

	// Tokens are the queues that token packets have to themselves, which share Token/(Token+Data)
	// of each link, the higher before the lower (ToCC, section V-C). None: tokens are not limited.
	Tokens []int
	// Token and Data are bytes on the wire: of a token packet, and of the data that one lets go.
	Token, Data units.Bytes
	// Credits is how many tokens wait before the next is dropped (ExpressPass); 0: all wait (ToCC).
	Credits int

	// ECN marks data, at 100 Gb/s; at other rates thresholds are in proportion. Tokens are marked
	// when as many wait as packets of Data would; TokenECN is another proportion, 0 means 1.
	ECN      ECN
	TokenECN float64

	// Drop is how much data waits before packets are dropped that are not ECN capable (Aeolus).
	Drop units.Bytes
	// Trim is how much data waits before packets are trimmed (NDP). Their headers go first, with
	// TrimDSCP, and as many bytes of them wait before they are dropped.
	Trim     units.Bytes
	TrimDSCP uint8
	// TrimNewest has a coin choose between the packet that comes and the newest that waits.
	TrimNewest bool
}

// ToCCSwitch is the switch of ToCC (ToN 2025, sections V-C and VI): tokens, in queue 5, wait as
// long as it takes; thresholds of 22 and 85 KB for each 100 Gb/s, Pmax 0.2. The paper does not say
// how large its buffer is; this one is that of HPCC's simulator.
func ToCCSwitch(token, data units.Bytes) TokenSwitch {
	return TokenSwitch{
		Buffer: 32 * 1000 * kB, Tokens: []int{5}, Token: token, Data: data, ECN: ECN{Kmin: 22 * kB,
			Kmax: 85 * kB, Pmax: 0.2},
	}
}

// ExpressPassSwitch is that of ExpressPass (SIGCOMM 2017; its ns-2 scripts): eight credits wait,
// the next is dropped.
func ExpressPassSwitch(credit, data units.Bytes) TokenSwitch {
	return TokenSwitch{Buffer: 32 * 1000 * kB, Tokens: []int{5}, Token: credit, Data: data,
		Credits: 8}
}

// HomaSwitch is that of Homa (SIGCOMM 2018): eight priorities of data, grants in the highest; and
// the 35 MB with which ToCC's paper compares it (section III).
func HomaSwitch() TokenSwitch { return TokenSwitch{Buffer: 35 * 1000 * kB} }

// NDPSwitch is that of NDP (SIGCOMM 2017): eight packets of data wait at a port; then a coin
// chooses what is trimmed, and headers leave with ACKs and PULLs before data. The paper serves ten
// of those for one packet of data where both wait, its authors' simulator (csg-htsim) as good as
// all. packet is the length of a packet on the wire.
func NDPSwitch(packet units.Bytes, trimmed uint8) TokenSwitch {
	return TokenSwitch{Trim: 8 * (packet - betweenSpace), TrimDSCP: trimmed, TrimNewest: true}
}

// WithAeolus drops unscheduled packets when 8 KB wait, as ToCC's paper has it (section VI);
// Aeolus's own (SIGCOMM 2020) has 6 KB.
func (t TokenSwitch) WithAeolus() TokenSwitch {
	t.Drop = 8 * kB
	return t
}

const kB = units.Bytes(1000)

// Config makes it what a Switch is built from.
func (t TokenSwitch) Config() SwitchConfig {
	return SwitchConfig{Buffer: t.Buffer, Queues: func(rate units.BitRate) Queues {
		var qs Queues
		ecn := t.ECN.Scale(float64(rate) / float64(100*gbps))
		for i := range Priorities {
			qs[i].ECN = ecn
			if i < firstOfControl {
				qs[i].SelectiveDrop = t.Drop
			}
			if i < firstOfControl && t.Trim > 0 {
				qs[i].Trim, qs[i].TrimTo, qs[i].TrimDSCP, qs[i].TrimNewest = t.Trim, headers,
					t.TrimDSCP, t.TrimNewest
			}
		}
		qs[headers].Limit = t.Trim
		for _, i := range t.Tokens {
			qs[i] = t.tokens(ecn)
		}
		return qs
	}}
}

// firstOfControl is the first of the queues for what is neither dropped nor trimmed to make room.
const firstOfControl = 6

// headers is the queue of trimmed packets.
const headers = 7

// tokens is a queue of tokens beside data that ecn marks.
func (t TokenSwitch) tokens(ecn ECN) Queue {
	stored := t.Token - betweenSpace
	by := float64(stored) / float64(t.Data)
	if t.TokenECN > 0 {
		by *= t.TokenECN
	}
	return Queue{
		Share: float64(t.Token) / float64(t.Token+t.Data), Burst: 2, Group: 1,
		Limit: units.Bytes(t.Credits) * stored, ECN: ecn.Scale(by),
	}
}
