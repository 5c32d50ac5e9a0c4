package perftest

import (
	"bytes"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/units"
)

func hello() Hello { return Hello{Version: Version, Page: 4096, CacheLine: 64, PathMTU: 1024} }

func destination(i int) Destination {
	return Destination{OutReads: 1, QPN: uint32(0x11 + i), PSN: 0xfffffe, RKey: 0xcafe,
		Addr: 1 << 28, GID: netip.MustParseAddr("10.0.0.1")}
}

// The encodings on the wire.
func TestMessages(t *testing.T) {
	b, err := Hello{Page: 4096, CacheLine: 64, PathMTU: 4096}.Encode()
	require.NoError(t, err)
	require.Equal(t,
		"6.06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"+"\x00\x00\x10\x00"+
			"\x00\x00\x00\x40"+"5\x00", string(b))

	b, err = destination(0).Encode()
	require.NoError(t, err)
	require.Len(t, b, destinationLen)
	require.Equal(t,
		"0000:0001:000011:fffffe:0000cafe:0000000010000000:"+
			"00:00:00:00:00:00:00:00:00:00:ff:ff:0a:00:00:01:00000000:\x00", string(b))

	b = Report{Size: 65536, Iterations: 1000, Peak: 1, Average: 0.5, MsgRate: 2}.Encode()
	require.Equal(t, "\x00\x00\x00\x00\x00\x01\x00\x00"+"\x00\x00\x00\x00\x00\x00\x03\xe8"+
		"\x3f\xf0\x00\x00\x00\x00\x00\x00"+"\x3f\xe0\x00\x00\x00\x00\x00\x00"+
		"\x40\x00\x00\x00\x00\x00\x00\x00", string(b))
}

func TestAgree(t *testing.T) {
	mine, peer := hello(), Hello{Version: "6.23", Page: 65536, CacheLine: 32, PathMTU: 4096}
	require.Equal(t, Hello{Version: "6.23", Page: 65536, CacheLine: 64, PathMTU: 1024},
		mine.merge(peer))
}

func TestRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ip := netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "IPv4")))
		if rapid.Bool().Draw(t, "IPv6") {
			ip = netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t,
				"GID"))).Unmap()
		}
		d := Destination{
			LID: rapid.Uint16().Draw(t, "LID"), OutReads: rapid.Uint16().Draw(t, "reads"),
			QPN: rapid.Uint32Max(0xffffff).Draw(t, "QPN"), PSN: rapid.Uint32Max(0xffffff).Draw(t,
				"PSN"),
			RKey: rapid.Uint32().Draw(t, "rkey"), Addr: rapid.Uint64().Draw(t, "address"), GID: ip,
			SRQN: rapid.Uint32().Draw(t, "SRQN"),
		}
		b, err := d.Encode()
		require.NoError(t, err)
		got, err := DecodeDestination(b)
		if ip.IsUnspecified() {
			require.ErrorIs(t, err, ErrMalformed)
			return
		}
		require.NoError(t, err)
		require.Equal(t, d, got)

		h := Hello{
			Version: rapid.SampledFrom([]string{"5.70", "6.06", "6.28", "24.07"}).Draw(t,
				"version"),
			Page:      units.Bytes(rapid.Int64Range(1, int64(maxBuffer)).Draw(t, "page")),
			CacheLine: units.Bytes(rapid.Int64Range(1, 4096).Draw(t, "line")),
			PathMTU:   256 << rapid.IntRange(0, 4).Draw(t, "MTU"),
		}
		b, err = h.Encode()
		require.NoError(t, err)
		again, err := DecodeHello(b)
		require.NoError(t, err)
		require.Equal(t, h, again)

		r := Report{Size: units.Bytes(rapid.Int64().Draw(t, "size")),
			Iterations: rapid.Uint64().Draw(t, "n"), Peak: rapid.Float64().Draw(t, "peak")}
		same, err := DecodeReport(r.Encode())
		require.NoError(t, err)
		require.Equal(t, r, same)
	})
}

