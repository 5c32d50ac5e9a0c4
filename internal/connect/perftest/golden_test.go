package perftest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/connect/lockstep"
	"github.com/goroce/goroce/units"
)

// queuePair holds what perftest prints of a queue pair, and the rkey and address of send and atomic
// tests, which it does not print.
type queuePair struct {
	outReads uint16
	qpn, psn uint32
	rkey     uint32
	addr     uint64
}

// golden are the captured runs between Linux hosts, with the numbers that perftest printed: the
// queue pairs of both sides, and the result if a report was exchanged (size, messages, peak and
// average MiB/s, million messages per second; with -b the sum of both sides).
var golden = []struct {
	capture        string
	test           Test
	mtu            units.Bytes
	client, server []queuePair
	report         *[5]float64
}{
	{"atomic-cswap", Test{Verb: Atomic}, 1024,
		[]queuePair{{0x80, 0x51, 0x58587f, 0x4562, 0x563712d17000}},
		[]queuePair{{0x80, 0xca, 0xf35519, 0x471c, 0x55faac5d4000}}, &[5]float64{8, 5, 0.03, 0.02,
			0.003000}},
	{"atomic-fadd", Test{Verb: Atomic}, 1024,
		[]queuePair{{0x80, 0x50, 0x11cb80, 0x4401, 0x5567378a7000}},
		[]queuePair{{0x80, 0xc9, 0x58ae45, 0x4613, 0x56424f47a000}}, &[5]float64{8, 5, 0.02, 0.01,
			0.000714}},
	{"atomic-lat", Test{Verb: Atomic, Kind: Latency}, 1024,
		[]queuePair{{0x80, 0x52, 0xf2ff53, 0x4610, 0x55bf6117b000}},
		[]queuePair{{0x80, 0xcb, 0xe215c2, 0x487a, 0x55bafe4fe000}}, nil},
	{"read-bw", Test{Verb: Read}, 1024, []queuePair{{0x1, 0x4c, 0x4099d6, 0x400e, 0x55b64c8b3000}},
		[]queuePair{{0x1, 0xc5, 0x371547, 0x42b8, 0x564d94013000}}, &[5]float64{2048, 5, 2.52, 2.52,
			0.001290}},
	{"read-lat", Test{Verb: Read, Kind: Latency}, 1024,
		[]queuePair{{0x80, 0x4f, 0x1f5856, 0x432e, 0x5596ec73e000}},
		[]queuePair{{0x80, 0xc8, 0x122146, 0x4520, 0x564d1bc28000}}, nil},
	{"send-bw", Test{Verb: Send}, 1024, []queuePair{{0x1, 0x4a, 0xd1b0ee, 0x0000, 0x55f2f16c7000}},
		[]queuePair{{0x1, 0xc3, 0x59456e, 0x0000, 0x55a7f4384000}}, nil},
	{"send-lat", Test{Verb: Send, Kind: Latency}, 1024,
		[]queuePair{{0x1, 0x4d, 0x36bf81, 0x0000, 0x55dcbb452000}},
		[]queuePair{{0x1, 0xc6, 0x8154c7, 0x0000, 0x563d86b03000}}, nil},
	{"uc-send-bw", Test{Verb: Send}, 1024,
		[]queuePair{{0x1, 0x56, 0xcdbbb0, 0x0000, 0x55b5beb29000}},
		[]queuePair{{0x1, 0xcf, 0xd3ecba, 0x0000, 0x564c557a7000}}, nil},
	{"uc-write-bw", Test{Verb: Write}, 1024,
		[]queuePair{{0x1, 0x55, 0x7f53e4, 0x496c, 0x55d0fa72d000}},
		[]queuePair{{0x1, 0xce, 0x316b19, 0x4be6, 0x559e0e296000}}, &[5]float64{2048, 5, 24.22,
			3.31, 0.001695}},
	{"ud-send-bw", Test{Verb: Send}, 4096,
		[]queuePair{{0x1, 0x53, 0xe1bffc, 0x0000, 0x558ebb1bc000}},
		[]queuePair{{0x1, 0xcc, 0x24f040, 0x0000, 0x563a9ab1e000}}, nil},
	{"ud-send-lat", Test{Verb: Send, Kind: Latency}, 4096,
		[]queuePair{{0x1, 0x54, 0x249a7a, 0x0000, 0x55a514e69000}},
		[]queuePair{{0x1, 0xcd, 0xbbe493, 0x0000, 0x55bbb4260000}}, nil},
	{"write-bw-2qp", Test{Verb: Write}, 1024,
		[]queuePair{{0x1, 0x58, 0x427cca, 0x4cc3, 0x55c589b5e000},
			{0x1, 0x59, 0x6c07ec, 0x4cc3, 0x55c589b5f000}},
		[]queuePair{{0x1, 0xd1, 0x7e480c, 0x4ef6, 0x55f45e43b000},
			{0x1, 0xd2, 0x56df06, 0x4ef6, 0x55f45e43c000}}, &[5]float64{1024, 10, 2.78, 2.62,
			0.002680}},
	{"write-bw-bidir", Test{Verb: Write, Bidirectional: true}, 1024,
		[]queuePair{{0x1, 0x5a, 0xa51101, 0x4d7e, 0x55e69d645000}},
		[]queuePair{{0x1, 0xd3, 0xfba95f, 0x4fef, 0x55b0d7e84000}}, &[5]float64{1024, 5, 1.09, 1.07,
			0.001096}},
	{"write-bw-mtu4096", Test{Verb: Write}, 4096,
		[]queuePair{{0x1, 0x57, 0xfab5af, 0x4b1e, 0x564dd3088710}},
		[]queuePair{{0x1, 0xd0, 0x1bb3d5, 0x4dd8, 0x556b717a1710}}, &[5]float64{10000, 5, 8.67,
			8.45, 0.000886}},
	{"write-bw-v6", Test{Verb: Write}, 1024,
		[]queuePair{{0x1, 0x5b, 0x227254, 0x4e73, 0x5641ad7d4000}},
		[]queuePair{{0x1, 0xd4, 0x93d7ce, 0x5016, 0x5593cf0bd000}}, &[5]float64{2048, 5, 1.10, 1.10,
			0.000563}},
	{"write-bw", Test{Verb: Write}, 1024,
		[]queuePair{{0x1, 0x4b, 0x9e8e00, 0x3f0a, 0x556ee54e1000}},
		[]queuePair{{0x1, 0xc4, 0x40ef9c, 0x4145, 0x5582a607b000}}, &[5]float64{2048, 5, 1.61, 1.58,
			0.000810}},
	{"write-lat", Test{Verb: Write, Kind: Latency}, 1024,
		[]queuePair{{0x1, 0x4e, 0x80ff01, 0x42a5, 0x557ae76d6000}},
		[]queuePair{{0x1, 0xc7, 0x1fae1c, 0x44d9, 0x558a1e6d4000}}, nil},
}

