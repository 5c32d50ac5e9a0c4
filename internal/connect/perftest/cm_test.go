package perftest

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"
)

// goldenCM are captured runs with -R between Linux hosts: 198.18.0.1 is the client, 198.18.0.2 the
// server, and the QPNs and PSNs are those that perftest printed. The captures contain the packets
// of the control queue pairs.
var goldenCM = []struct {
	capture string
	test    Test
	client  []queuePair
	server  []queuePair
}{
	{"write-bw", Test{Verb: Write}, []queuePair{{qpn: 0x27, psn: 0x9f3453}},
		[]queuePair{{qpn: 0x26, psn: 0xedb8c6}}},
	{"write-bw-2qp", Test{Verb: Write}, make([]queuePair, 2), make([]queuePair, 2)},
	{"write-bw-bidir", Test{Verb: Write, Bidirectional: true}, make([]queuePair, 1),
		make([]queuePair, 1)},
	{"send-bw", Test{Verb: Send}, make([]queuePair, 1), make([]queuePair, 1)},
	{"send-bw-bidir", Test{Verb: Send, Bidirectional: true},
		[]queuePair{{qpn: 0x3a, psn: 0xa7817b}}, []queuePair{{qpn: 0x38, psn: 0x6c2314}}},
	{"read-bw", Test{Verb: Read}, make([]queuePair, 1), make([]queuePair, 1)},
	{"write-lat", Test{Verb: Write, Kind: Latency}, []queuePair{{qpn: 0x2f, psn: 0x9c7203}},
		[]queuePair{{qpn: 0x2d, psn: 0x2f8cce}}},
	{"send-lat", Test{Verb: Send, Kind: Latency}, make([]queuePair, 1), make([]queuePair, 1)},
	{"read-lat", Test{Verb: Read, Kind: Latency}, []queuePair{{qpn: 0x33, psn: 0x4a9d68}},
		[]queuePair{{qpn: 0x31, psn: 0xda0e0c}}},
	{"atomic-lat", Test{Verb: Atomic, Kind: Latency}, make([]queuePair, 1), make([]queuePair, 1)},
}

// sends returns the messages of both sides in a capture, by the address of the sender.
func sends(t testing.TB, capture string) (client, server [][]byte) {
	file, err := os.Open("testdata/cm-" + capture + ".pcap")
	require.NoError(t, err)
	defer file.Close()
	r, err := pcapgo.NewReader(file)
	require.NoError(t, err)
	all, next := map[string][][]byte{}, map[string]uint32{}
	for {
		frame, _, err := r.ReadPacketData()
		if err == io.EOF {
			return all["198.18.0.1"], all["198.18.0.2"]
		}
		require.NoError(t, err)
		p := gopacket.NewPacket(frame, r.LinkType(), gopacket.Default)
		bth := p.TransportLayer().(*layers.UDP).Payload
		require.EqualValues(t, 4, bth[0], "RC SEND only (InfiniBand spec, table 38)")
		from := p.NetworkLayer().NetworkFlow().Src().String()
		psn := binary.BigEndian.Uint32(bth[8:]) & 0xffffff
		if n, ok := next[from]; ok && n != psn {
			continue // a duplicate
		}
		next[from] = (psn + 1) & 0xffffff
		pad := int(bth[1] >> 4 & 3)
		all[from] = append(all[from], bth[12:len(bth)-4-pad])
	}
}

// tidy clears the padding of keys, which perftest does not initialise.
func tidy(all [][]byte) [][]byte {
	for _, m := range all {
		if len(m) == cmDestinationLen {
			clear(m[cmRKey+4 : cmAddr])
		}
	}
	return all
}

// saidCM decodes the messages of one side with -R, and checks that encoding returns the same bytes.
func saidCM(t testing.TB, all [][]byte) (h Hello, keys []Destination, report Report) {
	h, err := DecodeHello([]byte(strings.Join([]string{string(all[0]), string(all[1]),
		string(all[2]), string(all[3])}, "")))
	require.NoError(t, err)
	var numbers []byte
	for _, m := range all[4:] {
		if len(m) != cmDestinationLen {
			numbers = append(numbers, m...)
			continue
		}
		d, err := DecodeDestinationCM(m)
		require.NoError(t, err)
		again, err := d.EncodeCM()
		require.NoError(t, err)
		require.Equal(t, m, again)
		if d.QPN != 0 {
			keys = append(keys, d)
		}
	}
	if numbers != nil {
		report, err = DecodeReport(numbers)
		require.NoError(t, err)
	}
	return h, keys, report
}

