package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// In-band telemetry, between endpoints that agreed to it (docs/wire.md): a requester whose
// algorithm reads it leaves room in its SENDs and WRITEs, switches fill that, and the ACK brings it
// back. READ requests and READ responses carry none.

// telemetry is that of the newest packet that came with any.
type telemetry struct {
	psn     wire.PSN
	area    [extension.MaxINTLen]byte // its INT
	pending bool                      // it was not echoed yet
}

// xdataLen returns how many bytes the telemetry of so many switches adds to a packet.
func xdataLen(hops int) units.Bytes {
	if hops == 0 {
		return 0
	}
	return units.Bytes(wire.XCHLen + wire.InnerLen + extension.INTLen(hops))
}

// openINT writes the header of an XDATA that carries op and has room for telemetry. It returns the
// length of the header.
func (cong *congestion) openINT(frame []byte, op wire.Opcode) int {
	qp := cong.conn()
	hops := int(cong.hops)
	tlvs := extension.INTLen(hops)
	wire.View[wire.XCH](frame).Set(qp.sendTag, tlvs)
	wire.SetInner(frame[wire.XCHLen:], op)
	extension.INT(frame[wire.XCHLen+wire.InnerLen:][:tlvs]).Init(hops)
	return wire.XCHLen + wire.InnerLen + tlvs
}

// echoINTLen returns how many bytes of TLVs the next ACK needs to bring telemetry back.
func (cong *congestion) echoINTLen() int {
	if cong.cold().echo == nil || cong.cold().echo.telemetry == nil ||
		!cong.cold().echo.telemetry.pending {
		return 0
	}
	return extension.INTEchoLen(extension.INT(cong.cold().echo.telemetry.area[:]).Filled())
}

func (cong *congestion) echoINT(e extension.INTEcho) {
	t := cong.cold().echo.telemetry
	e.Set(extension.INT(t.area[:]), uint32(t.psn))
	t.pending = false
}

// hopsOf converts the telemetry that an ACK brings back. The result is valid until the next ACK.
func (e *Endpoint) hopsOf(echo extension.INTEcho) []cc.Hop {
	for i := range echo.Records() {
		r := echo.Record(i)
		e.hops[i] = cc.Hop{Port: r.Port, Rate: r.Rate, Time: r.Nanoseconds(), Sent: uint32(r.Sent),
			Queue: r.Queue}
	}
	return e.hops[:echo.Records()]
}
