package tocc

import (
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/transport/wire"
)

// Switches of the other token schemes. None has PFC: what there is no room for is lost.

// credited is what a credit releases, on the wire. The packet says which credit it was, and may have a RETH, which also
// makes room for its part of an ACK: both directions together must not fill more than the link, for nothing else
// keeps queues short.
const credited = payload + tocc.PacketWire + wire.XCHLen + wire.InnerLen + wire.GrantLen + wire.RETHLen

// trimmedDSCP is what headers of trimmed packets have.
const trimmedDSCP = 50

func crediting(network) fabric.SwitchConfig {
	return fabric.ExpressPassSwitch(tocc.TokenWire, credited).Config()
}

func dropping(network) fabric.SwitchConfig {
	return fabric.ExpressPassSwitch(tocc.TokenWire, credited).WithAeolus().Config()
}

func trimming(network) fabric.SwitchConfig {
	return fabric.NDPSwitch(payload+tocc.PacketWire, trimmedDSCP).Config()
}

// prioritising has Homa's 35 MB at any rate.
func prioritising(network) fabric.SwitchConfig { return fabric.HomaSwitch().Config() }
