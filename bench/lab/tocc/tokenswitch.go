package tocc

import (
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Switches of the other token schemes. None has PFC: what there is no room for is lost.

// Lengths in a switch's buffer, with check sequence and without preamble and gap.
const (
	fullStored  = payload + tocc.PacketWire - gap
	tokenStored = tocc.TokenWire - gap
	gap         = 20
)

// creditQueue is ExpressPass's: as few credits wait as its model has it, and the next is dropped. What a credit lets
// go says which it was, and may have a RETH, which also makes room for its part of an ACK: both directions together
// must not fill more than the link, for nothing else keeps queues short.
var creditQueue = fabric.Queue{
	Share: tocc.Limiter(tocc.TokenWire, tocc.Wire(payload, payload)+wire.XCHLen+wire.InnerLen+wire.GrantLen+wire.RETHLen),
	Limit: 8 * tokenStored,
}

// crediting is a switch of ExpressPass.
func crediting(n network) fabric.SwitchConfig {
	return fabric.SwitchConfig{Buffer: shared(n, buffer), Queues: fabric.Queues{tokens: creditQueue}.At()}
}

// dropping is one of Aeolus over ExpressPass: an unscheduled packet that finds more than 8 KB is dropped (ToCC section VI).
func dropping(n network) fabric.SwitchConfig {
	qs := fabric.Queues{0: {SelectiveDrop: 8000}, tokens: creditQueue}
	return fabric.SwitchConfig{Buffer: shared(n, buffer), Queues: qs.At()}
}

// trimmedDSCP is what headers of trimmed packets have.
const trimmedDSCP = 50

// trimming is one of NDP: eight packets wait, and the headers of others go ahead. As many bytes of headers wait.
func trimming(n network) fabric.SwitchConfig {
	qs := fabric.Queues{0: {Trim: 8 * fullStored, TrimTo: answers, TrimDSCP: trimmedDSCP}}
	return fabric.SwitchConfig{Buffer: shared(n, buffer), Queues: qs.At()}
}

// prioritising is one of Homa, with a queue for each of eight priorities and one above them, and 35 MB at any rate.
func prioritising(network) fabric.SwitchConfig {
	return fabric.SwitchConfig{Buffer: 35 * 1000 * units.Bytes(1000)}
}
