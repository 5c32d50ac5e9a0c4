package tocc

import (
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Switches of the other token schemes. They have no PFC: they drop what they have no room for.

// credited is what a credit releases, on the wire. The packet carries the number of its credit, and
// may have a RETH, which also leaves room for its part of an ACK: both directions together must not
// fill more than the link, because only this keeps queues short.
const credited = payload + tocc.PacketWire + wire.XCHLen + wire.InnerLen + extension.GrantLen +
	wire.RETHLen

// trimmedDSCP is the DSCP of headers of trimmed packets.
const trimmedDSCP = 50

func crediting(network) fabric.SwitchConfig {
	return fabric.ExpressPassSwitch(tocc.TokenWire, credited).Config()
}

func dropping(network) fabric.SwitchConfig {
	return fabric.ExpressPassSwitch(tocc.TokenWire, credited).WithAeolus().Config()
}

// ndpPatience is how long a packet whose header did not arrive may be missing: NDP's timeout.
const ndpPatience = units.Millisecond

// trimming returns a switch that serves ten headers per data packet (NDP, section 3.1), in bytes on
// the wire. In strict priority, the headers of packets that are retransmitted and trimmed again
// could starve data. The header queue is as long as in NDP's switches, whose eight packets have
// 9 KB.
func trimming(network) fabric.SwitchConfig {
	const header = 84
	c := fabric.NDPSwitch(payload+tocc.PacketWire, trimmedDSCP).Config()
	of := c.Queues
	c.Queues = func(r units.BitRate) fabric.Queues {
		qs := of(r)
		qs[0].Level, qs[0].Weight = ackQueue, int(payload+tocc.PacketWire)
		qs[ackQueue].Level, qs[ackQueue].Weight = ackQueue, 10*header
		qs[ackQueue].Limit = 8 * 9000
		return qs
	}
	return c
}

// prioritising has Homa's 35 MB at any rate.
func prioritising(network) fabric.SwitchConfig { return fabric.HomaSwitch().Config() }