func TestImpossibleHellos(t *testing.T) {
	for _, c := range []struct {
		name, version, page, line, mtu string
		err                            error
		says                           string
	}{
		{"older", "5.33", "\x00\x00\x10\x00", "\x00\x00\x00\x40", "3\x00", ErrVersion,
			"version 5.33: want 5.70 or later"},
		{"a browser", "GET / HTTP/1.1\r\n", "Host", ": x\r", "\n\r", ErrNotPerftest,
			`first message "GET / HTTP/1.1\r\n"`},
		{"goroce", "GRCE\x00\x00\x01\x00{\"vers", "\x00\x00\x10\x00", "\x00\x00\x00\x40", "3\x00",
			ErrNotPerftest, `"GRCE`},
		{"no end", "6.06060606060606", "\x00\x00\x10\x00", "\x00\x00\x00\x40", "3\x00",
			ErrNotPerftest, "want a version such as"},
		{"two points", "6.0.6", "\x00\x00\x10\x00", "\x00\x00\x00\x40", "3\x00", ErrNotPerftest,
			"6.0.6"},
		{"no number", "inf", "\x00\x00\x10\x00", "\x00\x00\x00\x40", "3\x00", ErrNotPerftest,
			"inf"},
		{"nothing", "", "\x00\x00\x10\x00", "\x00\x00\x00\x40", "3\x00", ErrNotPerftest,
			"want a version such as"},
		{"no page", "6.06", "\x00\x00\x00\x00", "\x00\x00\x00\x40", "3\x00", ErrMalformed,
			"page size of 0 bytes"},
		{"a page less than nothing", "6.06", "\xff\xff\xf0\x00", "\x00\x00\x00\x40", "3\x00",
			ErrMalformed, "page size of -4096 bytes"},
		{"the other byte order", "6.06", "\x00\x00\x10\x00", "\x40\x00\x00\x00", "3\x00",
			ErrMalformed, "cache line of 1073741824 bytes (40000000)"},
		{"no MTU", "6.06", "\x00\x00\x10\x00", "\x00\x00\x00\x40", "0\x00", ErrMalformed,
			`MTU code "0\x00"`},
		{"MTU 8192", "6.06", "\x00\x00\x10\x00", "\x00\x00\x00\x40", "6\x00", ErrMalformed,
			`MTU code "6\x00"`},
		{"MTU in bytes", "6.06", "\x00\x00\x10\x00", "\x00\x00\x00\x40", "10", ErrMalformed,
			`MTU code "10"`},
	} {
		version := (c.version + strings.Repeat("\x00", 16))[:16]
		_, err := DecodeHello([]byte(version + c.page + c.line + c.mtu))
		require.ErrorIs(t, err, c.err, c.name)
		require.ErrorContains(t, err, c.says, c.name)
	}
	_, err := DecodeHello(make([]byte, helloLen-1))
	require.ErrorContains(t, err, "hello of 25 bytes: want 26")
	for _, h := range []Hello{
		{}, {Page: 4096, CacheLine: 64, PathMTU: 1500}, {Page: 1 << 33, CacheLine: 64,
			PathMTU: 1024},
		{Page: 1<<32 + 4096, CacheLine: 64, PathMTU: 1024}, {Version: "6.0606060606060606",
			Page: 4096, CacheLine: 64, PathMTU: 1024},
		{Mark: "twelve bytes", Page: 4096, CacheLine: 64, PathMTU: 1024},
	} {
		_, err := h.Encode()
		require.Error(t, err, "%+v", h)
	}
}

func TestImpossibleDestinations(t *testing.T) {
	good, err := destination(0).Encode()
	require.NoError(t, err)
	for _, c := range []struct{ name, old, new, says string }{
		{"a QPN of 5 digits", "000011:fffffe", "00011:0fffffe",
			`QPN "00011": want 6 hexadecimal digits`},
		{"a PSN of 7 digits", "000011:fffffe", "00011:0fffffe", `want 6 hexadecimal digits`},
		{"an rkey of 6 digits", "0000cafe:0000000010000000", "00cafe:000000000010000000",
			`rkey "00cafe": want 8`},
		{"no hexadecimal", "0000cafe", "0000cofe", `rkey "0000cofe": want 8`},
		{"a sign", "0000cafe", "-000cafe", `rkey "-000cafe": want 8`},
		{"a wide GID byte", "0a:00:00:01", "a:000:00:01", `GID byte 12 "a": want 2`},
		{"a field too few", "0a:00:00:01", "0a0:00:0001", "want 23 hexadecimal fields"},
		{"no zero byte", "00000000:\x00", "00000000:\n", "and a zero byte"},
		{"no GID", "ff:ff:0a:00:00:01", "00:00:00:00:00:00",
			"keys of queue pair 0x11 without a GID"},
	} {
		bad := strings.Replace(string(good), c.old, c.new, 1)
		require.NotEqual(t, string(good), bad, c.name)
		_, err := DecodeDestination([]byte(bad))
		require.ErrorIs(t, err, ErrMalformed, c.name)
		require.ErrorContains(t, err, c.says, c.name)
	}
	for n := range len(good) {
		_, err := DecodeDestination(good[:n])
		require.ErrorContains(t, err, "bytes: want 108")
	}
	for _, d := range []Destination{{QPN: 1 << 24}, {PSN: 1 << 24}, {QPN: 17}} {
		_, err := d.Encode()
		require.ErrorIs(t, err, ErrMalformed)
	}
	_, err = DecodeReport(good)
	require.ErrorContains(t, err, "report of 108 bytes: want 40")
}

func FuzzDecodeHello(f *testing.F) {
	for _, g := range golden[:2] {
		f.Add(stream(f, g.capture, "client")[:helloLen])
	}
	f.Add([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := DecodeHello(b)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "perftest: "), err)
			return
		}
		again, err := h.Encode()
		require.NoError(t, err)
		require.Equal(t, b, again)
	})
}

func FuzzDecodeDestination(f *testing.F) {
	for _, g := range golden {
		f.Add(messages(f, stream(f, g.capture, "server"))[len(helloParts)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := DecodeDestination(b)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "perftest: "), err)
			return
		}
		again, err := d.Encode()
		require.NoError(t, err)
		require.Equal(t, bytes.ToLower(b), again)
	})
}

func FuzzDecodeReport(f *testing.F) {
	f.Add(Report{Size: 1, Iterations: 2, Peak: math.Inf(1), Average: math.NaN()}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := DecodeReport(b); err == nil {
			require.Equal(t, b, r.Encode())
		} else {
			require.NotEqual(t, reportLen, len(b))
		}
	})
}
