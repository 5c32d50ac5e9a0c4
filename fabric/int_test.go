package fabric_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// telemetryFrame returns a packet of the extension with room for INT records.
func telemetryFrame(b *packet.Buf, from, to *fabric.Host, records int) (at int) {
	const ip, udp = wire.EthernetLen, wire.EthernetLen + wire.IPv4Len
	const bth = udp + wire.UDPLen
	at = bth + wire.BTHLen + wire.XCHLen + wire.InnerLen
	b.SetLen(at + extension.INTLen(records) + 64)
	data := b.Data()
	clear(data)
	dst, src := to.NIC().Info().MAC, from.NIC().Info().MAC
	copy(data, dst[:])
	copy(data[6:], src[:])
	binary.BigEndian.PutUint16(data[12:], wire.EtherTypeIPv4)
	data[ip], data[ip+9] = 0x45, wire.ProtocolUDP
	binary.BigEndian.PutUint16(data[udp+2:], wire.UDPPort)
	data[bth] = uint8(wire.XDATA)
	wire.View[wire.XCH](data[bth+wire.BTHLen:]).Set(1, extension.INTLen(records))
	extension.INT(data[at : at+extension.INTLen(records)]).Init(records)
	return at
}

// TestINT checks that every switch with INT writes its state into departing packets: the length of
// the queue behind the packet, the bytes sent before, the time and the rate.
func TestINT(t *testing.T) {
	p := fabric.Parts{Host: fabric.HostConfig{TxDepth: 10}, Switch: fabric.SwitchConfig{INT: true}}
	n := fabric.Dumbbell(p, 1, 1, fabric.Link{Rate: 100 * units.Gbps},
		fabric.Link{Rate: 10 * units.Gbps, Delay: units.Microsecond})
	require.NoError(t, n.Build())
	a, b := n.Host(0), n.Host(1)
	at := 0
	a.Run(polled(func(now units.Time) units.Time {
		if at == 0 {
			bufs := make([]packet.Buf, 3)
			a.NIC().Alloc(bufs)
			for i := range bufs {
				at = telemetryFrame(&bufs[i], a, b, 3)
			}
			require.Equal(t, 3, a.NIC().Send(packet.ClassData, bufs))
		}
		return forever(now)
	}))
	var got []extension.INT
	b.Run(polled(func(now units.Time) units.Time {
		bufs := make([]packet.Buf, 4)
		k := b.NIC().Recv(bufs)
		for i := range k {
			data := append([]byte(nil), bufs[i].Data()...)
			got = append(got, extension.INT(data[at:at+extension.INTLen(3)]))
		}
		b.NIC().Free(bufs[:k])
		return forever(now)
	}))
	run(t, n, units.Millisecond)
	require.Len(t, got, 3)
	size := at + extension.INTLen(3) + 64
	for i, telemetry := range got {
		require.Equal(t, 2, telemetry.Filled(), "one record per switch")
		left, right := telemetry.Record(0), telemetry.Record(1)
		assert.Equal(t, 10*units.Gbps, left.Rate)
		assert.Equal(t, 100*units.Gbps, right.Rate)
		assert.NotEqual(t, left.Port, right.Port)
		assert.Equal(t, units.Bytes(i)*wireBytes(size), left.Sent)
		// The first packet is sent at once. The other two wait at 10 Gb/s, and the third is still
		// queued when the second leaves.
		assert.Equal(t, []units.Bytes{0, stored(size), 0}[i], left.Queue)
		assert.Zero(t, right.Queue)
		assert.True(t, left.Time.Before(right.Time))
	}
}