// Replaying either side of a captured run with -R, we send the same bytes in the same order.
func TestGoldenCM(t *testing.T) {
	for _, g := range goldenCM {
		g.test.CM = true
		client, server := sends(t, g.capture)
		require.Equal(t, len(client), len(server))
		for i, side := range [...]string{"client", "server"} {
			t.Run(g.capture+"/"+side, func(t *testing.T) {
				ours, theirs := tidy(client), tidy(server)
				printed := g.client
				if i == 1 {
					ours, theirs = theirs, ours
					printed = g.server
				}
				h, keys, report := saidCM(t, ours)
				_, theirKeys, theirReport := saidCM(t, theirs)
				mine := distinct(keys, len(printed))
				for k, q := range printed {
					require.Equal(t, [...]string{"198.18.0.1", "198.18.0.2"}[i],
						mine[k].GID.String())
					if q != (queuePair{}) {
						require.Equal(t, q.qpn, mine[k].QPN)
						require.Equal(t, q.psn, mine[k].PSN)
					}
				}
				a, b := net.Pipe()
				defer a.Close()
				played := make(chan error, 1)
				go func() { played <- replay(b, theirs, ours, i == 1) }()
				got, reported, err := run(context.Background(), a, i == 0, g.test, h, mine, report)
				require.NoError(t, <-played)
				require.NoError(t, err)
				require.Equal(t, distinct(theirKeys, len(printed)), got)
				if g.test.Bidirectional {
					require.Equal(t, theirReport, *reported)
				}
			})
		}
	}
}

func TestImpossibleDestinationsCM(t *testing.T) {
	d := destination(0)
	d.GIDIndex = 3
	good, err := d.EncodeCM()
	require.NoError(t, err)
	again, err := DecodeDestinationCM(good)
	require.NoError(t, err)
	require.Equal(t, d, again)
	for at, says := range map[int]string{
		cmLID: "LID 0x1000000", cmOutReads: "outstanding READs", cmQPN: "want 24 bits each",
		cmPSN: "want 24 bits each",
	} {
		bad := append([]byte(nil), good...)
		bad[at] = 1
		_, err := DecodeDestinationCM(bad)
		require.ErrorIs(t, err, ErrMalformed)
		require.ErrorContains(t, err, says)
	}
	for n := range len(good) {
		_, err := DecodeDestinationCM(good[:n])
		require.ErrorContains(t, err, "bytes: want 56")
	}
	for _, d := range []Destination{{QPN: 1 << 24}, {PSN: 1 << 24}, {QPN: 17}} {
		_, err := d.EncodeCM()
		require.ErrorIs(t, err, ErrMalformed)
	}
}

// The peer must not send keys of queue pairs that are not connected yet.
func TestBarrierOutOfStep(t *testing.T) {
	a, b := net.Pipe()
	client, _ := sends(t, "write-bw")
	go func() {
		_ = replay(b, append(client[:4:4], client[6]),
			append(client[:4:4], make([]byte, cmDestinationLen)), true)
	}()
	s, err := Accept(context.Background(), a, Test{Verb: Write, CM: true},
		Hello{Page: 4096, CacheLine: 64, PathMTU: 4096})
	require.NoError(t, err)
	err = s.Barrier(context.Background())
	require.ErrorIs(t, err, ErrMismatch)
	require.ErrorContains(t, err,
		"keys of QPN 0x27: want zero keys before its connection: the local test is ib_write_bw -R")
}

func FuzzDecodeDestinationCM(f *testing.F) {
	for _, g := range goldenCM {
		client, _ := sends(f, g.capture)
		f.Add(client[6])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := DecodeDestinationCM(b)
		if err != nil {
			require.ErrorContains(t, err, "perftest: ")
			return
		}
		again, err := d.EncodeCM()
		require.NoError(t, err)
		require.Equal(t, tidy([][]byte{bytes.Clone(b)})[0], again)
	})
}
