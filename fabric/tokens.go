package fabric

import "github.com/goroce/goroce/units"

// TokenSwitch configures a switch for receiver-driven congestion control, in the terms of its
// papers. Queues 7 and 6 are for short packets that must not wait: ACKs, grants, and the headers of
// trimmed packets. They neither drop selectively nor trim. The queues below are for data.
type TokenSwitch struct {
	Buffer units.Bytes // shared by all ports; 0 means unlimited

	// Tokens are the queues of token packets. Together they are limited to Token/(Token+Data) of
	// each link, in strict priority (ToCC, section V-C). If there are none, tokens are not limited.
	Tokens []int
	// Token and Data are bytes on the wire: of a token packet, and of the data that it grants.
	Token, Data units.Bytes
	// Credits is the capacity of a token queue in tokens (ExpressPass); 0 means unlimited (ToCC).
	Credits int

	// ECN configures the marking of data at 100 Gb/s; thresholds scale with the rate. Token queues
	// have the same thresholds in packets, times TokenECN; 0 means 1.
	ECN      ECN
	TokenECN float64

	// Drop is the queue length from which data packets that are not ECN-capable are dropped
	// (Aeolus).
	Drop units.Bytes
	// Trim is the queue length from which data packets are trimmed (NDP). Their headers, with
	// TrimDSCP, precede data, and their queue holds Trim bytes.
	Trim     units.Bytes
	TrimDSCP uint8
	// TrimNewest chooses at random between the arriving packet and the newest queued one.
	TrimNewest bool
}

// ToCCSwitch is the switch of ToCC (ToN 2025, sections V-C and VI): tokens in queue 5, which has no
// limit; ECN thresholds of 22 and 85 KB per 100 Gb/s, Pmax 0.2. The paper does not state the buffer
// size; HPCC's simulator has this one.
func ToCCSwitch(token, data units.Bytes) TokenSwitch {
	return TokenSwitch{
		Buffer: 32 * 1000 * kB, Tokens: []int{5}, Token: token, Data: data, ECN: ECN{Kmin: 22 * kB,
			Kmax: 85 * kB, Pmax: 0.2},
	}
}

// ExpressPassSwitch is the switch of ExpressPass (SIGCOMM 2017; its ns-2 scripts), whose credit
// queue holds eight credits.
func ExpressPassSwitch(credit, data units.Bytes) TokenSwitch {
	return TokenSwitch{Buffer: 32 * 1000 * kB, Tokens: []int{5}, Token: credit, Data: data,
		Credits: 8}
}

// HomaSwitch is the switch of Homa (SIGCOMM 2018): eight priorities of data, with grants in the
// highest, and a buffer of 35 MB as in the comparison of ToCC's paper (section III).
func HomaSwitch() TokenSwitch { return TokenSwitch{Buffer: 35 * 1000 * kB} }

// NDPSwitch is the switch of NDP (SIGCOMM 2017): a queue of eight data packets per port, beyond
// which a random one of the arriving and the newest packet is trimmed. Headers, ACKs and PULLs are
// sent before data. The paper serves ten of them per data packet; its authors' simulator
// (csg-htsim) is close to strict priority. packet is the length of a packet on the wire.
func NDPSwitch(packet units.Bytes, trimmed uint8) TokenSwitch {
	return TokenSwitch{Trim: 8 * (packet - interFrame), TrimDSCP: trimmed, TrimNewest: true}
}

// WithAeolus returns t with selective dropping of unscheduled packets at 8 KB, as in ToCC's paper
// (section VI). Aeolus's own paper (SIGCOMM 2020) has 6 KB.
func (t TokenSwitch) WithAeolus() TokenSwitch {
	t.Drop = 8 * kB
	return t
}

const kB = units.Bytes(1000)

// Config returns the configuration of a Switch.
func (t TokenSwitch) Config() SwitchConfig {
	return SwitchConfig{Buffer: t.Buffer, Queues: func(rate units.BitRate) Queues {
		var qs Queues
		ecn := t.ECN.Scale(float64(rate) / float64(100*gbps))
		for i := range Priorities {
			qs[i].ECN = ecn
			if i < firstControlQueue {
				qs[i].SelectiveDrop = t.Drop
			}
			if i < firstControlQueue && t.Trim > 0 {
				qs[i].Trim, qs[i].TrimTo, qs[i].TrimDSCP, qs[i].TrimNewest = t.Trim, headerQueue,
					t.TrimDSCP, t.TrimNewest
			}
		}
		qs[headerQueue].Limit = t.Trim
		for _, i := range t.Tokens {
			qs[i] = t.tokens(ecn)
		}
		return qs
	}}
}

// firstControlQueue is the lowest queue without selective dropping and trimming.
const firstControlQueue = 6

// headerQueue is the queue of trimmed packets.
const headerQueue = 7

// tokens returns the configuration of a token queue. The data queue has the thresholds ecn.
func (t TokenSwitch) tokens(ecn ECN) Queue {
	stored := t.Token - interFrame
	by := float64(stored) / float64(t.Data)
	if t.TokenECN > 0 {
		by *= t.TokenECN
	}
	return Queue{
		Share: float64(t.Token) / float64(t.Token+t.Data), Burst: 2, Group: 1,
		Limit: units.Bytes(t.Credits) * stored, ECN: ecn.Scale(by),
	}
}