// destinations returns the Destinations of a side whose GID is ip.
func destinations(ip string, all []queuePair) (ds []Destination) {
	for _, q := range all {
		ds = append(ds, Destination{OutReads: q.outReads, QPN: q.qpn, PSN: q.psn, RKey: q.rkey,
			Addr: q.addr, GID: netip.MustParseAddr(ip)})
	}
	return ds
}

// decoded holds all messages of one side of a captured stream. Decoding checks that encoding
// returns the same bytes.
type decoded struct {
	hello   Hello
	keys    []Destination
	reports []Report
}

func decodeStream(t *testing.T, b []byte) (all decoded) {
	var err error
	all.hello, err = DecodeHello(b[:helloLen])
	require.NoError(t, err)
	again, err := all.hello.Encode()
	require.NoError(t, err)
	require.Equal(t, b[:helloLen], again)
	var report []byte
	for _, m := range messages(t, b)[len(helloParts):] {
		switch len(m) {
		case destinationLen:
			d, err := DecodeDestination(m)
			require.NoError(t, err)
			again, err := d.Encode()
			require.NoError(t, err)
			require.Equal(t, m, again)
			all.keys = append(all.keys, d)
		case 8:
			if report = append(report, m...); len(report) == reportLen {
				r, err := DecodeReport(report)
				require.NoError(t, err)
				require.Equal(t, report, r.Encode())
				all.reports = append(all.reports, r)
				report = nil
			}
		default:
			require.Equal(t, lockstep.Done, string(m))
		}
	}
	require.Empty(t, report)
	return all
}

