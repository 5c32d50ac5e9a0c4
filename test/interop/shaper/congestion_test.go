package shaper

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
)

// captured returns the frames of a capture of Linux soft-RoCE in transport/wire: a file header of
// 24 bytes, then 16 bytes before each frame, whose third word is the frame's length.
func captured(t testing.TB, name string) (frames [][]byte) {
	data, err := os.ReadFile("../../../transport/wire/testdata/" + name + ".pcap")
	require.NoError(t, err)
	for data = data[24:]; len(data) > 0; {
		n := 16 + binary.LittleEndian.Uint32(data[8:])
		frames = append(frames, data[16:n:n])
		data = data[n:]
	}
	return frames
}

func parsed(t *testing.T, frame []byte) (p wire.Packet) {
	require.NoError(t, p.Parse(frame), "checksum and lengths must be valid")
	require.True(t, p.ICRC())
	return p
}

// TestMarks checks that only the mark changes, in ECN-capable frames only, and that the frame stays
// valid.
func TestMarks(t *testing.T) {
	for _, c := range []struct {
		capture string
		v6      bool
	}{{"rc-dscp26-ect0", false}, {"rc-send-multi", false}, {"v6-send-multi", true}} {
		d := newDirection(Faults{Congestion: Congestion{Marks: 1}}, 1, 0)
		for _, frame := range captured(t, c.capture) {
			was := parsed(t, bytes.Clone(frame))
			for ecn := range byte(4) {
				marked := d.counts.Marked
				f := bytes.Clone(frame)
				if c.v6 {
					f[ethernetSize+1] = f[ethernetSize+1]&^0x30 | ecn<<4
				} else {
					f[ethernetSize+1] = f[ethernetSize+1]&^3 | ecn
					setChecksum(f[ethernetSize : ethernetSize+ipv4Size])
				}
				d.pass(f, time.Unix(0, 0), func(left []byte) {
					p := parsed(t, left)
					require.Equal(t, map[byte]byte{0: 0, 1: 3, 2: 3, 3: 3}[ecn], p.ECN)
					require.Equal(t, was.DSCP, p.DSCP)
					require.Equal(t, frame[ethernetSize+ipv4Size:], left[ethernetSize+ipv4Size:])
				})
				require.Equal(t, ecn == 1 || ecn == 2, d.counts.Marked > marked)
			}
		}
	}
}

// TestCongestionEnds checks the share of marked packets, and that none is marked after the
// congestion.
func TestCongestionEnds(t *testing.T) {
	const n = 10000
	frame := captured(t, "rc-dscp26-ect0")[0]
	d := newDirection(Faults{Congestion: Congestion{Marks: 0.1, For: time.Second}}, 1, 0)
	for i := range n {
		now := time.Unix(5, 0).Add(2 * time.Second * time.Duration(i) / n)
		was := d.counts.Marked
		d.pass(bytes.Clone(frame), now, func([]byte) {})
		require.True(t, i < n/2 || d.counts.Marked == was)
	}
	require.InDelta(t, n/2*0.1, d.counts.Marked, 85) // 4 sigma
}

// isAck reports whether a captured frame is an acknowledgement.
func isAck(frame []byte) bool {
	payload, ok := roce(frame)
	return ok && len(payload) >= bthSize && payload[0] == opcodeAck
}

// TestNotify checks that one CNP follows the acknowledgement after marks, for the same queue pair,
// from the same peer, in the form of the annex.
func TestNotify(t *testing.T) {
	for _, capture := range []string{"rc-send-multi", "v6-send-multi", "rc-send-stream"} {
		s := New(nil, nil, nil, Faults{Congestion: Congestion{Marks: 1, Notify: true}}, 1)
		there, back := s.directions[0], s.directions[1]
		frames, answered := captured(t, capture), 0
		data := bytes.Clone(frames[0])
		require.False(t, isAck(data))
		for _, frame := range frames {
			if !isAck(frame) {
				continue
			}
			data[ethernetSize+1] = 2 // ECT(0), of IPv4
			if ipv6(data) {
				data[ethernetSize+1] = 2 << 4
			}
			there.pass(data, time.Unix(0, 0), func([]byte) {})
			var left [][]byte
			for range 2 { // the second finds no new mark
				back.pass(bytes.Clone(frame), time.Unix(0, 0), func(f []byte) {
					left = append(left, bytes.Clone(f))
				})
			}
			require.Len(t, left, 3)
			require.Equal(t, [][]byte{frame, frame}, [][]byte{left[0], left[2]})
			ack, cnp := parsed(t, left[0]), parsed(t, left[1])
			require.Equal(t, wire.CNP, cnp.Op)
			require.Equal(t, []any{ack.DestQP, ack.PKey, ack.SrcIP(), ack.DstIP(), ack.SrcPort},
				[]any{cnp.DestQP, cnp.PKey, cnp.SrcIP(), cnp.DstIP(), cnp.SrcPort})
			require.Equal(t, left[0][:etherTypeAt], left[1][:etherTypeAt])
			require.True(t, cnp.BTH().Congestion&wire.BTHBECN != 0)
			require.Zero(t, cnp.PSN)
			require.False(t, cnp.AckReq)
			require.Equal(t, make([]byte, cnpSize), cnp.Ext())
			answered++
		}
		require.Positive(t, answered)
		require.EqualValues(t, answered, back.counts.Notified)
		require.Zero(t, back.counts.CNPs, "CNPs of the wire are not the sender's")

		there.pass(left(t, frames), time.Unix(0, 0), func([]byte) {})
		require.EqualValues(t, 1, there.counts.CNPs)
	}
}

// left returns a CNP as a shaper would pass it.
func left(t *testing.T, frames [][]byte) []byte {
	for _, f := range frames {
		if isAck(f) {
			payload, _ := roce(f)
			return cnpBeside(f, cap(f)-cap(payload))
		}
	}
	require.Fail(t, "no acknowledgement")
	return nil
}

// TestICRC checks the shaper's own invariant CRC against soft-RoCE's.
func TestICRC(t *testing.T) {
	for _, capture := range []string{"rc-write-multi", "rc-dscp26-ect0", "v6-tclass",
		"v6-send-multi", "rc-fetch-add"} {
		for _, f := range captured(t, capture) {
			if _, ok := roce(f); ok {
				require.Equal(t, binary.LittleEndian.Uint32(f[len(f)-icrcSize:]), icrc(f), capture)
			}
		}
	}
}
