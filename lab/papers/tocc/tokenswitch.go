package tocc

import (
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Switches of the other token schemes. None has PFC: what there is no room for is lost.

// credited is what a credit releases, on the wire. The packet says which credit it was, and may
// have a RETH, which also makes room for its part of an ACK: both directions together must not fill
// more than the link, for nothing else keeps queues short.
const credited = payload + tocc.PacketWire + wire.XCHLen + wire.InnerLen + extension.GrantLen +
	wire.RETHLen

// trimmedDSCP is what headers of trimmed packets have.
const trimmedDSCP = 50

func crediting(network) fabric.SwitchConfig {
	return fabric.ExpressPassSwitch(tocc.TokenWire, credited).Config()
}

func dropping(network) fabric.SwitchConfig {
	return fabric.ExpressPassSwitch(tocc.TokenWire, credited).WithAeolus().Config()
}

// ndpPatience is how long a packet may be missing whose header did not come: NDP's timeout.
const ndpPatience = units.Millisecond

// trimming serves ten headers for a packet of data (NDP, section 3.1), in bytes on the wire: in
// strict priority headers of packets that are sent again, and trimmed again, can keep data from
// leaving for ever. As many headers wait as in NDP's switches, whose eight packets are of 9 KB.
func trimming(network) fabric.SwitchConfig {
	const header = 84
	c := fabric.NDPSwitch(payload+tocc.PacketWire, trimmedDSCP).Config()
	of := c.Queues
	c.Queues = func(r units.BitRate) fabric.Queues {
		qs := of(r)
		qs[0].Level, qs[0].Weight = answers, int(payload+tocc.PacketWire)
		qs[answers].Level, qs[answers].Weight = answers, 10*header
		qs[answers].Limit = 8 * 9000
		return qs
	}
	return c
}

// prioritising has Homa's 35 MB at any rate.
func prioritising(network) fabric.SwitchConfig { return fabric.HomaSwitch().Config() }
