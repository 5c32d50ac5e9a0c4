package neigh

import (
	"bytes"
	"testing"

	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
)

// FuzzReceive feeds arbitrary frames to a table with one known and one unresolved neighbour. Our
// own addresses must not change, frames must not be modified, and replies must decode.
func FuzzReceive(f *testing.F) {
	tagged := arpFrame(f, 1, peerMAC, broadcastMAC, peer4, our4)
	tagged = append(append(append([]byte(nil), tagged[:12]...), 0x81, 0, 0, 7), tagged[12:]...)
	probe := solicitation()
	probe.from = allNodes.Prev()
	for _, seed := range [][]byte{
		nil, tagged,
		arpFrame(f, 1, peerMAC, broadcastMAC, peer4, our4), answer4(f, otherMAC),
		echo4(f, make([]byte, 56)), echo6(f, make([]byte, 56), peer6, our6),
		solicitation(link(layers.ICMPv6OptSourceAddress, peerMAC)).frame(f), probe.frame(f),
		advertisement(solicited|override, link(layers.ICMPv6OptTargetAddress, peerMAC)).frame(f),
	} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, frame []byte, repair bool) {
		if repair { // let the fuzzer pass the checksums
			frame = repaired(frame)
		}
		table := newTable(t)
		table.Receive(arpFrame(t, 1, peerMAC, broadcastMAC, peer4, our4), 0)
		resolve(t, table, peer4, 0)
		resolve(t, table, peer6, 0)
		emitted(t, table)
		before := bytes.Clone(frame)
		taken := table.Receive(frame, 1)
		require.Equal(t, before, frame)
		frames := emitted(t, table)
		require.LessOrEqual(t, len(frames), 2)
		if !taken {
			require.Empty(t, frames)
		}
		for _, answer := range frames {
			p := decode(t, answer)
			require.Equal(t, hw(ourMAC),
				p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet).SrcMAC)
		}
		require.Equal(t, ourMAC, macOf(t, resolve(t, table, our4, 1)))
		require.Equal(t, ourMAC, macOf(t, resolve(t, table, our6, 1)))
		require.False(t, table.Pending())
		table.Poll(1)
	})
}

func repaired(frame []byte) []byte {
	frame = bytes.Clone(frame)
	if len(frame) < 60 {
		return frame
	}
	switch {
	case frame[12] == 0x08 && frame[13] == 0 && frame[14] == 0x45:
		fix4(frame)
		h := ipv4(frame[14:])
		if n := h.totalLen(); n >= 24 && n <= len(h) {
			m := h[20:n]
			m[2], m[3] = 0, 0
			c := fold(sum(m, 0))
			m[2], m[3] = byte(c>>8), byte(c)
		}
	case frame[12] == 0x86 && frame[13] == 0xdd && ipv6(frame[14:]).payloadLen() >= 4:
		fix6(frame)
	}
	return frame
}
