package fabric_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// full is n frames of 1500 bytes stored.
func full(n int) []openloop.Frame {
	frames := make([]openloop.Frame, n)
	for i := range frames {
		frames[i] = openloop.Frame{Len: 1496, ECN: wire.ECNECT0}
	}
	return frames
}

// wholes answers which frames came whole, in their order.
func wholes(got []openloop.Arrival) (tags []uint64) {
	for _, a := range got {
		if a.Len == 1496 {
			tags = append(tags, a.Tag)
		}
	}
	return tags
}

// NDP: what finds eight packets waiting loses its payload and goes ahead of them.
func TestTrimming(t *testing.T) {
	_, st, got := burst(t, fabric.Queue{Trim: 8 * 1500, TrimTo: 7, TrimDSCP: 50}, full(20)...)
	require.Len(t, got, 20)
	assert.EqualValues(t, 11, st.Trimmed) // one leaves at once, eight wait
	assert.Equal(t, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}, wholes(got), "those that came first")
	for i, a := range got[1:12] {
		assert.EqualValues(t, 10+i, a.Tag, "headers overtake the packets that wait")
		assert.Equal(t, 60, a.Len)
		assert.EqualValues(t, 50, a.DSCP)
	}
	assert.Zero(t, got[0].DSCP)
}

// With a coin half of those that are cut are the newest of those that wait: as many come whole, but
// not those that came first, and in the order in which they came.
func TestTrimmingTheNewest(t *testing.T) {
	arriving := 0
	const runs = 200
	for seed := range runs {
		_, st, got := burstOf(t, uint64(seed), fabric.Queue{Trim: 8 * 1500, TrimTo: 7,
			TrimNewest: true}, full(10)...)
		require.Len(t, got, 10)
		require.EqualValues(t, 1, st.Trimmed)
		whole := wholes(got)
		if whole[8] == 9 {
			arriving++
			require.Equal(t, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}, whole)
		} else {
			require.Equal(t, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 10}, whole)
		}
	}
	assert.InDelta(t, runs/2, arriving, 3*7.1, "three standard deviations")
	// A queue of one.
	_, st, got := burst(t, fabric.Queue{Trim: 1, TrimTo: 7, TrimNewest: true}, full(20)...)
	require.Len(t, got, 20)
	assert.EqualValues(t, 18, st.Trimmed)
	assert.Len(t, wholes(got), 2)
}

// The queue of headers has a limit of its own.
func TestTrimmedHeadersAreDropped(t *testing.T) {
	var qs fabric.Queues
	qs[0] = fabric.Queue{Trim: 8 * 1500, TrimTo: 7}
	qs[7] = fabric.Queue{Limit: 4 * 64}
	n, _, got := burstIn(t, 1, qs, full(20)...)
	assert.Len(t, wholes(got), 9)
	assert.Len(t, got, 13)
	assert.EqualValues(t, 7, n.Switches()[0].Ports()[1].QueueStats(7).Dropped)
}

// A trimmed frame has all its headers, of both IPs, with a VLAN tag and without; what has little
// more stays as it is.
func TestTrimmedFrames(t *testing.T) {
	for _, c := range []struct {
		src, dst string
		vlan     uint16
		len      int
	}{
		{"10.0.0.1", "10.0.0.2", 0, 60}, {"10.0.0.1", "10.0.0.2", 7, 64},
		{"fd60::1", "fd60::2", 0, 80}, {"fd60::1", "fd60::2", 7, 84},
	} {
		var tmpl wire.Template
		require.NoError(t, tmpl.Set(wire.Address{
			SrcMAC: [6]byte{2, 15}, DstMAC: [6]byte{2, 15, 0, 0, 0, 1}, VLAN: c.vlan,
			SrcPort: 0xc000, TOS: wire.ECNECT0, DestQP: 0x11,
			Src: netip.MustParseAddr(c.src), Dst: netip.MustParseAddr(c.dst),
		}))
		n := fabric.New(fabric.Config{})
		s := n.AddSwitch("switch",
			fabric.SwitchConfig{Queues: fabric.Queues{{Trim: 1, TrimTo: 6, TrimDSCP: 50}}.At()})
		n.Connect(n.AddHost(fabric.HostConfig{TxDepth: 9}), s, fabric.Link{Rate: 100 * units.Gbps})
		n.Connect(n.AddHost(fabric.HostConfig{}), s, fabric.Link{Rate: 10 * units.Gbps})
		require.NoError(t, n.Build())
		sender, receiver := n.Host(0).NIC(), n.Host(1).NIC()
		send := func(psn wire.PSN, op wire.Opcode, payload int) {
			var b [1]packet.Buf
			require.Equal(t, 1, sender.Alloc(b[:]))
			_, total := tmpl.Build(b[0].Room(), wire.Fields{Op: op, PSN: psn}, payload)
			tmpl.Seal(b[0].Room()[:total])
			b[0].SetLen(total)
			require.Equal(t, 1, sender.Send(packet.ClassData, b[:]))
		}
		for psn := range wire.PSN(3) { // one leaves, one waits
			send(psn, wire.RCWriteMiddle, 1024)
		}
		send(3, wire.RCAck, 0)
		send(4, wire.RCWriteLast, 4)
		var psns []wire.PSN
		n.Host(1).Run(polled(func(now units.Time) units.Time {
			var bufs [packet.Burst]packet.Buf
			got := receiver.Recv(bufs[:])
			for _, b := range bufs[:got] {
				var p wire.Packet
				if err := p.Parse(b.Data()); err != nil {
					payload, err := p.ParseTrimmed(b.Data())
					require.NoError(t, err)
					assert.Equal(t, 1024, payload)
					assert.EqualValues(t, 50, p.DSCP)
					assert.EqualValues(t, wire.ECNECT0, p.ECN)
					assert.Len(t, p.Frame, c.len)
					assert.Equal(t, wire.PSN(2), p.PSN)
				} else {
					assert.True(t, p.ICRC())
					assert.Zero(t, p.DSCP)
				}
				psns = append(psns, p.PSN)
			}
			receiver.Free(bufs[:got])
			return now.Add(units.Second)
		}))
		run(t, n, units.Millisecond)
		assert.Equal(t, []wire.PSN{0, 2, 3, 4, 1}, psns)
	}
}
