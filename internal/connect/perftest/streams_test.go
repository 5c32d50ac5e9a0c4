package perftest

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/connect/lockstep"
)

var update = flag.Bool("update", false, "rewrite testdata from the captures of transport/wire")

// stream is what one side of a captured handshake sent.
func stream(t testing.TB, capture, side string) []byte {
	b, err := os.ReadFile(filepath.Join("testdata", capture+"."+side+".bin"))
	require.NoError(t, err)
	return b
}

// messages splits a stream into perftest's writes, whose lengths are those of the protocol.
func messages(t testing.TB, b []byte) (all [][]byte) {
	cut := func(n int) {
		require.GreaterOrEqual(t, len(b), n, "%q", b)
		all = append(all, b[:n:n])
		b = b[n:]
	}
	for _, part := range helloParts {
		cut(part.len)
	}
	for len(b) > 0 {
		switch {
		case string(b) == lockstep.Done:
			cut(len(lockstep.Done))
		case strings.HasPrefix(string(b), "0000:"):
			cut(destinationLen)
		default:
			cut(reportLen / len(reportParts))
		}
	}
	return all
}

// The files of testdata are the TCP payloads of the captures of Linux soft-RoCE.
func TestStreamsAreThoseOfTheCaptures(t *testing.T) {
	names, err := filepath.Glob("../../../transport/wire/testdata/perftest-*.pcap")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		capture := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), "perftest-"), ".pcap")
		for side, payload := range payloads(t, name) {
			if *update {
				require.NoError(t, os.WriteFile(filepath.Join("testdata", capture+"."+side+".bin"),
					payload, 0o644))
			}
			require.Equal(t, payload, stream(t, capture, side), "%s %s", capture, side)
		}
	}
}

// payloads returns the TCP payloads of client and server on perftest's port in a capture.
func payloads(t *testing.T, name string) map[string][]byte {
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	r, err := pcapgo.NewReader(file)
	require.NoError(t, err)
	all, first := map[string][]byte{}, map[string]uint32{}
	for {
		frame, _, err := r.ReadPacketData()
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		tcp, ok := gopacket.NewPacket(frame, r.LinkType(),
			gopacket.Default).TransportLayer().(*layers.TCP)
		if !ok {
			continue
		}
		side := "server"
		if tcp.DstPort == 18515 {
			side = "client"
		}
		if tcp.SYN {
			first[side] = tcp.Seq + 1
		}
		if n := len(tcp.Payload); n > 0 { // a segment may be a duplicate
			at := int(tcp.Seq - first[side])
			require.LessOrEqual(t, at, len(all[side]), "%s: gap before segment %d", name,
				tcp.Seq)
			all[side] = append(all[side][:at], tcp.Payload...)
		}
	}
}