// The decoded values are those that perftest printed.
func TestGoldenStreams(t *testing.T) {
	for _, g := range golden {
		t.Run(g.capture, func(t *testing.T) {
			ips := [...]string{"10.77.0.1", "10.77.0.2"}
			if g.capture == "write-bw-v6" {
				ips = [...]string{"fd77::1", "fd77::2"}
			}
			var sum [5]float64
			for i, side := range [...]string{"client", "server"} {
				got := decodeStream(t, stream(t, g.capture, side))
				require.Equal(t, Hello{Version: "6.06", Page: 4096, CacheLine: 64, PathMTU: g.mtu},
					got.hello)
				mine := destinations(ips[i], [...][]queuePair{g.client, g.server}[i])
				for _, d := range got.keys {
					require.Contains(t, mine, d)
				}
				require.Subset(t, got.keys, mine)
				require.Equal(t, g.report != nil, len(got.reports) == 1)
				if g.report != nil && (side == "client" || g.test.Bidirectional) {
					r := got.reports[0]
					sum[0], sum[1] = float64(r.Size), float64(r.Iterations)
					for k, v := range [...]float64{r.Peak, r.Average, r.MsgRate} {
						sum[2+k] += v
					}
				}
			}
			if g.report != nil {
				for k, v := range sum {
					require.InDelta(t, g.report[k], v,
						[...]float64{0, 0, 0.005, 0.005, 0.0000005}[k]*1.001, "column %d", k)
				}
			}
		})
	}
}

// replay plays one side of a capture: it sends its messages in turn, and expects the captured
// messages of the other side.
func replay(conn net.Conn, says, hears [][]byte, first bool) error {
	defer conn.Close()
	if len(says) != len(hears) {
		return errors.New("the two sides of the capture have different numbers of messages")
	}
	for i, m := range says {
		if first {
			if _, err := conn.Write(m); err != nil {
				return fmt.Errorf("message %d: %w", i, err)
			}
		}
		got := make([]byte, 4096)
		n, err := conn.Read(got) // one read, as perftest does
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if string(got[:n]) != string(hears[i]) {
			return fmt.Errorf("message %d is %q, want %q", i, got[:n], hears[i])
		}
		if !first {
			if _, err := conn.Write(m); err != nil {
				return fmt.Errorf("message %d: %w", i, err)
			}
		}
	}
	return nil
}

// run runs a whole test of one size without traffic.
func run(ctx context.Context, conn net.Conn, client bool, test Test, hello Hello,
	mine []Destination, report Report) (theirs []Destination, r *Report, err error) {
	greeting := Accept
	if client {
		greeting = Connect
	}
	s, err := greeting(ctx, conn, test, hello)
	if err != nil {
		return nil, nil, err
	}
	for range 2 { // with -R
		if err = s.Barrier(ctx); err != nil {
			return nil, nil, err
		}
	}
	if theirs, err = s.Exchange(ctx, mine); err != nil {
		return nil, nil, err
	}
	if err = s.Connected(ctx); err != nil {
		return nil, nil, err
	}
	if err = s.Ready(ctx); err != nil {
		return nil, nil, err
	}
	if r, err = s.Done(ctx, report, true); err != nil {
		return nil, nil, err
	}
	return theirs, r, s.Finish(ctx)
}

// Replaying either side of a captured run, we send the same bytes in the same order.
func TestGoldenSessions(t *testing.T) {
	for _, g := range golden {
		for i, side := range [...]string{"client", "server"} {
			t.Run(g.capture+"/"+side, func(t *testing.T) {
				ours, theirs := stream(t, g.capture, side), stream(t, g.capture,
					[...]string{"server", "client"}[i])
				a, b := net.Pipe()
				defer a.Close()
				played := make(chan error, 1)
				go func() { played <- replay(b, messages(t, theirs), messages(t, ours), i == 1) }()
				us, them := decodeStream(t, ours), decodeStream(t, theirs)
				queuePairs := len(g.client)
				mine := distinct(us.keys, queuePairs)
				var report Report
				if len(us.reports) > 0 {
					report = us.reports[0]
				}
				keys, got, err := run(context.Background(), a, i == 0, g.test, us.hello, mine,
					report)
				require.NoError(t, <-played)
				require.NoError(t, err)
				require.Equal(t, distinct(them.keys, queuePairs), keys)
				switch {
				case g.report == nil || i == 0 && !g.test.Bidirectional:
					require.Nil(t, got)
				default:
					require.Equal(t, them.reports[0], *got)
				}
			})
		}
	}
}

// distinct returns the first n different queue pairs.
func distinct(all []Destination, n int) (ds []Destination) {
	for _, d := range all {
		if len(ds) == 0 || ds[len(ds)-1] != d {
			ds = append(ds, d)
		}
	}
	return ds[:n]
}
